import { appendFile, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AgentNotFoundError, type AgentRow, Agents } from '#core/agents/contract'
import { definePlugin, type Kernel } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { type ToolCall, Toolkits } from '#tools/toolkits/contract'
import notepad from '#tools/toolkits/notepad/index'
import { openKernel } from '../../../../embed/compose.ts'

let root: string
let kernel: Kernel
let now: number

/** Provides two agents. */
const agents = definePlugin({
  name: 'agents',
  setup(svc) {
    const find = async (ref: string) => {
      const agent_id = ['coder-1', 'tester-1'].find(id => id === ref || id === `${ref}-1`)
      if (!agent_id) throw new AgentNotFoundError({ ref })
      return { agent_id } as AgentRow
    }
    svc.provide(Agents, { find } as Agents)
  },
})

async function open(config = ''): Promise<void> {
  await writeFile(join(root, '.svc/config.yaml'), config)
  const clock = { ...systemPorts().clock, now: () => new Date(now), ms: () => now }
  kernel = await openKernel({
    root,
    roles: ['daemon'],
    builtins: [agents, notepad],
    ports: { clock },
    log: { write: () => {} },
  })
}

beforeEach(async () => {
  now = Date.UTC(2030, 0, 2, 3, 4, 5)
  root = await realpath(await mkdtemp(join(tmpdir(), 'svc-notepad-')))
  await mkdir(join(root, '.svc'))
  await open()
})

afterEach(async () => {
  await kernel.close()
  await rm(root, { recursive: true, force: true })
})

async function use(name: string, args: Record<string, unknown> = {}, agent_id = 'coder-1'): Promise<string> {
  const tool = kernel.points.find(Toolkits, 'notepad')!.tools.find(each => each.name === name)!
  const call: ToolCall = {
    call_id: 'c1',
    agent_id,
    goal_id: null,
    cycle_num: 1,
    signal: new AbortController().signal,
    workspace: join(root, '.svc/workspaces', agent_id),
    idempotency_key: 'k',
    effect: () => {},
  }
  try {
    return String(await tool.execute(tool.parameters.parse(args), call))
  } catch (error) {
    return `error: ${(error as Error).message}`
  }
}

const fileOf = (agent_id: string) => join(root, '.svc/journals', agent_id, 'notepad.md')

test('an entry has its UTC time as a heading, in a file of its agent that only the owner can open', async () => {
  expect(await use('write_notepad', { text: '  The key lies under the mat.\n' })).toMatch(/^Noted\. .* \d+ bytes\.$/)
  now += 1000
  await use('write_notepad', { text: 'Bought a new mat.' })
  expect(await readFile(fileOf('coder-1'), 'utf8')).toBe(
    '## 2030-01-02T03:04:05.000Z\nThe key lies under the mat.\n\n## 2030-01-02T03:04:06.000Z\nBought a new mat.\n',
  )
  expect((await stat(fileOf('coder-1'))).mode & 0o777).toBe(0o600)
  expect((await stat(join(root, '.svc/journals/coder-1'))).mode & 0o777).toBe(0o700)
  expect(await use('read_notepad')).toBe(
    '2030-01-02T03:04:05.000Z\nThe key lies under the mat.\n\n2030-01-02T03:04:06.000Z\nBought a new mat.',
  )
})

describe('reading a notepad', () => {
  test('an empty notepad says so, and a cleared one is empty', async () => {
    expect(await use('read_notepad')).toBe('[The notepad is empty.]')
    await use('write_notepad', { text: 'x' })
    expect(await use('clear_notepad')).toBe('The notepad is empty now.')
    expect(await use('clear_notepad')).toBe('The notepad is empty now.')
    expect(await use('read_notepad')).toBe('[The notepad is empty.]')
  })

  test('the newest entries are shown first, and every older one can be reached', async () => {
    for (let index = 0; index < 50; index++) await use('write_notepad', { text: `entry ${index}` })
    const seen: number[] = []
    for (let offset = 0; ; ) {
      const answer = await use('read_notepad', { offset })
      seen.unshift(...[...answer.matchAll(/^entry (\d+)$/gm)].map(match => Number(match[1])))
      const next = /see them with offset=(\d+)/.exec(answer)
      if (!next) break
      offset = Number(next[1])
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index))
    expect(await use('read_notepad', { limit: 1 })).toMatch(/^\[49 older entries; .*\]\n\n.*\nentry 49$/)
    expect(await use('read_notepad', { offset: 50 })).toContain('has only 50 entries')
  })

  test('an answer is bounded, however long the entries are', async () => {
    for (let index = 0; index < 10; index++) await use('write_notepad', { text: `${index}`.repeat(20_000) })
    const answer = await use('read_notepad')
    expect(answer.length).toBeLessThan(32_000)
    expect(answer).toContain('[9 older entries; see them with offset=1.]')
  })

  test('text without timestamps, and headings in the text, are kept unchanged', async () => {
    await mkdir(join(root, '.svc/journals/coder-1'), { recursive: true })
    await writeFile(fileOf('coder-1'), 'Written long ago.\n## A heading\nmore')
    await use('write_notepad', { text: '## Plan\n- one' })
    expect(await use('read_notepad')).toBe(
      'Written long ago.\n## A heading\nmore\n\n2030-01-02T03:04:05.000Z\n## Plan\n- one',
    )
  })
})

