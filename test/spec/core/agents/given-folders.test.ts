import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as files from 'node:fs/promises'
import { link, mkdir, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GivenFolder } from '../../../../builtins/safety/sandbox/contract.ts'
import file from '../../../../builtins/tools/toolkits/file/index.ts'
import git from '../../../../builtins/tools/toolkits/git/index.ts'
import shell from '../../../../builtins/tools/toolkits/shell/index.ts'
import type { Ports } from '../../../../kernel/index.ts'
import { tempDir } from '../../../support/index.ts'
import { hands, type ToolHost } from '../../tools/tool-host.ts'

const SECRET = 'the key of the project'
const hasWall = existsSync('/usr/bin/bwrap')

let home: ToolHost
let project: string
let data: string
/** Writes files below the test project. */
const put = (files: Record<string, string>) => home.write(files)
const open = async (tools: Record<string, unknown> = {}, ports: Partial<Ports> = {}) => {
  home = await hands({ builtins: [file, shell, git], config: { tools }, ports })
  const root = await realpath(home.root)
  ;[project, data] = [join(root, 'given/project'), join(root, 'given/data')]
  await put({
    'given/project/src/main.ts': 'export const one = 1\n',
    'given/data/facts.txt': 'a fact\n',
    'given/secret.txt': SECRET,
  })
}
/** Calls a tool as an agent with both folders. */
const use = (name: string, args: Record<string, unknown> = {}, folders: GivenFolder[] = given()) =>
  home.use(name, args, { workspace: project, scratch: home.workspace, folders })
const given = (): GivenFolder[] => [
  { path: project, access: 'read-write' },
  { path: data, access: 'read-only' },
]
const run = (command: string, folders?: GivenFolder[]) => use('shell_exec', { command }, folders)
afterEach(() => home.close())

