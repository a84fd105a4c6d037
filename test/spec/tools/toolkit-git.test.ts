import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import file from '#tools/toolkits/file/index'
import git from '#tools/toolkits/git/index'
import { hands, type ToolHost } from './tool-host.ts'

let home: ToolHost
const at = (...names: string[]) => join(home.workspace, ...names)
const canary = () => existsSync(at('canary'))
beforeEach(async () => {
  // Without the sandbox, the tools themselves must refuse.
  home = await hands({
    builtins: [file, git],
    config: { tools: { sandbox: 'off' } },
    env: { OPENAI_API_KEY: 'canary-key' },
  })
})
afterEach(() => home.close())

it('six git tools take a workspace from nothing to a history', async () => {
  expect(await home.use('git_status')).toBe(
    'error: git was not run: there is no repository in your workspace; make one with git_init.',
  )
  expect(await home.use('git_init')).toContain('is a git repository')
  await home.use('file_write', { path: 'src/a.txt', content: 'one\n' })
  expect(await home.use('git_status')).toContain('?? src/')
  expect(await home.use('git_add', { path: 'src' })).toContain("add 'src/a.txt'")
  expect(await home.use('git_add', { path: 'src' })).toContain('Nothing new to stage')
  for (const path of ['b.txt', 'c.txt', 'd.txt']) await home.use('file_write', { path, content: 'x\n' })
  const staged = await home.use('git_add', { path: ['b.txt', 'c.txt'] })
  expect([staged.includes("add 'b.txt'"), staged.includes("add 'c.txt'"), staged.includes('d.txt')]).toEqual([
    true,
    true,
    false,
  ])
  expect(await home.use('git_add', { path: ['d.txt', '/etc/passwd'] })).toMatch(/^error: /)
  expect(await home.use('git_diff', { staged: true })).toContain('+one')
  expect(await home.use('git_commit', { message: 'Begin\n\nBecause.' })).toContain('Begin')
  await home.use('file_write', { path: 'src/a.txt', content: 'two\n' })
  expect(await home.use('git_diff')).toMatch(/-one\n\+two/)
  expect(await home.use('git_diff', { path: 'none' })).toBe('[No unstaged changes of tracked files.]')
  expect(await home.use('git_commit', { message: 'Nothing staged' })).toContain('[exit code 1]')
  await home.use('git_add')
  await home.use('git_commit', { message: 'Second' })
  const log = await home.use('git_log')
  expect(log.split('\n')).toMatchObject([
    expect.stringContaining('coder-1: Second'),
    expect.stringContaining(': Begin'),
    '[exit code 0]',
  ])
  expect(await home.use('git_log', { count: '1', skip: 1 })).toMatch(/^\w+ \S+ coder-1: Begin\n\[exit code 0\]$/)
  expect(await home.use('git_init')).toContain('is a git repository')
})

it("git tools never touch the operator's repository above the workspace", async () => {
  execFileSync('git', ['init', '-q', home.root])
  for (const name of ['git_status', 'git_diff', 'git_log', 'git_add']) {
    expect(await home.use(name)).toContain('there is no repository in your workspace')
  }
})

it('git tools reach no file outside, and never take a message or a path as an option', async () => {
  await home.use('git_init')
  await home.write({ 'outside/secret.txt': 'secret' })
  await symlink(join(home.root, 'outside'), at('link'))
  for (const path of ['../../../outside/secret.txt', '/etc/passwd', 'link/secret.txt', '.git']) {
    expect(await home.use('git_add', { path }), path).toMatch(/^error: /)
    expect(await home.use('git_diff', { path }), path).toMatch(/^error: /)
  }
  expect(await home.use('git_add', { path: '--all' })).toContain('did not match')
  expect(await home.use('git_add', { path: ':(glob)**' })).toContain('did not match')
  await home.use('git_add')
  await home.use('git_commit', { message: '--amend' })
  expect(await home.use('git_log')).toContain('coder-1: --amend')
  expect(execFileSync('git', ['show', 'HEAD:link'], { cwd: home.workspace }).toString()).toContain('outside')
})

