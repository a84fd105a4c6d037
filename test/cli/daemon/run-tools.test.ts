import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modelServer, type Reply } from '../../support/model/model-server.ts'
import { svc } from '../../support/vitest/warm.ts'
import { project } from '../project.ts'
import { tmux, withTmux } from './tmux.ts'

const PROGRAM = `${process.execPath} ${join(process.cwd(), 'dist/svc.js')}`
const says = (text: string, name?: string, args: object = {}): Reply => ({
  kind: 'answer',
  text,
  tool_calls: name ? [{ id: `call-${name}`, name, arguments: JSON.stringify(args) }] : [],
})
const READ = says('I read the notes.', 'file_read', { path: 'notes.txt' })
const ANSWER = says('It is four.')

/** Creates a project with a coder in a folder with a file, whose model gives these replies in turn. */
async function startProject(config: string, ...replies: Reply[]) {
  const model = await modelServer({ script: (_, n) => replies[(n - 1) % replies.length] })
  onTestFinished(() => model.close())
  const dir = await project({ '.svc/config.yaml': config, 'work/notes.txt': 'four\n' })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'scripted' }
  await svc(['spawn', 'coder', '--workspace', 'work'], { cwd: dir.path, env })
  return { cwd: dir.path, env, model }
}

describe('svc run with tools', () => {
  it('gives those of the profile, and shows each call on standard error', async () => {
    const project = await startProject('', READ, ANSWER)
    const { code, stdout, stderr } = await svc(['run', 'coder', 'How many?'], project)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is four.\n' })
    expect(stderr).toBe('used file_read: {"path":"notes.txt"}\ncompleted\n')
    const { stdout: json } = await svc(['run', 'coder', 'How many?', '--json'], project)
    const events = json.trim().split('\n')
    expect(new Set(events.map(line => (JSON.parse(line) as { event: string }).event))).toEqual(
      new Set(['token', 'reset', 'done']),
    )
  })

  it('gives fewer with --toolkits, and refuses unknown ones', async () => {
    const project = await startProject('', READ, ANSWER)
    const fewer = await svc(['run', 'coder', 'How many?', '--toolkits', 'memory,git'], project)
    expect(fewer.stderr).toContain('called file_read, which did not run')
    const unknown = await svc(['run', 'coder', 'How many?', '--toolkits', 'memory,fil'], project)
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "file"') })
  })

  it('shows the call that waits for a decision, and how to go on', async () => {
    const run = says('', 'shell_exec', { command: 'cat notes.txt' })
    const project = await startProject('approval: { enabled: true, require_for: [shell_exec] }\n', run, ANSWER)
    const { code, stderr } = await svc(['run', 'coder', 'How many?'], project)
    expect(code).toBe(1)
    const [, ap] = /svc approve (ap-\S+)/.exec(stderr)!
    const [, task] = /svc task follow (task-\w+)/.exec(stderr)!
    expect(stderr).toContain('waits for a decision on shell_exec: {"command":"cat notes.txt"}')
    expect(stderr).toContain(`svc deny ${ap}`)
    expect((await svc(['status'], project)).stdout).toContain(`${task} waits for your approval`)
    expect((await svc(['why', 'coder'], project)).stdout).toContain(`${task} waits for your decision on shell_exec`)
    const summary = await svc(['summary'], project)
    expect(summary.stdout).toMatch(/Tasks: 0 of 0 ended tasks completed, \$.*\n.*waiting approval {2}How many\?/)
    await svc(['approve', ap!], project)
    expect(await svc(['task', 'resume', task!], project)).toMatchObject({ code: 0, stdout: 'It is four.\n' })
    expect((await svc(['summary'], project)).stdout).toMatch(/^Tasks: 1 of 1 ended task completed, \$\S+$/m)
    expect(project.model.requests.at(-1)!.body.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('four'),
    })
  })

  it('shows what a waiting call would do, and asks for no commit without staged changes', async () => {
    const project = await startProject(
      'approval: { enabled: true, require_for: [git_commit] }\n',
      says('', 'git_init'),
      says('', 'git_commit', { message: 'Count' }),
      says('', 'git_add'),
      says('', 'git_commit', { message: 'Count again' }),
      says('', 'file_edit', { path: 'notes.txt', old_text: 'four', new_text: 'five' }),
    )
    const shown = async () => {
      const { stderr } = await svc(['run', 'coder', 'Commit it.'], project)
      const [, ap = ''] = /svc approve (ap-\S+)/.exec(stderr)!
      return { stderr, page: (await svc(['approvals', 'show', ap], project)).stdout }
    }
    const commit = await shown()
    expect(commit.stderr).toContain('called git_commit, which did not run: {"message":"Count"}')
    expect(commit.page).toMatch(/what it would do now:\n {4}\| Count again\n {4}\| \n {4}\| {2}notes\.txt \| 1 \+/)
    expect((await shown()).page).toContain('    | Changes notes.txt:\n    | @@\n    | -four\n    | +five\n')
  })

  it.skipIf(!withTmux)('keeps on a terminal what the model says before a call', async () => {
    const { cwd, env } = await startProject('', READ, ANSWER)
    const command = `${PROGRAM} run coder 'How many?'; echo "left with $?"; cat`
    await using terminal = await tmux(cwd, { columns: 60, rows: 20 }, command, { ...env, SVC_TRUST_PROJECT: 'true' })
    const page = await terminal.shows(/left with 0/)
    expect(page.trimEnd()).toBe(
      'I read the notes.\nused file_read: {"path":"notes.txt"}\nIt is four.\ncompleted\nleft with 0',
    )
  })
})
