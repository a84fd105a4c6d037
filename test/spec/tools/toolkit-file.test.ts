import { execFileSync } from 'node:child_process'
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Kernel } from '#kernel'
import { textTokens } from '#lib/text-tokens'
import sandbox from '#safety/sandbox/index'
import { type ToolCall, Toolkits } from '#tools/toolkits/contract'
import files from '#tools/toolkits/file/index'
import { openKernel } from '../../../embed/compose.ts'

const SECRET = 'the secret outside'

let root: string
let workspace: string
let outside: string
let kernel: Kernel

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'svc-file-')))
  workspace = join(root, '.svc/workspaces/coder-1')
  outside = join(root, 'outside')
  await mkdir(workspace, { recursive: true })
  await mkdir(outside)
  await writeFile(join(outside, 'secret.txt'), SECRET)
  await writeFile(
    join(root, '.svc/config.yaml'),
    'tools: { file_max_read_bytes: 2000000, file_max_write_bytes: 1000000 }\n',
  )
  kernel = await openKernel({ root, roles: ['daemon'], builtins: [sandbox, files], log: { write: () => {} } })
})

afterEach(async () => {
  await kernel.close()
  await rm(root, { recursive: true, force: true })
})

function callOf(more: Partial<ToolCall>): ToolCall {
  const { signal } = new AbortController()
  return {
    call_id: 'c1',
    agent_id: 'coder-1',
    goal_id: null,
    cycle_num: 1,
    signal,
    workspace,
    idempotency_key: 'k',
    effect: () => {},
    ...more,
  }
}

