import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AgentDetail, Agents, type DeletedAgent } from '#core/agents/contract'
import environment from '#core/environment/index'
import type { Accepted, AgentChanges } from '#core/worktrees/contract'
import worktrees from '#core/worktrees/index'
import git from '#tools/toolkits/git/index'
import shell from '#tools/toolkits/shell/index'
import { type ModelServerRequest, runHeartbeat, type TempDir, tempDir, text, toolCall } from '../../../support/index.ts'
import { use } from '../../use.ts'
import { testHostWithModel } from '../models/model-host.ts'

const hasWall = existsSync('/usr/bin/bwrap')

type Host = Awaited<ReturnType<typeof testHostWithModel>>
let home: Host
let given: TempDir
let repository: string
let script: (request: ModelServerRequest) => ReturnType<typeof text>

/** Runs git as the operator does. */
const own = (...args: string[]) =>
  execFileSync('git', ['-C', repository, '-c', 'user.name=ada', '-c', 'user.email=ada@example.com', ...args]).toString()
const change = async (file: string, content: string, message?: string) => {
  await mkdir(dirname(join(repository, file)), { recursive: true })
  await writeFile(join(repository, file), content)
  if (message === undefined) return
  own('add', '--all')
  own('commit', '-q', '-m', message)
}
const open = async (tools: Record<string, unknown> = {}) => {
  home = await testHostWithModel(request => script(request), {
    builtins: [environment, worktrees, shell, git],
    files: {
      'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 2\n',
      'profiles/brancher.yaml': 'name: brancher\nrole: works\nmax_steps: 3\nworktree: goal\n',
    },
    config: { tools: { sandbox: hasWall ? 'auto' : 'off', ...tools } },
    env: { PATH: process.env.PATH! },
  })
}
const spawn = async (input: Record<string, unknown> = {}) =>
  (await home.kernel.invoke('agents.spawn', {
    preset: 'worker',
    workspace: repository,
    worktree: 'agent',
    ...input,
  })) as AgentDetail
const diff = (id: string, input = {}) => home.kernel.invoke('worktrees.diff', { id, ...input }) as Promise<AgentChanges>
const accept = (id: string, input = {}) => home.kernel.invoke('worktrees.accept', { id, ...input }) as Promise<Accepted>
const discard = (id: string, input = {}) => home.kernel.invoke('worktrees.discard', { id, ...input })
/** Calls a tool as the agent does. */
const call = async ({ agent_id }: AgentDetail, name: string, args: Record<string, unknown> = {}) => {
  const { workspace, folders } = await home.kernel.use(Agents).find(agent_id)
  const scratch = join(await realpath(home.root), '.svc/workspaces', agent_id)
  return use(home, name, args, { agent_id, workspace, scratch, folders, effect: () => {} })
}
const paths = ({ files }: AgentChanges) => files.map(({ path, status }) => `${status} ${path}`).sort()

beforeEach(async () => {
  script = () => text('{"goal": null}')
  given = await tempDir({ 'repo/README.md': 'one\ntwo\nthree\n', 'repo/src/main.ts': 'export const one = 1\n' })
  repository = join(await realpath(given.path), 'repo')
  own('init', '-q', '--initial-branch=main')
  own('add', '--all')
  own('commit', '-q', '-m', 'Begin')
})
afterEach(async () => {
  await home.close()
  await given[Symbol.asyncDispose]()
})