describe('file tools in given folders', () => {
  beforeEach(() => open({ sandbox: 'off' }))

  it('work in the folder that the agent was given, and leave nothing else there', async () => {
    expect(await use('file_read', { path: 'src/main.ts' })).toContain('export const one')
    expect(await use('file_write', { path: 'docs/new/page.md', content: 'text' })).toContain('Wrote 4 bytes')
    const edit = { path: join(project, 'src/main.ts'), old_text: '= 1', new_text: '= 2' }
    expect(await use('file_edit', edit)).toContain('Changed')
    expect(await use('list_dir', { max_depth: 3 })).toContain('docs/new/page.md')
    expect(await readFile(join(project, 'src/main.ts'), 'utf8')).toBe('export const one = 2\n')
    expect(((await stat(join(project, 'docs/new/page.md'))).mode & 0o044) === 0).toBe(
      (process.umask() & 0o044) === 0o044,
    )
    await use('shell_exec', { command: 'pwd' })
    expect((await readdir(project)).sort()).toEqual(['docs', 'src'])
  })

  it('read a read-only folder, and change nothing in it', async () => {
    expect(await use('file_read', { path: join(data, 'facts.txt') })).toContain('a fact')
    const own = /read-only for you\. Write in .*given\/project or .*workspaces\/[\w-]+, with the whole path\./
    expect(await use('file_write', { path: join(data, 'new.txt'), content: 'x' })).toMatch(own)
    expect(await run(`touch ${data}/facts.txt`)).toMatch(own)
    const refusal = /was not changed: the folder .*given\/data is read-only for you/
    expect(await use('file_write', { path: join(data, 'new.txt'), content: 'x' })).toMatch(refusal)
    expect(await use('file_write', { path: '../data/facts.txt', content: 'x' })).toMatch(refusal)
    for (const command of ['rm', 'touch', 'mkdir -p', 'cp src/main.ts', 'mv src/main.ts'])
      expect(await run(`${command} ${data}/facts.txt`)).toMatch(refusal)
    await symlink(data, join(project, 'link'))
    expect(await use('file_write', { path: 'link/new.txt', content: 'x' })).toMatch(refusal)
    expect(await readdir(data)).toEqual(['facts.txt'])
  })

  it('follow the access of the deepest folder, in both directions', async () => {
    const inner = [...given(), { path: join(project, 'src'), access: 'read-only' as const }]
    expect(await use('file_write', { path: 'src/new.ts', content: 'x' }, inner)).toContain('is read-only for you')
    expect(await use('file_write', { path: 'new.ts', content: 'x' }, inner)).toContain('Wrote')
    const outer: GivenFolder[] = [
      { path: project, access: 'read-only' },
      { path: join(project, 'src'), access: 'read-write' },
    ]
    expect(await use('file_write', { path: 'src/new.ts', content: 'x' }, outer)).toContain('Wrote')
    expect(await use('file_write', { path: 'other.ts', content: 'x' }, outer)).toContain('is read-only for you')
  })

  it('reach nothing outside of them, not even through a link', async () => {
    await symlink(join(home.root, 'given'), join(project, 'up'))
    await symlink(join(home.root, 'given/secret.txt'), join(project, 'secret'))
    for (const path of ['../secret.txt', join(home.root, 'given/secret.txt'), 'up/secret.txt', 'secret', 'up/x/y']) {
      expect(await use('file_read', { path }), path).toContain('outside your workspace')
      expect(await use('file_write', { path, content: 'x' }), path).toContain('outside your workspace')
    }
    expect(await readFile(join(home.root, 'given/secret.txt'), 'utf8')).toBe(SECRET)
  })

  it("reach the agent's own folder by its path, and a hard-linked file in a given folder", async () => {
    const own = join(home.workspace, 'notes.txt')
    expect(await use('file_write', { path: own, content: 'mine' })).toContain('Wrote')
    expect(await use('file_read', { path: own })).toContain('mine')
    await link(join(project, 'src/main.ts'), join(project, 'second.ts'))
    expect(await use('file_read', { path: 'second.ts' })).toContain('export const one')
  })

  it('do not follow a given folder that was replaced by a link', async () => {
    const docs = join(project, 'src/docs')
    const folders = [...given(), { path: docs, access: 'read-write' as const }]
    await symlink(join(home.root, 'given'), docs)
    const secret = join(home.root, 'given/secret.txt')
    for (const path of ['src/docs/secret.txt', secret, await realpath(secret)]) {
      expect(await use('file_read', { path }, folders), path).toContain('outside your workspace')
      expect(await use('file_write', { path, content: 'x' }, folders), path).toContain('outside your workspace')
      expect(await run(`cat ${path}`, folders), path).toContain('outside your workspace')
    }
    expect(await readFile(secret, 'utf8')).toBe(SECRET)
  })

  it('keep a read-only folder where it is, in another one', async () => {
    await put({ 'given/project/src/docs/page.md': 'text' })
    const folders = [...given(), { path: join(project, 'src/docs'), access: 'read-only' as const }]
    for (const command of ['mv src away', 'rm -r src', 'cp -r src copy'])
      expect(await run(command, folders), command).toContain('which is a folder of its own')
    expect(await readFile(join(project, 'src/docs/page.md'), 'utf8')).toBe('text')
  })

  it('report a folder that is gone, and do not create it again', async () => {
    await rm(project, { recursive: true })
    expect(await use('file_read', { path: 'src/main.ts' })).toContain(`the folder ${project} is gone`)
    expect(await use('file_write', { path: 'src/main.ts', content: 'x' })).toContain(`the folder ${project} is gone`)
    expect(await run('ls')).toMatch(/is gone/)
    expect(existsSync(project)).toBe(false)
  })
})