/** Returns the result of a call, or its error, as text. */
async function said(work: () => unknown): Promise<string> {
  try {
    return String(await work())
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

/** Calls a tool as the runtime does: arguments pass the tool's own schema, and an error is returned as text. */
async function use(
  name: string,
  args: Record<string, unknown>,
  signal = new AbortController().signal,
  more: Partial<ToolCall> = {},
): Promise<string> {
  const tool = kernel.points.find(Toolkits, 'file')!.tools.find(each => each.name === name)!
  const call = callOf({ signal, ...more })
  return said(() => tool.execute(tool.parameters.parse(args), call))
}

/** Runs a tool's check, as before an approval. */
function check(name: string, args: Record<string, unknown>, more: Partial<ToolCall> = {}): Promise<string> {
  const tool = kernel.points.find(Toolkits, 'file')!.tools.find(each => each.name === name)!
  return said(() => tool.check?.(tool.parameters.parse(args) as never, callOf(more)))
}

const inWorkspace = (name: string) => join(workspace, name)

describe('reading', () => {
  test('a file is shown in parts that fit the model in use, and all of it can be reached', async () => {
    const lines = Array.from({ length: 600 }, (_, n) => `Line ${n} of a file that is longer than one result may be.`)
    await writeFile(inWorkspace('long.txt'), lines.join('\n'))
    const parts: string[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const shown = await use('file_read', { path: 'long.txt', offset }, undefined, { result_tokens: 1_000 })
      expect(textTokens(shown)).toBeLessThanOrEqual(1_000)
      parts.push(shown)
      const next = /read on with offset=(\d+)/.exec(shown)?.[1]
      offset = next === undefined ? undefined : Number(next)
    }
    expect(parts.length).toBeGreaterThan(5)
    const rows = parts.flatMap(part => part.split('\n').filter(row => !row.startsWith('[')))
    expect(rows).toEqual(lines.map((line, n) => `${n + 1}\t${line}`))
  })

  test('rows are numbered', async () => {
    await writeFile(inWorkspace('a.txt'), 'one\r\ntwo\n')
    expect(await use('file_read', { path: 'a.txt' })).toBe('1\tone\n2\ttwo')
  })

  test('a long file is read in parts, and each part says how to read on', async () => {
    const lines = Array.from({ length: 1200 }, (_, index) => `line ${index + 1}`)
    await writeFile(inWorkspace('long.txt'), lines.join('\n'))
    const seen: string[] = []
    let offset = 0
    for (;;) {
      const answer = await use('file_read', { path: 'long.txt', offset })
      seen.push(...answer.split('\n').filter(row => !row.startsWith('[')))
      const next = /read on with offset=(\d+)/.exec(answer)
      if (!next) break
      offset = Number(next[1])
    }
    expect(seen.map(row => row.split('\t')[1])).toEqual(lines)
  })

  test('a result is limited, yet every character of one very long line can be reached', async () => {
    const line = Array.from({ length: 130_000 }, (_, index) => (index % 7 ? String(index % 10) : '🙂')).join('')
    await writeFile(inWorkspace('min.js'), line)
    let offset = 0
    let seen = ''
    for (;;) {
      const answer = await use('file_read', { path: 'min.js', offset, limit: 5000 })
      expect(answer.length).toBeLessThan(60_000)
      seen += answer
        .split('\n')
        .filter(row => !row.startsWith('['))
        .map(row => row.split('\t')[1])
        .join('')
      const next = /offset=(\d+)/.exec(answer)
      if (!next) break
      offset = Number(next[1])
    }
    expect(seen).toBe(line)
  })

  test('an empty file, an offset past the end, a folder, binary data and a missing file each get their own message', async () => {
    await writeFile(inWorkspace('empty'), '')
    await writeFile(inWorkspace('short'), 'x\n')
    await writeFile(inWorkspace('blob'), Buffer.from([1, 0, 2]))
    await writeFile(inWorkspace('latin'), Buffer.from([0x66, 0xfc, 0x72]))
    await mkdir(inWorkspace('folder'))
    expect(await use('file_read', { path: 'empty' })).toBe('[The file is empty.]')
    expect(await use('file_read', { path: 'short', offset: 5 })).toContain('the file has only 1 row,')
    expect(await use('file_read', { path: 'blob' })).toContain('is neither UTF-8 text nor a PNG')
    expect(await use('file_read', { path: 'latin' })).toContain('is neither UTF-8 text nor a PNG')
    expect(await use('file_read', { path: 'folder' })).toContain('is a folder')
    expect(await use('file_read', { path: '.' })).toContain('is a folder')
    expect(await use('file_read', { path: 'none/x.txt' })).toBe(
      'error: "none/x.txt" does not exist; list_dir shows what there is.',
    )
  })

  test('a file over tools.file_max_read_bytes is refused, and the message names both sizes', async () => {
    await writeFile(inWorkspace('big'), 'x'.repeat(2_000_001))
    expect(await use('file_read', { path: 'big' })).toBe(
      'error: "big" has 2000001 bytes, but the file tools accept at most 2000000.',
    )
  })

  test('numbers that a model writes as strings are accepted', async () => {
    await writeFile(inWorkspace('a.txt'), 'one\ntwo\nthree')
    expect(await use('file_read', { path: 'a.txt', offset: '1', limit: '1' })).toContain('2\ttwo')
  })

  test('links that stay inside are followed, and the absolute path of a file inside works too', async () => {
    await mkdir(inWorkspace('v1'))
    await writeFile(inWorkspace('v1/a.txt'), 'inside')
    await symlink('v1', inWorkspace('latest'))
    await symlink('latest/a.txt', inWorkspace('shortcut'))
    for (const path of ['latest/a.txt', 'shortcut', inWorkspace('v1/a.txt'), './v1/../latest/a.txt']) {
      expect(await use('file_read', { path })).toBe('1\tinside')
    }
  })

  test('a workspace below a linked folder works', async () => {
    await symlink(root, join(outside, 'project'))
    await writeFile(inWorkspace('a.txt'), 'inside')
    workspace = join(outside, 'project/.svc/workspaces/coder-1')
    expect(await use('file_read', { path: 'a.txt' })).toBe('1\tinside')
    expect(await use('file_read', { path: join(workspace, 'a.txt') })).toBe('1\tinside')
  })
})

describe('writing', () => {
  test('the workspace and missing folders are made, closed to other users, and the bytes are counted', async () => {
    await rm(workspace, { recursive: true })
    expect(await use('file_write', { path: 'a/b/ü.txt', content: 'grün' })).toBe('Wrote 5 bytes to a/b/ü.txt.')
    expect(await readFile(inWorkspace('a/b/ü.txt'), 'utf8')).toBe('grün')
    expect((await stat(inWorkspace('a'))).mode & 0o777).toBe(0o700)
    expect((await stat(inWorkspace('a/b/ü.txt'))).mode & 0o777).toBe(0o600)
  })

  test('a file is replaced as a whole, keeps its permissions, and leaves no temporary file', async () => {
    await writeFile(inWorkspace('run.sh'), 'old and longer')
    await chmod(inWorkspace('run.sh'), 0o755)
    await use('file_read', { path: 'run.sh' })
    await use('file_write', { path: 'run.sh', content: 'new' })
    expect(await readFile(inWorkspace('run.sh'), 'utf8')).toBe('new')
    expect((await stat(inWorkspace('run.sh'))).mode & 0o777).toBe(0o755)
    expect(await readdir(workspace)).toEqual(['run.sh'])
  })

  test('content over tools.file_max_write_bytes, a folder and a path through a file are refused', async () => {
    await writeFile(inWorkspace('a.txt'), 'x')
    await mkdir(inWorkspace('folder'))
    expect(await use('file_write', { path: 'b', content: 'x'.repeat(1_000_001) })).toContain('at most 1000000')
    for (const path of ['folder', 'folder/', '.', 'new/']) {
      expect(await use('file_write', { path, content: 'x' })).toContain('is a folder')
    }
    expect(await use('file_write', { path: 'a.txt/b', content: 'x' })).toContain('is not a folder')
    expect(await use('file_write', { path: 'x'.repeat(300), content: 'x' })).toContain('too long')
    expect((await readdir(workspace)).sort()).toEqual(['a.txt', 'folder'])
  })

  test('a cancelled call writes nothing', async () => {
    const stopped = AbortSignal.abort(new Error('stopped'))
    expect(await use('file_write', { path: 'a.txt', content: 'x' }, stopped)).toBe('error: stopped')
    expect(await readdir(workspace)).toEqual([])
  })

  test('writes are idempotent, edits are not', () => {
    const { tools } = kernel.points.find(Toolkits, 'file')!
    const idempotent = tools.filter(tool => tool.idempotent || tool.read_only).map(tool => tool.name)
    expect(idempotent).toEqual(['file_read', 'file_write', 'list_dir', 'glob', 'grep'])
  })
})

describe('editing', () => {
  test('the only occurrence is replaced, and special characters of replace() are plain text', async () => {
    await writeFile(inWorkspace('a.ts'), 'const a = 1\nconst b = 2\n')
    await use('file_edit', { path: 'a.ts', old_text: 'b = 2', new_text: "b = '$&$1'" })
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe("const a = 1\nconst b = '$&$1'\n")
  })

  test('text that is missing, ambiguous or unchanged leaves the file as it is, and the message says why', async () => {
    await writeFile(inWorkspace('a.ts'), 'x\ny\nx\naaa\n')
    const edit = (old_text: string, new_text: string) => use('file_edit', { path: 'a.ts', old_text, new_text })
    expect(await edit('z', 'w')).toContain('does not occur')
    expect(await edit('x', 'w')).toContain('occurs 2 times (lines 1, 3)')
    const edits = [
      { old_text: 'aaa', new_text: 'new\nline' },
      { old_text: 'x', new_text: 'w' },
    ]
    expect(await use('file_edit', { path: 'a.ts', edits })).toContain(
      'edit 2: old_text occurs 2 times (lines 1, 3, as the edits before leave the file)',
    )
    expect(await edit('aa', 'b')).toContain('occurs 2 times')
    expect(await edit('y', 'y')).toContain('are the same')
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe('x\ny\nx\naaa\n')
  })

  test('what cannot succeed is known before anyone is asked to approve it, and nothing changes', async () => {
    await writeFile(inWorkspace('a.ts'), 'x\nx\n')
    const given = [{ path: outside, access: 'read-only' as const }]
    const [there, unread] = [join(outside, 'new.txt'), /you have not read it/]
    const patch = '--- a/a.ts\n+++ b/a.ts\n@@ -1,1 +1,1 @@\n-gone\n+here\n'
    expect(await check('file_write', { path: 'a.ts', content: 'y' })).toMatch(unread)
    expect(await check('file_write', { path: there, content: 'y' }, { folders: given })).toMatch(/read-only/)
    expect(await check('file_edit', { path: 'a.ts', old_text: 'x', new_text: 'y' })).toMatch(/occurs 2 times/)
    expect(await check('file_patch', { patch })).toMatch(/^error: "a.ts" was not changed/)
    await use('file_read', { path: 'a.ts' })
    expect(await check('file_write', { path: 'a.ts', content: 'y' })).not.toMatch(/^error/)
    expect(await check('file_write', { path: 'deep/new.ts', content: 'y' })).not.toMatch(/^error/)
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe('x\nx\n')
    expect(await readdir(workspace)).toEqual(['a.ts'])
  })

  test('Windows line endings and a byte order mark are kept', async () => {
    await writeFile(inWorkspace('a.txt'), '\uFEFFone\r\ntwo\r\nthree\r\n')
    await use('file_edit', { path: 'a.txt', old_text: 'one\ntwo', new_text: '1\n2' })
    expect(await readFile(inWorkspace('a.txt'), 'utf8')).toBe('\uFEFF1\r\n2\r\nthree\r\n')
  })

  test('spaces and then indentation are ignored if one place remains, and the new text adopts the old indentation', async () => {
    const source = 'class A {\n    run() {\n        return  1\n    }\n}\n'
    await writeFile(inWorkspace('a.ts'), source)
    await use('file_read', { path: 'a.ts' })
    const edit = (old_text: string, new_text: string) => use('file_edit', { path: 'a.ts', old_text, new_text })
    expect(await edit('        return 1 ', '        return 2')).toContain('[matched at line 3, ignoring blanks]')
    expect(await edit('run() {\n    return 2\n}', 'go() {\n    const two = 2\n\n    return two\n}')).toContain(
      '[matched at line 2, ignoring indentation]',
    )
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe(
      'class A {\n    go() {\n        const two = 2\n\n        return two\n    }\n}\n',
    )
    await writeFile(inWorkspace('a.ts'), '  one()\n    one()\n')
    await use('file_read', { path: 'a.ts' })
    expect(await edit('one( )', 'x')).toContain('does not occur')
    expect(await edit('\tone()', 'x')).toContain('occurs 2 times (lines 1, 2)')
  })

  test('text that nearly occurs is answered with the closest lines, numbered', async () => {
    await writeFile(inWorkspace('a.ts'), 'import x\n\nfunction total(items) {\n  return items.length\n}\n')
    const old_text = 'function total(items, tax) {\n  return items.length\n}'
    expect(await use('file_edit', { path: 'a.ts', old_text, new_text: '' })).toBe(
      'error: "a.ts" was not changed: old_text does not occur in the file; the closest lines are below. Copy old_text from them, without row numbers, or read the file again\n3\tfunction total(items) {\n4\t  return items.length\n5\t}\n6\t',
    )
    expect(await use('file_edit', { path: 'a.ts', old_text: 'zebra', new_text: '' })).toContain(
      'no similar line was found',
    )
    const slip = await use('file_edit', { path: 'a.ts', old_text: 'items.lengths', new_text: 'x' })
    expect(slip).toContain('\n4\t  return items.length\n')
  })

  test('a path that does not exist is answered with the files that it may mean', async () => {
    await mkdir(inWorkspace('src/deep'), { recursive: true })
    await writeFile(inWorkspace('src/deep/main.ts'), 'x')
    const read = (path: string) => use('file_read', { path })
    expect(await read('main.ts')).toBe(
      'error: "main.ts" does not exist; did you mean "src/deep/main.ts"? list_dir shows what there is.',
    )
    expect(await read('src/deep/mian.ts')).toContain('did you mean "src/deep/main.ts"?')
    expect(await read('other.css')).toBe('error: "other.css" does not exist; list_dir shows what there is.')
    expect(await use('file_edit', { path: 'main.ts', old_text: 'x', new_text: 'y' })).toContain('did you mean')
  })

  test('several edits are made in order, all or none, and replace_all replaces every place', async () => {
    await writeFile(inWorkspace('a.ts'), 'a\nb\na\n')
    await use('file_read', { path: 'a.ts' })
    const edits = [
      { old_text: 'a', new_text: 'c', replace_all: true },
      { old_text: 'b\nc', new_text: 'd' },
    ]
    expect(await use('file_edit', { path: 'a.ts', edits })).toBe('Changed a.ts, which now has 4 bytes.')
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe('c\nd\n')
    const failing = [
      { old_text: 'c', new_text: 'e' },
      { old_text: 'zebra', new_text: 'x' },
    ]
    expect(await use('file_edit', { path: 'a.ts', edits: failing })).toContain('edit 2: old_text does not occur')
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe('c\nd\n')
    const tool = kernel.points.find(Toolkits, 'file')!.tools.find(each => each.name === 'file_edit')!
    for (const args of [{}, { old_text: 'c' }, { new_text: 'c' }, { edits: [] }]) {
      expect(tool.parameters.safeParse({ path: 'a.ts', ...args }).error?.message).toContain(
        'give old_text and new_text, or edits',
      )
    }
  })

  test('simultaneous edits are all applied', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `<${index}>`)
    await writeFile(inWorkspace('a.txt'), names.join('\n'))
    await Promise.all(names.map(name => use('file_edit', { path: 'a.txt', old_text: name, new_text: 'done' })))
    expect(await readFile(inWorkspace('a.txt'), 'utf8')).toBe(names.map(() => 'done').join('\n'))
  })
})