describe('writing to a notepad', () => {
  test('an empty note and one of more than 20,000 characters are rejected', async () => {
    expect(await use('write_notepad', { text: '  ' })).toMatch(/^error/)
    expect(await use('write_notepad', { text: 'x'.repeat(20_001) })).toMatch(/^error/)
    expect(await use('read_notepad')).toBe('[The notepad is empty.]')
  })

  test('a line cut off by a crash is ended before the next entry', async () => {
    await use('write_notepad', { text: 'whole' })
    await appendFile(fileOf('coder-1'), '\n## 2030-01-02T03:04:05.000Z\nto')
    await use('write_notepad', { text: 'next' })
    expect(await use('read_notepad', { limit: 1 })).toMatch(/^\[2 older.*\]\n\n.*Z\nnext$/)
  })

  test('entries written in parallel are all stored, each whole', async () => {
    const texts = Array.from({ length: 50 }, (_, index) => `${index}-${'x'.repeat(2000)}`)
    await Promise.all(texts.map(text => use('write_notepad', { text })))
    const stored = (await readFile(fileOf('coder-1'), 'utf8')).split(/^## .*Z$/m).map(entry => entry.trim())
    expect(stored.filter(Boolean).sort()).toEqual([...texts].sort())
  })

  test('a full notepad says what to do, and keeps what it has', async () => {
    await kernel.close()
    await open('tools: { notepad_max_bytes: 1000 }')
    await use('write_notepad', { text: 'x'.repeat(800) })
    expect(await use('write_notepad', { text: 'y'.repeat(800) })).toContain('read it, clear it, and write down')
    expect(await use('read_notepad')).toContain('xxx')
  })

  test('a symbolic link in place of the file is not followed', async () => {
    await mkdir(join(root, '.svc/journals/coder-1'), { recursive: true })
    await writeFile(join(root, 'outside.md'), 'outside')
    await symlink(join(root, 'outside.md'), fileOf('coder-1'))
    expect(await use('write_notepad', { text: 'x' })).toMatch(/^error/)
    expect(await use('read_notepad')).toMatch(/^error/)
    expect(await readFile(join(root, 'outside.md'), 'utf8')).toBe('outside')
  })
})

describe("other agents' notepads", () => {
  test('can be read only with tools.notepad_shared; an agent can always read its own by its id', async () => {
    await use('write_notepad', { text: 'mine' })
    expect(await use('read_agent_notepad', { agent_id: 'coder-1' }, 'tester-1')).toContain(
      'tools.notepad_shared is off',
    )
    expect(await use('read_agent_notepad', { agent_id: 'coder-1' })).toContain('mine')
    await kernel.close()
    await open('tools: { notepad_shared: true }')
    expect(await use('read_agent_notepad', { agent_id: 'coder-1' }, 'tester-1')).toContain('mine')
    expect(await use('read_agent_notepad', { agent_id: 'coder' }, 'tester-1')).toContain('mine')
    expect(await use('read_agent_notepad', { agent_id: 'tester-1' })).toBe('[The notepad is empty.]')
    expect(await use('read_agent_notepad', { agent_id: 'nobody-1' })).toContain('There is no agent "nobody-1"')
  })

  test('cannot be reached by ids that lead elsewhere, neither to read nor to write', async () => {
    await kernel.close()
    await open('tools: { notepad_shared: true }')
    await mkdir(join(root, 'secret'))
    await writeFile(join(root, 'secret/notepad.md'), 'the secret')
    await writeFile(join(root, '.svc/notepad.md'), 'the secret')
    await writeFile(join(root, '.svc/config.yaml'), 'the secret')
    const tricks = [
      '../../secret',
      '..',
      '.',
      '../',
      'x/../../../secret',
      `${root}/secret`,
      'coder-1/../../../secret',
      '..\\..\\secret',
      '%2e%2e/%2e%2e/secret',
      'a..b',
      '~',
      'x\0',
      'x\n',
      '../config.yaml\0',
      '-rf',
      'x'.repeat(129),
    ]
    for (const agent_id of tricks) {
      expect(await use('read_agent_notepad', { agent_id }), agent_id).toMatch(/^error/)
      expect(await use('write_notepad', { text: 'planted' }, agent_id), agent_id).toContain('is not the id of an agent')
      expect(await use('clear_notepad', {}, agent_id), agent_id).toContain('is not the id of an agent')
    }
    expect(await readFile(join(root, 'secret/notepad.md'), 'utf8')).toBe('the secret')
    expect(await readFile(join(root, '.svc/notepad.md'), 'utf8')).toBe('the secret')
  })
})

test('every tool but write_notepad is idempotent', () => {
  const { tools } = kernel.points.find(Toolkits, 'notepad')!
  expect(tools.filter(tool => !tool.idempotent && !tool.read_only).map(tool => tool.name)).toEqual(['write_notepad'])
})
