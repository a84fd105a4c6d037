import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import type { ApprovalSummary } from '#safety/approvals/contract'
import {
  type ModelServerRequest,
  modelServer,
  RunningSvc,
  type Script,
  type TempDir,
  tempDir,
  text,
  toolCall,
} from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'
import { project } from './project.ts'

const CODER = 'name: worker\nrole: changes one file\nmax_steps: 9\n'
const hasWall = existsSync('/usr/bin/bwrap')

let dir: TempDir
let outside: TempDir
let own: string
const files = { 'project/index.js': 'console.log(1 + 1)\n', 'project/logs/old.txt': 'a log of what is no svc project' }
beforeEach(async () => {
  dir = await project({ 'profiles/worker.yaml': CODER })
  outside = await tempDir({ ...files, 'data/facts.txt': 'a fact' })
  own = await realpath(outside.path)
})
afterEach(async () => {
  await dir[Symbol.asyncDispose]()
  await outside[Symbol.asyncDispose]()
})
const run = (...words: string[]) => svc(words, { cwd: dir.path })
const spawned = async (...words: string[]) => {
  const { code, stdout, stderr } = await run('spawn', 'worker', ...words, '--json')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout) as AgentDetail
}

describe('svc spawn --workspace and --folder', () => {
  it('give folders by paths relative to the current folder, and show them at once and later', async () => {
    const below = join(outside.path, 'project')
    const { stdout } = await svc(['spawn', 'worker', '--root', dir.path, '-w', '.', '--folder', '../data'], {
      cwd: below,
    })
    const expected = [`workspace: ${own}/project (read-write)`, `folder: ${own}/data (read-only)`, 'programs: ']
    for (const line of expected) expect(stdout).toContain(line)
    const [agent_id = ''] = stdout.split(' ')
    const shown = await run('agent', agent_id)
    expect(shown.stdout).toMatch(new RegExp(`workspace +${own}/project \\(read-write\\)`))
    expect(shown.stdout).toMatch(new RegExp(`folder +${own}/data \\(read-only\\)`))
    const { workspace, folders, sandbox } = await spawned(
      '--workspace',
      `${own}/data:ro`,
      '--folder',
      `${own}/project:rw`,
    )
    expect(workspace).toBe(join(own, 'data'))
    expect(folders).toEqual([
      { path: join(own, 'data'), access: 'read-only' },
      { path: join(own, 'project'), access: 'read-write' },
    ])
    expect(sandbox?.wall).toBe(hasWall ? 'bubblewrap' : 'none')
  })

  it('say which folder an agent has without one, and the command that gives it another', async () => {
    const { stdout } = await run('spawn', 'worker')
    const [, command] = /\(its own; to give it one of yours: svc (edit \S+ --workspace) <folder>\)/.exec(stdout)!
    const edited = await run(...command!.split(' '), `${own}/project`)
    expect(edited.stdout).toContain(`\n  workspace: ${own}/project (read-write)\n`)
  })

  it('give folders that svc edit changes, leaving what is not named', async () => {
    const { agent_id } = await spawned('--folder', `${own}/data`)
    const edit = async (...words: string[]) => JSON.parse((await run('edit', agent_id, ...words, '--json')).stdout)
    const data = { path: join(own, 'data'), access: 'read-only' }
    const place = { path: join(own, 'project'), access: 'read-write' }
    expect(await edit('--workspace', `${own}/project`)).toMatchObject({ workspace: place.path, folders: [place, data] })
    expect(await edit('--role', 'reads')).toMatchObject({
      workspace: place.path,
      folders: [place, data],
      role: 'reads',
    })
    expect(await edit('--folder', `${own}/data:rw`)).toMatchObject({
      workspace: place.path,
      folders: [place, { ...data, access: 'read-write' }],
    })
  })

  it('default to the folders of the profile, relative to the project', async () => {
    await mkdir(join(dir.path, 'src'))
    const profile = `workspace: src\nfolders: [{path: ${own}/data, access: read-write}, ../${outside.path.split('/').at(-1)}/project]\n`
    await dir.write({ 'profiles/worker.yaml': CODER + profile })
    const root = await realpath(dir.path)
    expect(await spawned()).toMatchObject({
      workspace: join(root, 'src'),
      folders: [
        { path: join(root, 'src'), access: 'read-write' },
        { path: join(own, 'data'), access: 'read-write' },
        { path: join(own, 'project'), access: 'read-only' },
      ],
    })
    await dir.write({ 'profiles/worker.yaml': `${CODER}workspace: ./workspaces/worker\n` })
    const { workspace, agent_id, folders } = await spawned()
    expect([workspace, folders]).toEqual([join(root, '.svc/workspaces', agent_id), []])
  })

  it('refuse folders that hold more than a project, or that an agent must not have', async () => {
    await dir.write({ 'plugins/one/x.ts': '', 'home/.ssh/id': '' })
    const home = join(dir.path, 'home')
    const refused = async (path: string) => {
      const { code, stderr } = await svc(['spawn', 'worker', '-w', path], { cwd: dir.path, env: { HOME: home } })
      expect(code, path).not.toBe(0)
      return stderr
    }
    expect(await refused('/')).toContain('contains more than one project')
    expect(await refused('~')).toContain('contains more than one project')
    expect(await refused(dir.path)).toContain('contains more than one project')
    expect(await refused('/tmp')).toContain('contains more than one project')
    expect(await refused('/etc/ssl')).toContain('lies in /etc, a system folder')
    expect(await refused('~/.ssh')).toContain('which holds keys')
    expect(await refused('none')).toContain('does not exist; create it first')
    expect(await refused('profiles/worker.yaml')).toContain('is not a folder')
    for (const path of ['.svc', '.svc/workspaces', 'plugins', 'plugins/one', 'profiles'])
      expect(await refused(path), path).toMatch(/closed to agents|does not exist/)
    expect((await run('status', '--json')).stdout.trim()).toBe('[]')
  })
})