describe("an agent's knowledge of a file", () => {
  const UNREAD = 'it exists, and you have not read it in this goal or task; read it with file_read'
  const CHANGED = 'it changed on disk since you last read or wrote it; read it again with file_read'
  const inGoal = (goal_id: string) => (name: string, args: Record<string, unknown>) =>
    use(name, args, undefined, { goal_id })
  const [use1, use2] = [inGoal('goal-1'), inGoal('goal-2')]
  const content = () => readFile(inWorkspace('a.txt'), 'utf8')
  const write = (text: string) => ({ path: 'a.txt', content: text })

  test('decides whether it may overwrite the file, separately in each goal', async () => {
    expect(await use1('file_write', write('one'))).toContain('Wrote')
    expect(await use1('file_write', write('two'))).toContain('Wrote')
    expect(await use2('file_write', write('three'))).toContain(UNREAD)
    expect(await content()).toBe('two')
    await use2('file_read', { path: './a.txt' })
    expect(await use2('file_write', write('three'))).toContain('Wrote')
    expect(await use1('file_write', write('four'))).toContain(CHANGED)
    expect(await content()).toBe('three')
    expect(await readdir(workspace)).toEqual(['a.txt'])
  })

  test('is outdated when a program changes the file, and valid again when the content is restored', async () => {
    await writeFile(inWorkspace('a.txt'), 'one\n')
    await use1('file_read', { path: 'a.txt' })
    await writeFile(inWorkspace('a.txt'), 'one\ntwo\n')
    const edit = { path: 'a.txt', old_text: 'one', new_text: '1' }
    const patch = { patch: '--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+1\n' }
    expect(await use1('file_edit', edit)).toContain(CHANGED)
    expect(await use1('file_patch', patch)).toContain(CHANGED)
    expect(await use1('file_write', write('1'))).toContain(CHANGED)
    expect(await content()).toBe('one\ntwo\n')
    await writeFile(inWorkspace('a.txt'), 'one\n')
    expect(await use1('file_edit', edit)).toContain('Changed')
    expect(await use1('file_edit', { path: 'a.txt', old_text: '1', new_text: '2' })).toContain('Changed')
    expect(await content()).toBe('2\n')
  })

  test('is not needed for an edit whose old text occurs exactly once', async () => {
    await writeFile(inWorkspace('a.txt'), 'one\n  two\n')
    expect(await use1('file_edit', { path: 'a.txt', old_text: 'one', new_text: '1' })).toContain('Changed')
    const inexact = [
      { old_text: 'two  \n', new_text: '2\n' },
      { old_text: 'two', new_text: '2', replace_all: true },
    ]
    for (const edit of inexact)
      expect(await use1('file_edit', { path: 'a.txt', ...edit })).toContain(
        'you have not read the file in this goal or task',
      )
    expect(await use1('file_write', write('all new'))).toContain(UNREAD)
    expect(await content()).toBe('1\n  two\n')
    await use1('file_read', { path: 'a.txt' })
    for (const edit of [inexact[0], { ...inexact[1], old_text: '2', new_text: 'two' }])
      expect(await use1('file_edit', { path: 'a.txt', ...edit })).toContain('Changed')
    expect(await content()).toBe('1\n  two\n')
  })

  test('does not block a write repeated after a crash, nor one over a binary file after an attempt to read it', async () => {
    await writeFile(inWorkspace('a.txt'), 'done')
    expect(await use1('file_write', write('done'))).toContain('Wrote 4 bytes')
    await writeFile(inWorkspace('blob'), Buffer.from([1, 0, 2]))
    expect(await use1('file_write', { path: 'blob', content: 'x' })).toContain(UNREAD)
    expect(await use1('file_read', { path: 'blob' })).toContain('is neither UTF-8 text')
    expect(await use1('file_write', { path: 'blob', content: 'x' })).toContain('Wrote')
  })

  test('keeps two agents that change one file at the same time from undoing each other', async () => {
    await mkdir(inWorkspace('src'))
    const names = Array.from({ length: 40 }, (_, index) => `<${index}>`)
    await writeFile(inWorkspace('src/a.txt'), names.join('\n'))
    const edit = async (name: string, n: number) => {
      const [path, folder] = n % 2 ? ['src/a.txt', workspace] : ['a.txt', inWorkspace('src')]
      const answer = await use('file_edit', { path, old_text: name, new_text: `done ${n}` }, undefined, {
        agent_id: `coder-${n % 2}`,
        goal_id: `goal-${n % 2}`,
        workspace: folder,
      })
      return answer.startsWith('Changed') ? `done ${n}` : answer.includes(CHANGED) ? name : answer
    }
    const lines = await Promise.all(names.map(edit))
    expect(await readFile(inWorkspace('src/a.txt'), 'utf8')).toBe(lines.join('\n'))
    expect(lines.filter(line => line.startsWith('done')).length).toBeGreaterThanOrEqual(20)
  })
})