describe.each(hasWall ? ['auto', 'off'] : ['off'])('an agent in a git worktree, with tools.sandbox %s', sandbox => {
  beforeEach(() => open({ sandbox }))

  it.runIf(sandbox === 'auto')('cannot make the review of its changes read a file elsewhere', async () => {
    const agent = await spawn()
    await writeFile(join(agent.workspace, 'new.md'), 'new\n')
    const index = join(agent.workspace, '.git/index')
    await rm(index)
    await symlink(join(given.path, 'repo/README.md'), index)
    expect(paths(await diff(agent.agent_id))).toEqual(['added new.md'])
  })

  it.runIf(sandbox === 'auto')('sees nothing else by a link in its repository', async () => {
    const agent = await spawn()
    const hooks = join(agent.workspace, '.git/hooks')
    await rm(hooks, { recursive: true, force: true })
    await symlink('../../../..', hooks)
    expect(await call(agent, 'shell_exec', { command: 'env ls ../../..' })).toBe('workspaces\n[exit code 0]')
    await rm(hooks)
    expect(await call(agent, 'shell_exec', { command: 'env ln -s ../../../.. .git/hooks' })).toContain('[exit code 1]')
  })

  it('uses the installed packages of the repository, and never commits or changes them', async () => {
    await change('.gitignore', 'node_modules/\nbuild/\n', 'Ignore')
    await change('node_modules/.bin/lint', '#!/bin/sh\necho linted\n')
    await change('build/out.js', 'built')
    execFileSync('chmod', ['+x', join(repository, 'node_modules/.bin/lint')])
    const agent = await spawn()
    const command = sandbox === 'off' ? 'cat node_modules/.bin/lint' : 'node_modules/.bin/lint'
    expect(await call(agent, 'shell_exec', { command })).toContain('linted')
    expect(await call(agent, 'file_read', { path: 'node_modules/.bin/lint' })).toContain('echo linted')
    expect(await call(agent, 'file_write', { path: 'node_modules/new.js', content: '' })).toContain('read-only')
    expect(await call(agent, 'list_dir')).not.toContain('build')
    await call(agent, 'file_write', { path: 'new.md', content: 'new' })
    expect(paths(await diff(agent.agent_id))).toEqual(['added new.md'])
    await accept(agent.agent_id)
    expect(own('ls-files')).toBe('.gitignore\nREADME.md\nnew.md\nsrc/main.ts\n')
    await discard(agent.agent_id)
    expect(await call(agent, 'shell_exec', { command })).toContain('linted')
    await home.kernel.invoke('agents.delete', { id: agent.agent_id })
    expect(existsSync(join(repository, 'node_modules/.bin/lint'))).toBe(true)
  })

  it('changes files and commits without touching the repository until the operator accepts', async () => {
    const agent = await spawn()
    expect(agent.workspace).toMatch(/\.svc\/workspaces\/worker-\w+\/worktree$/)
    expect(await call(agent, 'file_read', { path: 'src/main.ts' })).toContain('export const one')
    await call(agent, 'file_write', { path: 'src/two.ts', content: 'export const two = 2\n' })
    expect(await call(agent, 'git_add')).toContain('src/two.ts')
    expect(await call(agent, 'git_commit', { message: 'Add two' })).toContain('Add two')
    expect(await call(agent, 'git_log')).toContain('ada: Begin')
    await call(agent, 'file_edit', { path: 'README.md', old_text: 'two', new_text: 'zwei' })

    const changes = await diff(agent.agent_id)
    expect(changes).toMatchObject({ repository, branch: `svc/${agent.agent_id}`, uncommitted: true, truncated: false })
    expect(paths(changes)).toEqual(['added src/two.ts', 'changed README.md'])
    expect(changes.commits.map(({ subject }) => subject)).toEqual(['Add two'])
    expect(changes.patch).toContain('-two\n+zwei')
    expect(await call(agent, 'git_status')).toMatch(/ M README.md/)
    expect(own('status', '--porcelain')).toBe('')
    expect(own('branch', '--list')).toBe('* main\n')

    expect(await accept(agent.agent_id)).toMatchObject({ repository, merged: true })
    expect(await readFile(join(repository, 'README.md'), 'utf8')).toBe('one\nzwei\nthree\n')
    expect(own('log', '--format=%an %s').split('\n')[0]).toMatch(/^worker-\w+ Work of worker$/)
    expect((await diff(agent.agent_id)).files).toEqual([])
    await expect(accept(agent.agent_id)).rejects.toMatchObject({ code: 'no_changes' })
  })

  it('hands its changes over as a branch, and loses those that are discarded', async () => {
    const agent = await spawn()
    await call(agent, 'file_write', { path: 'new.txt', content: 'new\n' })
    expect(await accept(agent.agent_id, { branch: true })).toMatchObject({ merged: false })
    const branch = `svc/${agent.agent_id}`
    expect(own('show', `${branch}:new.txt`)).toBe('new\n')
    await call(agent, 'file_write', { path: 'newer.txt', content: 'newer\n' })
    await accept(agent.agent_id, { branch: true })
    expect(own('show', `${branch}:newer.txt`)).toBe('newer\n')
    await change('README.md', 'changed by ada\n', 'By hand')
    await discard(agent.agent_id)
    expect((await diff(agent.agent_id)).files).toEqual([])
    expect(existsSync(join(agent.workspace, 'new.txt'))).toBe(false)
    expect(await call(agent, 'file_read', { path: 'README.md' })).toContain('changed by ada')
  })
})

