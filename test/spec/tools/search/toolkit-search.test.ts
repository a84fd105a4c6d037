import { readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import file from '../../../../builtins/tools/toolkits/file/index.ts'
import { hands, type ToolHost } from '../tool-host.ts'

let home: ToolHost
const put = (files: Record<string, string>) =>
  home.write(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [join('.svc/workspaces/coder-1', path), text])),
  )
const glob = (pattern: string, more: object = {}) => home.use('glob', { pattern, ...more })
const grep = (pattern: string, more: object = {}) => home.use('grep', { pattern, ...more })

beforeEach(async () => {
  home = await hands({ builtins: [file] })
})
afterEach(() => home.close())

describe('glob', () => {
  it('finds files by a pattern of their path, or of their name in any folder', async () => {
    await put({ 'src/a.ts': '', 'src/deep/b.ts': '', 'src/c.js': '', '.github/ci.yml': '', 'README.md': '' })
    expect(await glob('*.ts')).toBe('src/a.ts\nsrc/deep/b.ts')
    expect(await glob('src/*.{ts,js}')).toBe('src/a.ts\nsrc/c.js')
    expect(await glob('**/*.yml')).toBe('.github/ci.yml')
    expect(await glob('deep/*', { path: 'src' })).toBe('src/deep/b.ts')
    expect(await glob('*.py')).toContain('[No file matches "*.py" in "."')
  })

  it('leaves out files that a .gitignore on the way excludes, unless include_ignored is set', async () => {
    await put({
      '.gitignore': 'dist/\n*.log\n!keep.log\n/only-top\n# a comment\nsrc/generated\n',
      'dist/out.ts': '',
      'a.log': '',
      'keep.log': '',
      'only-top': '',
      'src/only-top': '',
      'src/generated/g.ts': '',
      'src/.gitignore': 'local.ts\n',
      'src/local.ts': '',
      'local.ts': '',
      'node_modules/x/index.ts': '',
      '.git/config': '',
    })
    const shown = ['.gitignore', 'keep.log', 'local.ts', 'src/.gitignore', 'src/only-top']
    expect((await glob('**')).split('\n')).toEqual(shown)
    // Also when the search starts in a subfolder.
    expect((await glob('**', { path: 'src' })).split('\n')).toEqual(['src/.gitignore', 'src/only-top'])
    const all = (await glob('**', { include_ignored: true })).split('\n')
    expect(all).toContain('dist/out.ts')
    expect(all).toContain('node_modules/x/index.ts')
    expect(all).not.toContain('.git/config')
  })

  it('returns at most the requested number of files, and says when there are more', async () => {
    await put(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}.txt`, ''])))
    const lines = (await glob('*.txt', { limit: 20 })).split('\n')
    expect(lines).toHaveLength(21)
    expect(lines.at(-1)).toBe(
      '[There are more than 20 files; set path to a subfolder, or use a narrower pattern, or set limit.]',
    )
  })
})

describe('grep', () => {
  it('finds text line by line, with the lines around it', async () => {
    await put({ 'a.ts': 'one\r\nclass FooError\ntwo\nthree\nclass BarError\n', 'b.md': 'class FooError' })
    expect(await grep('class \\w+Error', { glob: '*.ts' })).toBe('a.ts:2: class FooError\na.ts:5: class BarError')
    expect(await grep('fooerror', { ignore_case: true, files_only: true })).toBe('a.ts\nb.md')
    expect(await grep('BarError', { context: 1 })).toBe('a.ts-4- three\na.ts:5: class BarError\na.ts-6- ')
    expect(await grep('FooError(')).toMatch(
      /is not a valid JavaScript regular expression .*; correct it, or set literal to search/,
    )
    expect(await grep('(x', { literal: true })).toContain('[Nothing matches "(x" in ".".')
  })

  it('searches one file, also one that is ignored or a link', async () => {
    await put({ '.gitignore': '*.log\n', 'src/a.ts': 'one\ntwo\n', 'a.log': 'two\r\n', 'b.bin': 'two\0' })
    await symlink('src/a.ts', join(home.workspace, 'link.ts'))
    expect(await grep('two', { path: 'src/a.ts' })).toBe('2: two')
    expect(await grep('two', { path: './src/a.ts', glob: '*.md', files_only: true })).toBe('./src/a.ts')
    expect(await grep('two', { path: 'a.log' })).toBe('1: two')
    expect(await grep('two', { path: 'link.ts' })).toBe('2: two')
    expect(await grep('six', { path: 'src/a.ts' })).toBe('[Nothing matches "six" in "src/a.ts".]')
    expect(await grep('two', { path: 'b.bin' })).toBe('["b.bin" is not searched: it is no text.]')
    expect(await grep('two', { path: 'src/c.ts' })).toContain('error: "src/c.ts" does not exist')
    expect(await grep('two(', { path: 'src/a.ts' })).toContain('is not a valid JavaScript regular expression')
  })

  it('searches a named file up to the size that file_read takes, and says when it is larger', async () => {
    const rows = Array.from({ length: 200_000 }, (_, n) => `${n},${'x'.repeat(20)}`)
    await put({ 'big.csv': rows.join('\n'), 'huge.csv': `${rows.join('\n')}\n`.repeat(2) })
    expect(await grep('^(0|199999),', { path: 'big.csv' })).toBe(`1: ${rows[0]}\n200000: ${rows.at(-1)}`)
    expect(await grep('150000,', { path: 'big.csv', context: 1 })).toBe(
      `150000- ${rows[149_999]}\n150001: ${rows[150_000]}\n150002- ${rows[150_001]}`,
    )
    expect(await grep('1', { path: 'big.csv', limit: 1 })).toBe(
      `2: ${rows[1]}\n[There are more matches; use a narrower pattern, or read the part with file_read, or set limit.]`,
    )
    expect(await grep('x', { path: 'huge.csv' })).toMatch(
      /^\["huge\.csv" is not searched: it has \d+ bytes, and the limit is 10000000\. Divide it/,
    )
    expect(await grep('150000,')).toContain('Nothing matches')
  })

  it('limits matches and long lines, skips binary files, and stops expressions that take too long', async () => {
    await put({ 'many.txt': 'x\n'.repeat(500), 'blob.bin': 'x\0x', 'long.txt': `y${'z'.repeat(5_000)}` })
    const lines = (await grep('x')).split('\n')
    expect(lines).toHaveLength(101)
    expect(lines.at(-1)).toContain('There are more matches; set path to a subfolder')
    expect(await grep('y', { glob: 'long.txt' })).toContain('… (4701 more characters)')
    await put({ 'wide.json': `${'a'.repeat(5_000)}needle${'b'.repeat(5_000)}` })
    expect(await grep('n.edle', { glob: 'wide.json' })).toBe(
      `wide.json:1: (4900 characters) …${'a'.repeat(100)}needle${'b'.repeat(194)}… (4806 more characters)`,
    )
    expect(await grep('b$', { glob: 'wide.json' })).toBe(`wide.json:1: (9706 characters) …${'b'.repeat(300)}`)
    expect(await grep('(?i)x')).toContain('set ignore_case instead of (?i)')
    expect(await grep('x', { glob: '*.bin' })).toContain('Nothing matches')
    await put({ 'slow.txt': `${'a'.repeat(40)}b` })
    expect(await grep('^(a+)+$', { glob: 'slow.txt' })).toContain(
      'takes too long to match; write it without nested repetitions',
    )
  })

  it('finds nothing outside: links are not followed, and paths that lead out are refused', async () => {
    await home.write({ 'secret.txt': 'the secret' })
    await put({ 'a.txt': 'mine' })
    await symlink(home.root, join(home.workspace, 'out'))
    expect(await grep('secret')).toContain('Nothing matches')
    expect(await grep('secret', { path: '..' })).toContain('lies outside your workspace')
    expect(await glob('../*')).toContain('leads out of the folder')
    expect(await glob('**')).toBe('a.txt')
  })
})

it.runIf(process.platform === 'linux')('a search leaves no folder open, even when its pattern is refused', async () => {
  await put({ 'src/a.ts': 'x' })
  for (const answer of [await grep('x('), await glob('../*'), await grep('x', { glob: '../*' })])
    expect(answer).toContain('error: ')
  expect(await grep('x')).toBe('src/a.ts:1: x')
  const open = await readdir('/proc/self/fd')
  const paths = await Promise.all(open.map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  expect(paths.filter(path => path.startsWith(home.workspace))).toEqual([])
})