describe('a patch', () => {
  const patch = (text: string) => use('file_patch', { patch: text })

  test('changes and makes files, all or none', async () => {
    await writeFile(inWorkspace('a.ts'), 'one\ntwo\nthree\n')
    const change = '--- a/a.ts\n+++ b/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n'
    const made = '--- /dev/null\n+++ b/new/b.ts\n@@ -0,0 +1,1 @@\n+first\n'
    expect(await patch(change + made)).toBe('Patched a.ts, new/b.ts.')
    expect(await readFile(inWorkspace('a.ts'), 'utf8')).toBe('one\n2\nthree\n')
    expect(await readFile(inWorkspace('new/b.ts'), 'utf8')).toBe('first\n')
    expect(await patch(made)).toContain('but it already exists')
    const other = '--- /dev/null\n+++ b/c.ts\n@@ -0,0 +1,1 @@\n+first\n'
    const refused = await patch(other + change)
    expect(refused).toContain('"a.ts" was not changed: a hunk does not match the file')
    expect(refused).toContain('1\tone')
    expect((await readdir(workspace)).sort()).toEqual(['a.ts', 'new'])
  })

  test('is refused with a hint when it is not a diff, deletes or renames, and refused when it leads outside', async () => {
    await writeFile(inWorkspace('a.ts'), 'one\n')
    expect(await patch('change the one to a two')).toContain('Write a unified diff')
    expect(await patch('--- a/a.ts\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n')).toContain('use shell_exec with rm')
    expect(await patch('--- a/a.ts\n+++ b/b.ts\n@@ -1,1 +1,1 @@\n-one\n+two\n')).toContain('use shell_exec with mv')
    const outwards = '--- /dev/null\n+++ b/../../../outside/new.txt\n@@ -0,0 +1,1 @@\n+x\n'
    expect(await patch(outwards)).toContain('lies outside your workspace')
    expect(await readdir(outside)).toEqual(['secret.txt'])
  })
})