/** Starts a daemon whose agents follow the script. */
async function daemon(script: Script, config: string) {
  const server = await modelServer({ script })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  await dir.write({ '.svc/config.yaml': `daemon:\n  heartbeat: 0.2\n  min_rest: 0.05\n${config}` })
  const running = new RunningSvc(['start'], { cwd: dir.path, env })
  return {
    server,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await server.close()
    },
  }
}

/** Returns a script that calls these tools one after another, and finishes. */
const calling = (calls: [string, Record<string, unknown>][]) => (request: ModelServerRequest) => {
  if (request.prompt.includes('"goal":'))
    return text(
      request.prompt.includes('Recent goals') ? '{"goal": null, "reasoning": "done"}' : '{"goal": "Change one file"}',
    )
  const done = request.body.messages.filter(({ role }) => role === 'tool')
  const next = calls[done.length]
  return next ? toolCall(...next) : toolCall('finish_goal', { summary: done.map(({ content }) => content).join('\n') })
}

it.runIf(hasWall)(
  'an agent changes and runs a program in its folder, and killing the agent leaves the folder',
  async () => {
    const calls: [string, Record<string, unknown>][] = [
      ['file_edit', { path: 'index.js', old_text: '1 + 1', new_text: '20 + 22' }],
      ['shell_exec', { command: 'node index.js' }],
      ['file_write', { path: '../data/facts.txt', content: 'changed' }],
      ['file_read', { path: '../../secret.txt' }],
    ]
    await using _daemon = await daemon(calling(calls), '')
    const { agent_id } = await spawned('-w', `${own}/project`, '--folder', `${own}/data`)
    const ended = async () => {
      const goals = JSON.parse((await run('goals', agent_id, '--json')).stdout) as {
        result: string | null
      }[]
      return goals[0]?.result
    }
    const result = await vi.waitUntil(ended, { timeout: 60_000, interval: 500 })
    expect(result).toContain('42\n[exit code 0]')
    expect(result).toContain('is read-only for you')
    expect(result).toContain('outside your workspace')
    expect((await readdir(join(own, 'project'))).sort()).toEqual(['index.js', 'logs'])
    await run('kill', agent_id)
    expect(await readFile(join(own, 'project/index.js'), 'utf8')).toBe('console.log(20 + 22)\n')
    expect(await readFile(join(own, 'data/facts.txt'), 'utf8')).toBe('a fact')
  },
  120_000,
)

it('an agent without a sandbox is reported at once, and its programs need approval', async () => {
  const calls: [string, Record<string, unknown>][] = [['shell_exec', { command: 'node index.js' }]]
  const config = 'tools:\n  sandbox: "off"\napproval:\n  enabled: true\n'
  await using _daemon = await daemon(calling(calls), config)
  const { stdout } = await run('spawn', 'worker', '-w', `${own}/project`)
  expect(stdout).toContain('without a sandbox: tools.sandbox is off')
  expect((await run('doctor')).stdout).toMatch(/without a sandbox: tools.sandbox\s+is off/)
  const asked = async () => (JSON.parse((await run('approvals', '--json')).stdout) as ApprovalSummary[])[0]
  const { folders } = (await vi.waitUntil(asked, { timeout: 60_000, interval: 500 }))!
  expect(folders).toEqual([{ path: join(own, 'project'), access: 'read-write' }])
  const list = await run('approvals')
  expect(list.stdout).toContain(`  folders: ${own}/project (read-write)`)
}, 120_000)