describe('protected files in a given folder', () => {
  const CLOSED = ['.svc/config.yaml', 'plugins/evil.ts', 'profiles/coder.yaml', 'logs/daemon.log']
    .concat(['skills/deploy/SKILL.md', '.agents/skills/deploy/SKILL.md'])
    .concat('models.yaml')
  const asProject = (at: string) => put(Object.fromEntries(CLOSED.map(path => [`${at}/${path}`, SECRET])))

  it('are closed to file tools under any spelling, even if the project appears later', async () => {
    await open({ sandbox: 'off' })
    await put({ 'given/project/plugins/own.ts': 'a folder of this name in what is no project' })
    expect(await use('file_read', { path: 'plugins/own.ts' })).toContain('a folder of this name')
    for (const path of ['.svc/config.yaml', '.SVC/plugins/x.ts'])
      expect(await use('file_write', { path, content: 'x' })).toContain('closed to you')
    await asProject('given/project')
    await asProject('given/project/packages/inner')
    await symlink('plugins', join(project, 'innocent'))
    const spellings = ['', 'src/../', `${project}/`, 'packages/inner/', `${project}/packages/../packages/inner/`]
    for (const path of spellings.flatMap(prefix => CLOSED.map(name => prefix + name)).concat('innocent/evil.ts')) {
      const answers = [
        await use('file_read', { path }),
        await use('file_write', { path, content: 'x' }),
        await run(`cat ${path}`),
      ]
      for (const answer of answers) expect(answer, path).toContain('closed to you')
    }
    expect(await use('list_dir', { path: 'plugins' })).toContain('closed to you')
    expect(await use('list_dir', { max_depth: 5 })).not.toMatch(/evil|config.yaml/)
    expect(await use('file_read', { path: 'src/main.ts' })).toContain('export const one')
  })

  it('are not reached by commands that work on whole folders when there is no sandbox', async () => {
    await open({ sandbox: 'off' })
    await asProject('given/project/packages/inner')
    for (const command of [
      'grep -r key',
      'grep -r key .',
      'cp -r packages copy',
      'ls -R',
      'rm -rf packages',
      'mv packages x',
    ])
      expect(await run(command), command).toContain('the command would reach')
    expect(await run('grep -r one src')).toContain('export const one')
    expect(await readFile(join(project, 'packages/inner/plugins/evil.ts'), 'utf8')).toBe(SECRET)
  })

  it.runIf(hasWall)('cannot be read or written by a program in the sandbox', async () => {
    await open({ shell_allow_dev_commands: true })
    await asProject('given/project')
    await asProject('given/project/packages/inner')
    expect(await run(`env grep -rc key . --include=*`)).not.toMatch(/:[1-9]/)
    expect(await run('env ls -A plugins packages/inner/.svc')).not.toMatch(/evil|config/)
    await run('env sh -c "echo x > plugins/evil.ts; echo x > plugins/more.ts; rm -rf profiles .svc; mv plugins away"')
    for (const path of CLOSED) expect(await readFile(join(project, path), 'utf8'), path).toBe(SECRET)
    expect(await readdir(join(project, 'plugins'))).toEqual(['evil.ts'])
  })

  it.runIf(hasWall)('cannot be created by a program, nor put in another place', async () => {
    await open({ shell_allow_dev_commands: true })
    await put({ 'given/project/packages/inner/.svc/config.yaml': SECRET })
    const root = [{ path: await realpath(home.root), access: 'read-write' as const }]
    const write = 'mkdir -p plugins skills/x; echo x > plugins/x.ts; echo x > skills/x/SKILL.md; echo x > models.yaml'
    await run(`env sh -c "cd packages/inner; ${write}; cd ../..; mv packages/inner packages/away; mv packages away"`)
    expect(await readdir(join(project, 'packages/inner/plugins'))).toEqual([])
    await run(`env sh -c "cd ${root[0]!.path}; ${write}; mv given away"`, root)
    for (const name of ['plugins', 'skills']) expect(await readdir(join(home.root, name)), name).toEqual([])
    expect(await readFile(join(home.root, 'models.yaml'), 'utf8')).toMatch(/^# svc made this file/)
    expect(existsSync(project)).toBe(true)
  })

  it.runIf(hasWall)("of the service's own project are closed however many folders there are", async () => {
    await using dir = await tempDir({ 'data/in/project/.svc/config.yaml': '{}\n' })
    const root = join(await realpath(dir.path), 'data/in/project')
    home = await hands({ root, builtins: [shell] })
    for (let n = 0; n < 2_100; n++) await mkdir(join(dir.path, `data/${n}`))
    const workspace = join(root, '../..')
    const call = { workspace, scratch: home.workspace, folders: [{ path: workspace, access: 'read-write' as const }] }
    expect(await home.use('shell_exec', { command: 'env ls -A in/project/.svc' }, call)).toBe(
      'workspaces\n[exit code 0]',
    )
  })

  it.runIf(hasWall)("do not include the agent's own folder within it, which holds its outputs", async () => {
    await open({ shell_allow_dev_commands: true })
    const root = await realpath(home.root)
    const call = {
      workspace: root,
      scratch: home.workspace,
      folders: [{ path: root, access: 'read-write' as const }],
    }
    const answer = await home.use('shell_exec', { command: "env sh -c 'seq 1 9000; echo x > $HOME/made'" }, call)
    expect(answer).toContain('[exit code 0]')
    const [, path] = /The full output is in (\S+); read it with file_read/.exec(answer)!
    expect(await home.use('file_read', { path }, call)).toContain('1\t1')
    expect(await readFile(join(home.workspace, 'made'), 'utf8')).toBe('x\n')
    expect(await home.use('shell_exec', { command: 'env ls .svc' }, call)).toBe('workspaces\n[exit code 0]')
  })
})

describe.runIf(hasWall)('programs in given folders', () => {
  beforeEach(() => open({ shell_allow_dev_commands: true }))

  it('see only the given folders, and write only where they may', async () => {
    expect(await run('env ls ..')).toBe('data\nproject\n[exit code 0]')
    expect(await run(`env cat ../secret.txt`)).toContain('No such file')
    expect(await run(`env sh -c "echo made > made.txt; cat ${data}/facts.txt"`)).toBe('a fact\n[exit code 0]')
    expect(await run(`env touch ${data}/new.txt`)).toContain('Read-only file system')
    expect(await readFile(join(project, 'made.txt'), 'utf8')).toBe('made\n')
    expect(await run("env sh -c 'pwd; echo $HOME $TMPDIR'")).toBe(
      `${project}\n${home.workspace} ${home.workspace}/.tmp\n[exit code 0]`,
    )
    expect((await readdir(project)).sort()).toEqual(['made.txt', 'src'])
  })

  it('commit in a given repository, and change neither its settings nor its hooks', async () => {
    expect(await use('git_init')).toContain('is a git repository')
    await mkdir(join(project, '.git/hooks'), { recursive: true })
    const config = `${await readFile(join(project, '.git/config'), 'utf8')}[core]\n\thooksPath = .husky\n`
    await writeFile(join(project, '.git/config'), config)
    await use('git_add')
    expect(await use('git_commit', { message: 'First' })).toContain('First')
    const tries = [
      'echo x > .git/hooks/pre-commit',
      'git config core.fsmonitor ./evil',
      'rm -rf .git/hooks',
      'mv .git x',
    ]
    for (const each of tries) expect(await run(`env sh -c "${each}"`), each).not.toContain('[exit code 0]')
    expect(await readdir(join(project, '.git/hooks'))).toEqual([])
    expect(await readFile(join(project, '.git/config'), 'utf8')).toBe(config)
  })

  it('change no settings and hooks of repositories in it, whether they exist yet or not', async () => {
    const git = (...args: string[]) => execFileSync('git', ['-C', project, '-c', 'protocol.file.allow=always', ...args])
    const outside = join(home.root, 'given/outside')
    git('init', '-q', '--template=', '.')
    git('init', '-q', 'packages/one')
    git('init', '-q', '--separate-git-dir', join(home.root, 'given/separate'), 'packages/two')
    git('init', '-q', outside)
    git('-C', outside, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x')
    git('submodule', '--quiet', 'add', outside, 'three')
    git('-C', 'three', 'worktree', 'add', '-q', join(home.root, 'given/four'))
    const state = () => [git('config', '--list'), git('-C', 'three', 'config', '--list')].map(String)
    const before = state()
    const tries = [
      'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit',
      'git -C packages/one config core.fsmonitor ./evil',
      'mv packages/one packages/away',
      'mv packages away',
      'echo gitdir: ./evil > packages/two/.git',
      'rm packages/two/.git',
      'git -C three config core.fsmonitor ./evil',
      'mv .git/modules/three .git/modules/away',
    ]
    for (const each of tries) expect(await run(`env sh -c "${each}"`), each).not.toContain('[exit code 0]')
    const redirects = [
      'echo ../evil > .git/commondir',
      'echo ../../../evil > .git/modules/three/commondir',
      'echo ../../../../../evil > .git/modules/three/worktrees/four/commondir',
      'echo [core] > .git/modules/three/config.worktree',
      'echo [core] > .git/modules/three/worktrees/four/config.worktree',
    ]
    for (const each of redirects) expect(await run(`env sh -c "${each}"`), each).toContain('Read-only file system')
    expect(state()).toEqual(before)
    for (const folder of ['.git', '.git/modules/three', 'packages/one/.git'])
      expect((await readdir(join(project, folder))).join(), folder).not.toMatch(/commondir|config\.worktree/)
    expect(await run('env sh -c "git add three && git -C packages/one status --short"')).toContain('[exit code 0]')
  })

  it('leave no empty file in a repository on a full disk', async () => {
    const failToWrite: Ports['files']['writeFile'] = async (path, data, options) => {
      const isFull = String(path).endsWith('commondir')
      await files.writeFile(path, isFull ? '' : data, options)
      if (isFull) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    }
    await home.close()
    await open({ shell_allow_dev_commands: true }, { files: { ...files, writeFile: failToWrite } })
    execFileSync('git', ['init', '-q', project])
    expect(await home.use('shell_exec', { command: 'true' }, { folders: given() })).toMatch(
      /^error: The disk .* is full/,
    )
    expect(existsSync(join(project, '.git/commondir'))).toBe(false)
    execFileSync('git', ['-C', project, 'status'])
  })

  it('change no settings of git while another program ends', async () => {
    let [onRemoval, remove] = [() => {}, () => {}]
    const removal = new Promise<void>(resolve => {
      onRemoval = resolve
    })
    const allowed = new Promise<void>(resolve => {
      remove = resolve
    })
    const removeFile: Ports['files']['rm'] = async (path, options) => {
      if (String(path).endsWith('commondir')) {
        onRemoval()
        await allowed
      }
      return rm(path, options)
    }
    await home.close()
    await open({ shell_allow_dev_commands: true }, { files: { ...files, rm: removeFile } })
    execFileSync('git', ['init', '-q', project])
    const ends = home.use('shell_exec', { command: 'true' }, { folders: given() })
    await removal
    const begins = run('touch begun; until test -e go; do sleep 0.01; done; echo ../evil > .git/commondir')
    // The second program may begin only after the removal.
    const isBegun = () => existsSync(join(project, 'begun'))
    for (let n = 0; n < 50 && !isBegun(); n++) await setTimeout(10)
    remove()
    await ends
    await put({ 'given/project/go': '' })
    expect(await begins).toContain('Read-only file system')
  })

  it('change no old repository, however many new ones and new folders there are', async () => {
    execFileSync('git', ['init', '-q', join(project, 'deep/er/old')])
    await put(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`given/project/${n}/.git/HEAD`, ''])))
    const change = () => run('env git -C deep/er/old config core.fsmonitor ./evil')
    expect(await change()).toMatch(/Device or resource busy|Read-only file system/)
    await Promise.all(Array.from({ length: 2_100 }, (_, n) => mkdir(join(project, `new-${n}`))))
    expect(await change()).toMatch(/Device or resource busy|Read-only file system/)
  })

  it('see nothing else by a link in a repository', async () => {
    const git = (...args: string[]) => execFileSync('git', ['-C', project, ...args])
    git('init', '-q', '--template=', '.')
    git('init', '-q', '--template=', 'inner')
    await symlink('../..', join(project, '.git/hooks'))
    await rm(join(project, 'inner/.git/config'))
    await symlink('../../../secret.txt', join(project, 'inner/.git/config'))
    expect(await run('env ls ..')).toBe('data\nproject\n[exit code 0]')
    expect(await run('env cat ../secret.txt')).toContain('No such file')
  })

  it('keep folders in other ones where they are', async () => {
    await put({ 'given/project/src/docs/page.md': 'text' })
    const folders = [...given(), { path: join(project, 'src/docs'), access: 'read-only' as const }]
    await run('env sh -c "mv src away; rm -rf src; echo x > away/docs/page.md"', folders)
    expect(await readFile(join(project, 'src/docs/page.md'), 'utf8')).toBe('text')
  })
})