describe('listing', () => {
  test('a listing shows folders, sizes and links, sorted, to the requested depth, and counts hidden entries', async () => {
    await mkdir(inWorkspace('src/deep/deeper'), { recursive: true })
    await writeFile(inWorkspace('src/a.ts'), 'abc')
    await writeFile(inWorkspace('src/deep/b.ts'), '')
    await writeFile(inWorkspace('.env'), '')
    await symlink(outside, inWorkspace('way-out'))
    expect((await use('list_dir', {})).split('\n')).toEqual([
      'src/',
      'src/a.ts  3 bytes',
      'src/deep/',
      'way-out  (a link)',
      '[Not shown: 1 whose names begin with a dot.]',
    ])
    expect(await use('list_dir', { path: 'src', max_depth: 1 })).toBe('a.ts  3 bytes\ndeep/')
    expect(await use('list_dir', { max_depth: 10 })).toContain('src/deep/deeper/')
  })

  test('a listing marks what git ignores, and does not list ignored folders', async () => {
    await mkdir(inWorkspace('packages/one/dist/deep'), { recursive: true })
    await mkdir(inWorkspace('node_modules/left-pad'), { recursive: true })
    await writeFile(inWorkspace('.gitignore'), 'dist\n*.log\n')
    await writeFile(inWorkspace('packages/one/.gitignore'), '!kept.log\n')
    for (const name of ['app.log', 'packages/one/kept.log', 'packages/one/dist/a.js', 'packages/one/dist/b.log'])
      await writeFile(inWorkspace(name), 'abc')
    const within = [
      'one/',
      'one/dist/  (ignored, not listed)',
      'one/kept.log  3 bytes',
      '[Not shown: 1 whose names begin with a dot.]',
    ]
    expect((await use('list_dir', { max_depth: 5 })).split('\n')).toEqual([
      'app.log  3 bytes  (ignored)',
      'node_modules/  (ignored, not listed)',
      'packages/',
      ...within.slice(0, 3).map(line => `packages/${line}`),
      '[Not shown: 2 whose names begin with a dot.]',
    ])
    expect((await use('list_dir', { path: 'packages', max_depth: 5 })).split('\n')).toEqual(within)
    expect(await use('list_dir', { path: './packages/one/dist' })).toBe(
      'a.js  3 bytes\nb.log  3 bytes  (ignored)\ndeep/',
    )
  })

  test('a long listing comes in parts that together are whole', async () => {
    const names = Array.from({ length: 450 }, (_, index) => `f${String(index).padStart(3, '0')}`)
    await Promise.all(names.map(name => writeFile(inWorkspace(name), '')))
    const parts = await Promise.all([0, 200, 400].map(offset => use('list_dir', { offset })))
    expect(parts[0]).toContain('[More with offset=200.]')
    expect(parts[2]).not.toContain('More with')
    expect(parts.flatMap(part => part.match(/^f\d+/gm) ?? [])).toEqual(names)
  })

  test('an empty workspace, a file and a name with a line break are each handled', async () => {
    await rm(workspace, { recursive: true })
    expect(await use('list_dir', {})).toBe('[There are no entries to show.]')
    await writeFile(inWorkspace('a\n[forged]'), '')
    expect(await use('list_dir', {})).toBe('"a\\n[forged]"  0 bytes')
    await writeFile(inWorkspace('b'), '')
    expect(await use('list_dir', { path: 'b' })).toContain('is not a folder')
  })
})