describe('worktrees', () => {
  it('keep several agents of one repository apart, and are merged one after another', async () => {
    await open()
    const [first, second] = [await spawn(), await spawn()]
    await call(first, 'file_edit', { path: 'README.md', old_text: 'one', new_text: 'eins' })
    await call(second, 'file_edit', { path: 'README.md', old_text: 'three', new_text: 'drei' })
    await call(second, 'file_edit', { path: 'src/main.ts', old_text: '= 1', new_text: '= 11' })
    await accept(first.agent_id)
    await accept(second.agent_id).catch(error => expect(error).toMatchObject({ code: 'merge_conflict' }))
    expect(await readFile(join(repository, 'README.md'), 'utf8')).toContain('eins')
  })

  it('change nothing in the repository on a conflict, and keep the branch for a merge by hand', async () => {
    await open()
    const agent = await spawn()
    await call(agent, 'file_edit', { path: 'README.md', old_text: 'two', new_text: 'zwei' })
    await change('README.md', 'one\ndeux\nthree\n', 'In French')
    await expect(accept(agent.agent_id)).rejects.toThrow(
      /Nothing was merged: svc\/worker-\w+ conflicts with .*repo in README\.md\. The branch was created there: merge it yourself, or nudge the agent to merge commit \w{12}/,
    )
    expect(own('status', '--porcelain')).toBe('')
    expect(own('branch', '--list', 'svc/*')).toContain(`svc/${agent.agent_id}`)
    const head = own('rev-parse', 'HEAD').trim()
    if (!hasWall) return
    const merge = `git -c user.name=w -c user.email=w@example.com merge -X ours -m both ${head}`
    expect(await call(agent, 'shell_exec', { command: merge })).toContain('[exit code 0]')
    await accept(agent.agent_id)
    expect(await readFile(join(repository, 'README.md'), 'utf8')).toBe('one\nzwei\nthree\n')
  })

  it('are not merged into a repository with uncommitted changes, and the error names those', async () => {
    await open()
    const agent = await spawn()
    await call(agent, 'file_write', { path: 'new.txt', content: 'new\n' })
    await change('src/main.ts', 'half done\n')
    await expect(accept(agent.agent_id)).rejects.toThrow(
      /has uncommitted changes \(src\/main\.ts\)\. The branch svc\/\S+ was created there\. Commit or stash/,
    )
    expect(await readFile(join(repository, 'src/main.ts'), 'utf8')).toBe('half done\n')
    own('checkout', '-q', `svc/${agent.agent_id}`, '--', '.')
    expect(existsSync(join(repository, 'new.txt'))).toBe(true)
  })

  it('do not overwrite a branch of the same name with other commits', async () => {
    await open()
    const agent = await spawn()
    await call(agent, 'file_write', { path: 'new.txt', content: 'new\n' })
    const branch = `svc/${agent.agent_id}`
    own('checkout', '-q', '-b', branch)
    await change('other.txt', 'other\n', 'Another')
    own('checkout', '-q', 'main')
    await expect(accept(agent.agent_id, { branch: true })).rejects.toMatchObject({ code: 'branch_exists' })
  })

  it('are refused without a repository, a commit or a given folder, and then no agent is created', async () => {
    await open()
    const plain = join(given.path, 'plain')
    await mkdir(plain)
    await expect(spawn({ workspace: plain })).rejects.toThrow(
      /is not the top folder of a git repository; give the folder/,
    )
    await expect(spawn({ workspace: join(repository, 'src') })).rejects.toThrow(
      /is not the top folder of a git repository/,
    )
    execFileSync('git', ['init', '-q', plain])
    await expect(spawn({ workspace: plain })).rejects.toThrow(/without a commit; commit something first/)
    await expect(spawn({ workspace: null })).rejects.toThrow(/"workspace" is not given/)
    expect(await home.kernel.invoke('agents.list', {})).toEqual([])
    const agent = (await home.kernel.invoke('agents.spawn', { preset: 'worker', workspace: repository })) as AgentDetail
    await expect(diff(agent.agent_id)).rejects.toThrow(/has no git worktree. What its goals changed in your folders/)
  })

  it('stay with their agent when its folders are changed', async () => {
    await open()
    const agent = await spawn()
    const change = (input: Record<string, unknown>) =>
      home.kernel.invoke('agents.update', { id: agent.agent_id, ...input }) as Promise<AgentDetail>
    await expect(change({ workspace: repository })).rejects.toThrow(/is a git worktree and cannot be changed/)
    await mkdir(join(given.path, 'papers'))
    const { workspace, folders } = await change({ folders: [join(given.path, 'papers')] })
    expect(workspace).toBe(agent.workspace)
    expect(folders.map(({ purpose }) => purpose)).toEqual(['worktree', 'objects', undefined])
    expect(await call(agent, 'git_log')).toContain('Begin')
  })

  it('are removed together with their agent, and changes that were not accepted become a branch', async () => {
    await open()
    const [idle, busy] = [await spawn(), await spawn()]
    await call(busy, 'file_write', { path: 'kept.txt', content: 'kept\n' })
    const kill = ({ agent_id }: AgentDetail) => home.kernel.invoke('agents.delete', { id: agent_id })
    expect(await kill(idle)).toBeNull()
    const { kept_branches } = (await kill(busy)) as DeletedAgent
    expect(kept_branches).toEqual([{ repository: expect.stringMatching(/./), branch: `svc/${busy.agent_id}` }])
    expect(own('show', `svc/${busy.agent_id}:kept.txt`)).toBe('kept\n')
    expect(own('branch', '--list', 'svc/*').trim()).toBe(`svc/${busy.agent_id}`)
    expect(own('for-each-ref', 'refs/svc-worktrees')).toBe('')
    expect(existsSync(idle.workspace)).toBe(false)
  })

  it('have one branch per goal when the profile says so', async () => {
    await open()
    const agent = await spawn({ preset: 'brancher', worktree: undefined })
    const id = agent.agent_id
    const add = async (objective: string) =>
      ((await home.kernel.invoke('goals.add', { id, objective })) as { goal_id: string }).goal_id
    const pursue = async (path: string) => {
      const steps = [
        toolCall('file_write', { path, content: `${path}\n` }),
        toolCall('finish_goal', { summary: 'done', evidence: path }),
        text('Done.'),
      ]
      script = () => steps.shift() ?? text('Done.')
      await runHeartbeat(home)
    }
    home.kernel.heartbeat.start()
    const first = await add('Write a.txt')
    await pursue('a.txt')
    const second = await add('Write b.txt')
    await pursue('b.txt')
    const changes = await diff(id)
    expect(changes).toMatchObject({ branch: `svc/${second}`, goal_id: second })
    expect(changes.others).toEqual([{ branch: `svc/${first}`, goal_id: first }])
    expect(paths(changes)).toEqual(['added b.txt'])
    expect(paths(await diff(id, { goal: first }))).toEqual(['added a.txt'])
    await accept(id, { goal: first })
    expect(existsSync(join(repository, 'a.txt'))).toBe(true)
    await discard(id)
    expect((await diff(id)).others).toEqual([])
    await expect(diff(id, { goal: first })).rejects.toThrow(/has no branch for the goal/)
  })
})