describe('protection against programs that a workspace makes git run', () => {
  const PROGRAM = () => `touch ${at('canary')}`

  it.each([
    ['core.fsmonitor', 'RUN'],
    ['core.pager', 'RUN'],
    ['core.editor', 'RUN'],
    ['core.hooksPath', 'hooks'],
    ['core.sshCommand', 'RUN'],
    ['core.worktree', '/etc'],
    ['core.attributesFile', '/etc/passwd'],
    ['core.excludesFile', '/etc/passwd'],
    ['diff.external', 'RUN'],
    ['diff.x.command', 'RUN'],
    ['diff.x.textconv', 'RUN'],
    ['filter.x.clean', 'RUN'],
    ['filter.x.process', 'RUN'],
    ['merge.x.driver', 'RUN'],
    ['gpg.program', 'RUN'],
    ['commit.gpgSign', 'true'],
    ['include.path', '/etc/passwd'],
    ['includeIf.gitdir:/.path', '/etc/passwd'],
    ['alias.status', '!RUN'],
    ['credential.helper', '!RUN'],
    ['extensions.worktreeConfig', 'true'],
    ['trailer.x.command', 'RUN'],
    ['sequence.editor', 'RUN'],
    ['submodule.x.update', '!RUN'],
  ])('refuses every git tool when .git/config has the setting %s', async (name, value) => {
    await home.use('git_init')
    await writeFile(at('a.txt'), 'x')
    await writeFile(at('.gitattributes'), '* filter=x diff=x merge=x\n')
    const config = at('.git/config')
    execFileSync('git', ['config', '--file', config, name, value.replace('RUN', PROGRAM())])
    for (const [tool, args] of ALL) {
      expect(await home.use(tool, args), tool).toMatch(
        /^error: git was not run: \.git\/config sets .* which could run programs/,
      )
    }
    expect(canary()).toBe(false)
  })

  const ALL: [string, Record<string, unknown>][] = [
    ['git_init', {}],
    ['git_status', {}],
    ['git_add', {}],
    ['git_diff', { staged: true }],
    ['git_commit', { message: 'x' }],
    ['git_log', {}],
  ]

  it('runs no hooks and no attribute filters', async () => {
    await home.use('git_init')
    await mkdir(at('.git/hooks'), { recursive: true })
    for (const hook of [
      'pre-commit',
      'commit-msg',
      'prepare-commit-msg',
      'post-commit',
      'post-index-change',
      'fsmonitor-watchman',
    ]) {
      await writeFile(at('.git/hooks', hook), `#!/bin/sh\n${PROGRAM()}\n`)
      await chmod(at('.git/hooks', hook), 0o755)
    }
    await writeFile(at('a.txt'), 'x')
    await writeFile(at('.gitattributes'), '* filter=x diff=x\n')
    for (const [tool, args] of ALL) expect(await home.use(tool, args), tool).not.toMatch(/^error/)
    expect(canary()).toBe(false)
    expect(await home.use('git_log')).toContain('coder-1: x')
  })

  it('runs no program of a nested repository', async () => {
    await home.use('git_init')
    const inner = at('inner')
    const run = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: inner })
    await mkdir(inner)
    run('init', '-q')
    await writeFile(join(inner, 'a.txt'), 'x')
    run('add', '.')
    run('commit', '-qm', 'x')
    await home.use('git_add')
    await home.use('git_commit', { message: 'x' })
    run('config', 'core.fsmonitor', PROGRAM())
    await writeFile(join(inner, 'a.txt'), 'changed')
    await writeFile(at('b.txt'), 'x')
    for (const [tool, args] of ALL) expect(await home.use(tool, args), tool).not.toMatch(/^error/)
    expect(await home.use('git_add', { path: 'inner' })).toContain('exit code')
    expect(await home.use('git_diff', {})).toContain('No unstaged changes')
    expect(canary()).toBe(false)
    run('status')
    expect(canary()).toBe(true)
  })

  it('refuses a repository that leads elsewhere', async () => {
    await home.use('git_init')
    await mkdir(at('.git/objects/info'), { recursive: true })
    for (const name of ['objects/info/alternates', 'commondir', 'config.worktree']) {
      await writeFile(at('.git', name), '/etc\n')
      expect(await home.use('git_status')).toContain(`.git/${name} leads out of the repository`)
      await rm(at('.git', name))
    }
    await rename(at('.git'), join(home.root, 'elsewhere'))
    await symlink(join(home.root, 'elsewhere'), at('.git'))
    expect(await home.use('git_status')).toContain('.git is not a folder')
    await rm(at('.git'))
    await writeFile(at('.git'), `gitdir: ${join(home.root, 'elsewhere')}\n`)
    expect(await home.use('git_status')).toContain('.git is not a folder')
    expect(await home.use('git_init')).toContain('.git is not a folder')
  })

  it('keeps the file tools from writing what git keeps', async () => {
    await home.use('git_init')
    await mkdir(at('sub'))
    await symlink('.git', at('alias'))
    for (const path of [
      '.git/config',
      '.git/hooks/pre-commit',
      '.GIT/config',
      'sub/.git/config',
      'sub/../.git/x',
      'alias/config',
      '.git',
    ]) {
      expect(await home.use('file_write', { path, content: 'x' }), path).toMatch(/belongs to git|is a folder/)
    }
    expect(
      await home.use('file_edit', { path: '.git/config', old_text: 'bare = false', new_text: 'bare = true' }),
    ).toContain('belongs to git')
    expect(await readFile(at('.git/config'), 'utf8')).toContain('bare = false')
    await appendFile(at('.gitignore'), '')
    await home.use('file_read', { path: '.gitignore' })
    expect(await home.use('file_write', { path: '.gitignore', content: 'x' })).toContain('Wrote')
  })
})

it('git tools give git no secrets of the environment', async () => {
  await home.use('git_init')
  const seen = execFileSync('git', ['config', '--list'], { cwd: home.workspace }).toString()
  expect(seen).not.toContain('canary-key')
  expect(await home.use('git_commit', { message: '$OPENAI_API_KEY' })).not.toContain('canary-key')
})