describe('access outside the workspace', () => {
  /** Returns everything outside with sizes and change times, so that even a file that was created and removed shows. */
  const filesOutside = () =>
    execFileSync('find', [root, '-path', workspace, '-prune', '-o', '-printf', '%p %s %m %T@\\n'], { encoding: 'utf8' })

  test('is impossible by any spelling of a path, for reading, writing, editing and listing', async () => {
    await mkdir(inWorkspace('sub/deep'), { recursive: true })
    await mkdir(`${workspace}-evil`)
    await writeFile(`${workspace}-evil/secret.txt`, SECRET)
    await writeFile(join(root, 'svc.db'), SECRET)
    await symlink(outside, inWorkspace('dir-link'))
    await symlink('../../../outside', inWorkspace('relative-link'))
    await symlink(join(outside, 'secret.txt'), inWorkspace('file-link'))
    await symlink('dir-link', inWorkspace('link-to-link'))
    await symlink(join(outside, 'new.txt'), inWorkspace('dangling'))
    await symlink(join(outside, 'new-folder'), inWorkspace('dangling-folder'))
    await symlink('/', inWorkspace('slash'))
    await symlink('/proc/self', inWorkspace('proc'))
    await symlink('circle', inWorkspace('circle'))
    await symlink('..', inWorkspace('sub/up'))
    await symlink('../../../../..', inWorkspace('sub/deep/up'))
    await link(join(outside, 'secret.txt'), inWorkspace('hard'))
    const up = '../../../outside'
    const spellings = [
      `${outside}/secret.txt`,
      `/${outside}/secret.txt`,
      `//${outside.slice(1)}//secret.txt`,
      '/etc/passwd',
      '/',
      '..',
      '../',
      '../coder-1-evil/secret.txt',
      `${workspace}-evil/secret.txt`,
      `${workspace}/../coder-1-evil/secret.txt`,
      `${up}/secret.txt`,
      `./${up}/secret.txt`,
      `sub/../${up}/secret.txt`,
      `sub/deep/../../${up}/secret.txt`,
      `none/../${up}/secret.txt`,
      `sub//..//..//../..//../outside/secret.txt`,
      '../../../svc.db',
      '../../config.yaml',
      '../../../plugins/evil.ts',
      'dir-link/secret.txt',
      'dir-link/new.txt',
      'dir-link/new/folder/x.txt',
      'dir-link/../outside/secret.txt',
      'relative-link/secret.txt',
      'link-to-link/secret.txt',
      'file-link',
      'dangling',
      'dangling-folder/x.txt',
      'circle',
      'circle/x',
      'sub/up/dir-link/secret.txt',
      'sub/deep/up/outside/secret.txt',
      `slash${outside}/secret.txt`,
      'slash/etc/passwd',
      'proc/environ',
      'proc/cwd/package.json',
      'proc/fd/0',
      '/proc/self/environ',
      '/proc/self/root/etc/passwd',
      `/proc/self/cwd/../../..${outside}/secret.txt`,
      '/dev/stdin',
      'hard',
      `${up}/secret.txt\0.txt`,
      `a.txt\0/${up}/secret.txt`,
      `${up}/secret.txt\n`,
      '..\\..\\..\\outside\\secret.txt',
      '~/secret.txt',
      '~root/.profile',
      '%2e%2e/%2e%2e/%2e%2e/outside/secret.txt',
      '..%2f..%2f..%2foutside%2fsecret.txt',
      '%252e%252e%252foutside/secret.txt',
      '..%c0%af..%c0%afoutside/secret.txt',
      '․․/․․/․․/outside/secret.txt',
      '‥/‥/‥/outside/secret.txt',
      '../../../outside/secret.txt',
      '..∕..∕..∕outside∕secret.txt',
      '..;/..;/..;/outside/secret.txt',
      '.../.../.../outside/secret.txt',
      '....//....//....//outside/secret.txt',
      `file://${outside}/secret.txt`,
      '$HOME/../outside/secret.txt',
      'x'.repeat(5000),
    ]
    expect(new Set(spellings).size).toBeGreaterThanOrEqual(60)
    const before = filesOutside()
    for (const path of spellings) {
      for (const answer of [
        await use('file_read', { path }),
        await use('file_edit', { path, old_text: SECRET, new_text: 'stolen' }),
        await use('list_dir', { path, max_depth: 3 }),
        await use('file_write', { path, content: 'planted' }),
      ]) {
        expect(answer, path).not.toContain(SECRET)
        expect(answer, path).not.toMatch(/secret\.txt {2}|root:|PATH=/)
      }
      expect(filesOutside(), path).toBe(before)
    }
    expect(await readFile(`${workspace}-evil/secret.txt`, 'utf8')).toBe(SECRET)
    expect(await readFile(join(root, 'svc.db'), 'utf8')).toBe(SECRET)
  })

  test('is refused with the path as it was given, and without details of the machine', async () => {
    expect(await use('file_read', { path: '/etc/passwd' })).toBe(
      'error: "/etc/passwd" lies outside your workspace; use a path inside it, such as "notes/today.md".',
    )
    await symlink(outside, inWorkspace('dir-link'))
    for (const path of ['dir-link/secret.txt', 'none', 'none/none']) {
      expect(await use('file_read', { path })).not.toContain(root)
    }
  })

  test('a pipe is refused at once instead of waited for', async () => {
    execFileSync('mkfifo', [inWorkspace('pipe')])
    expect(await use('file_read', { path: 'pipe' })).toContain('is not a regular file')
    expect(await use('file_write', { path: 'pipe', content: 'x' })).toContain('is not a regular file')
    expect(await use('list_dir', {})).toBe('pipe  (not a regular file)')
  })

  test('stays impossible while a folder is repeatedly swapped for a link', async () => {
    await mkdir(inWorkspace('folder'))
    await writeFile(inWorkspace('folder/secret.txt'), 'inside')
    await symlink(outside, inWorkspace('link'))
    let swapping = true
    const place = async (name: string) => {
      while (
        !(await rename(inWorkspace(name), inWorkspace('folder')).then(
          () => true,
          () => false,
        ))
      ) {
        // A write created the folder again while it was missing, and may do so during this removal.
        await rm(inWorkspace('folder'), { recursive: true, force: true }).catch(() => {})
      }
    }
    const swapper = (async () => {
      await rename(inWorkspace('folder'), inWorkspace('kept'))
      while (swapping) {
        await place('link')
        await rename(inWorkspace('folder'), inWorkspace('link'))
        await place('kept')
        await rename(inWorkspace('folder'), inWorkspace('kept'))
      }
    })()
    const answers: string[] = []
    for (let round = 0; round < 150; round++) {
      answers.push(
        ...(await Promise.all([
          use('file_read', { path: 'folder/secret.txt' }),
          use('file_write', { path: `folder/planted-${round}.txt`, content: 'x' }),
          use('file_write', { path: `folder/new-${round}/planted.txt`, content: 'x' }),
          use('list_dir', { path: 'folder', limit: 3 }),
        ])),
      )
    }
    swapping = false
    await swapper
    expect(answers.filter(answer => answer.startsWith('Wrote')).length).toBeGreaterThan(0)
    expect(answers.filter(answer => answer.includes('outside your workspace')).length).toBeGreaterThan(0)
    expect(answers.join()).not.toContain(SECRET)
    expect(await readdir(outside)).toEqual(['secret.txt'])
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe(SECRET)
  })

  test('a file that was swapped for a link is replaced, not written through', async () => {
    const target = join(outside, 'secret.txt')
    for (let round = 0; round < 200; round++) {
      const name = inWorkspace(`file-${round}`)
      await writeFile(name, 'old')
      const swap = async () => {
        await symlink(target, `${name}.link`)
        await rename(`${name}.link`, name)
      }
      await Promise.all([use('file_write', { path: `file-${round}`, content: 'planted' }), swap()])
    }
    expect(await readFile(target, 'utf8')).toBe(SECRET)
    expect(await readdir(outside)).toEqual(['secret.txt'])
  })
})