describe.runIf(hasWall)('the isolation of an agent in a worktree', () => {
  it('prevents writes to the repository: no object, branch, setting or hook, nor its own git settings', async () => {
    await open()
    const agent = await spawn()
    const objects = join(repository, '.git/objects')
    for (const command of [
      `touch ${objects}/x`,
      `touch ${repository}/x`,
      `cat ${repository}/README.md`,
      `touch ${repository}/.git/hooks/post-merge`,
      'git config core.fsmonitor ./evil',
      'sh -c "echo x > .git/hooks/post-commit"',
    ])
      expect(await call(agent, 'shell_exec', { command }), command).not.toContain('[exit code 0]')
    expect(await call(agent, 'file_write', { path: join(objects, 'x'), content: '' })).toContain('is read-only for you')
    expect(await call(agent, 'file_write', { path: '.git/config', content: '' })).toContain('belongs to git')
    const made =
      'sh -c "git checkout -q -b other && echo x > y && git add y && git -c user.name=w -c user.email=w commit -qm y"'
    expect(await call(agent, 'shell_exec', { command: made })).toContain('[exit code 0]')
    expect(own('branch', '--list')).toBe('* main\n')
    expect(paths(await diff(agent.agent_id))).toEqual(['added y'])
  })

  it("runs no hook and no filter of the operator's repository outside the sandbox", async () => {
    await open()
    await writeFile(join(repository, '.gitattributes'), '*.txt filter=evil\n')
    own('add', '--all')
    own('commit', '-q', '-m', 'Attributes')
    const canary = join(given.path, 'canary')
    await writeFile(join(repository, '.git/hooks/post-merge'), `#!/bin/sh\ntouch ${canary}\n`, { mode: 0o755 })
    await writeFile(join(repository, '.git/hooks/reference-transaction'), `#!/bin/sh\ntouch ${canary}\n`, {
      mode: 0o755,
    })
    own('config', 'filter.evil.smudge', `sh -c 'touch ${canary}; cat'`)
    await rm(canary, { force: true })
    const agent = await spawn()
    await call(agent, 'file_write', { path: 'new.txt', content: 'new\n' })
    await accept(agent.agent_id)
    expect(existsSync(join(repository, 'new.txt'))).toBe(true)
    expect(existsSync(canary)).toBe(false)
  })

  it('keeps git from running without a sandbox if settings of the repository could run programs', async () => {
    await open({ sandbox: 'off' })
    own('config', 'core.fsmonitor', 'true')
    await expect(spawn()).rejects.toThrow(/without a sandbox, the setting core\.fsmonitor of \.git\/config could run/)
  })
})
