import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type CallPurpose, Models } from '#core/models/contract'
import { Daemon } from '#platform/daemon/contract'
import daemon from '#platform/daemon/index'
import { Store } from '#platform/store/contract'
import { bookSpend } from '#safety/budget/contract'
import { type TempDir, type TestHost, type TestHostOptions, tempDir, text, until } from '../../support/index.ts'
import { spawn } from '../core/models/model-host.ts'
import { eventsOf, reservations, rows, status, testHostWithBudget } from './budget-host.ts'

const PURPOSE: CallPurpose = { agent_id: 'ada', goal_id: null, cycle_num: 1, kind: 'other' }
const call = (home: Pick<TestHost, 'kernel'>) =>
  home.kernel.use(Models).call({
    model: null,
    messages: [{ role: 'user', content: 'x'.repeat(400) }],
    tools: [],
    temperature: 0,
    max_tokens: 100,
    purpose: PURPOSE,
    signal: new AbortController().signal,
  })

let seed = 1
/** Opens a process of the project; with the role `daemon` it becomes the daemon. */
const open = (dir: TempDir, options: TestHostOptions = {}, script = () => text('Hello.')) =>
  testHostWithBudget(script, {
    root: dir.path,
    builtins: [daemon],
    roles: ['server'],
    clock: 'system',
    seed: seed++,
    ...options,
    config: { model: { retry_delay: 0 }, ...(options.config as object) },
  })

const PERSIST = { config: { daemon: { budget_usd: 1, budget_persist: true } } }
const file = (dir: TempDir) => join(dir.path, '.svc/budget.json')
const savedBudget = async (dir: TempDir) =>
  JSON.parse(await readFile(file(dir), 'utf8')) as { spent_usd: number; spent_tokens: number }

describe('the budget window', () => {
  it('starts with the daemon and with no other process', async () => {
    await using dir = await tempDir()
    await using server = await open(dir)
    await call(server)
    const { spent } = await status(server)
    expect(spent.tokens).toBeGreaterThan(0)
    {
      await using other = await open(dir, { roles: ['cli'] })
      expect((await status(other)).spent).toEqual(spent)
      await using more = await open(dir)
      expect((await status(more)).spent).toEqual(spent)
    }
    await server.kernel.use(Daemon).start()
    expect((await status(server)).spent).toEqual({ usd: 0, tokens: 0 })
    await call(server)
    // A second daemon is refused and changes nothing.
    await expect(open(dir, { roles: ['daemon'] })).rejects.toMatchObject({ code: 'daemon_running' })
    expect((await status(server)).spent).toEqual(spent)
    expect(await rows(server)).toHaveLength(2)
  })

  it('continues over restarts with budget_persist, and budget.json contains it', async () => {
    await using dir = await tempDir()
    let spent = { usd: 0, tokens: 0 }
    for (const round of [1, 2, 3]) {
      await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
      expect((await status(home)).spent).toEqual(spent)
      await call(home)
      spent = (await status(home)).spent
      expect(await rows(home)).toHaveLength(round)
    }
    expect(await savedBudget(dir)).toEqual({ spent_usd: spent.usd, spent_tokens: spent.tokens })
    expect(((await stat(file(dir))).mode & 0o777).toString(8)).toBe('600')
  })

  it('ends by a reset from any process, and the daemon uses the new one', async () => {
    await using dir = await tempDir()
    await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
    await call(home)
    {
      await using other = await open(dir, { ...PERSIST, roles: ['cli'] })
      await other.kernel.invoke('budget.reset')
      expect(await savedBudget(dir)).toEqual({ spent_usd: 0, spent_tokens: 0 })
    }
    expect((await status(home)).spent).toEqual({ usd: 0, tokens: 0 })
    expect((await eventsOf(home, 'budget_reset')).map(event => event.data)).toEqual([
      { spent_usd: expect.any(Number), spent_tokens: expect.any(Number) },
    ])
    expect((await rows(home)).map(row => row.budget_window)).toEqual([1])
  })

  it('keeps reservations of running calls over a reset, and counts these calls afterwards', async () => {
    await using dir = await tempDir()
    let answer = () => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    await using home = await open(dir, { config: { daemon: { budget_usd: 1 } } }, (async () => {
      await answered
      return text('Hello.')
    }) as never)
    const calling = call(home)
    await home.server.request(1)
    expect((await home.kernel.invoke('budget.reset')) as object).toMatchObject({ reserved: { usd: 0.05 } })
    answer()
    await calling
    expect((await status(home)).spent.tokens).toBeGreaterThan(0)
    expect(await reservations(home)).toEqual([])
  })
})

describe('budget.json', () => {
  it('is read once, into a database without bookings, and not again', async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/budget.json': '{"spent_usd": 0.75, "spent_tokens": 1234}' })
    {
      await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
      expect((await status(home)).spent).toEqual({ usd: 0.75, tokens: 1234 })
    }
    await dir.write({ '.svc/budget.json': '{"spent_usd": 0.1, "spent_tokens": 1}' })
    await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
    expect((await status(home)).spent).toEqual({ usd: 0.75, tokens: 1234 })
  })

  it('restores the amount after the database was lost', async () => {
    await using dir = await tempDir()
    let spent: unknown
    {
      await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
      await call(home)
      spent = (await status(home)).spent
    }
    for (const end of ['', '-wal', '-shm']) await rm(join(dir.path, `.svc/svc.db${end}`), { force: true })
    await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
    expect((await status(home)).spent).toEqual(spent)
  })

  it('is neither read nor written without budget_persist', async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/budget.json': 'torn' })
    {
      await using home = await open(dir, { config: { daemon: { budget_usd: 1 } }, roles: ['daemon'] })
      await call(home)
      expect((await status(home)).problem).toBeNull()
    }
    expect(await readFile(file(dir), 'utf8')).toBe('torn')
  })

  const BAD: [string, string][] = [
    ['torn', '{"spent_usd": 0.7'],
    ['empty', ''],
    ['negative', '{"spent_usd": -1, "spent_tokens": 0}'],
    ['NaN', '{"spent_usd": NaN, "spent_tokens": 0}'],
    ['null', '{"spent_usd": null, "spent_tokens": 0}'],
    ['endless', '{"spent_usd": 1e999, "spent_tokens": 0}'],
    ['a list', '[]'],
  ]
  it.each(BAD)('that is %s stops all spending, with a message, until it is repaired', async (_, content) => {
    await using dir = await tempDir()
    await dir.write({ '.svc/budget.json': content })
    await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
    const guarded = until(home, 'cycle_end', ({ result }) => result === 'guarded')
    await spawn(home)
    await guarded
    await expect(call(home)).rejects.toMatchObject({ code: 'budget_unreadable', status: 503 })
    expect(home.server.requests).toEqual([])
    const { exceeded, message, problem } = await status(home)
    expect({ exceeded, message }).toEqual({ exceeded: true, message: problem })
    expect(problem).toMatch(
      /^The amount spent so far is unknown: \.svc\/budget\.json (is empty|does not contain).* svc budget reset$/,
    )
    expect(home.logged(String(problem))).not.toEqual([])
    expect(await readFile(file(dir), 'utf8')).toBe(content)

    await dir.write({ '.svc/budget.json': '{"spent_usd": 0.5, "spent_tokens": 10}' })
    expect(await status(home)).toMatchObject({ problem: null, exceeded: false, spent: { usd: 0.5 } })
    await call(home)
  })

  it('that cannot be read is not taken for a missing one; a reset counts from 0 and keeps a copy', async () => {
    await using dir = await tempDir()
    await mkdir(file(dir), { recursive: true })
    await using home = await open(dir, { ...PERSIST, roles: ['daemon'] })
    await expect(call(home)).rejects.toThrow(/budget\.json cannot be read \(EISDIR/)
    await home.kernel.invoke('budget.reset')
    expect(await status(home)).toMatchObject({ problem: null, exceeded: false, spent: { usd: 0 } })
    await call(home)
    expect((await stat(`${file(dir)}.corrupt`)).isDirectory()).toBe(true)
  })

  it('that is invalid counts as 0 with a warning if guards fail open, and a copy is kept', async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/budget.json': 'torn' })
    const config = { daemon: { ...PERSIST.config.daemon, guards_fail_closed: false } }
    await using home = await open(dir, { config, roles: ['daemon'] })
    await call(home)
    expect(home.logged('counting from 0')).toHaveLength(1)
    expect(await readFile(`${file(dir)}.corrupt`, 'utf8')).toBe('torn')
    await until(async () => (await savedBudget(dir).catch(() => undefined))?.spent_tokens)
  })
})

describe('a process that dies during a call', () => {
  /** Creates a reservation as a dead process leaves it. */
  const leave = ({ kernel }: TestHost, call_id: string, { by_daemon = 1, expires_in = 300_000 } = {}) =>
    kernel.use(Store).apply([
      {
        effect: 'budget.hold',
        payload: {
          call_id,
          owner: 'a process that is gone',
          by_daemon: by_daemon === 1,
          agent_id: 'ada',
          root_agent_id: 'ada',
          goal_id: null,
          kind: 'goal_pursuit',
          model: 'openai:scripted',
          priced: 'catalogue',
          amount: { micros: 100_000, tokens: 500 },
          limits: { micros: 0, tokens: 0 },
          bound: 100_000,
          agents: [],
          expires_at: kernel.ports.clock.ms() + expires_in,
        },
      },
    ])

  it('leaves its reservation to the next daemon, which books it as spent in its window', async () => {
    await using dir = await tempDir()
    await using server = await open(dir, PERSIST)
    await leave(server, 'call-1')
    expect(await status(server)).toMatchObject({ reserved: { usd: 0.1, tokens: 500 }, spent: { usd: 0 } })
    await server.kernel.use(Daemon).start()
    expect(await status(server)).toMatchObject({
      reserved: { usd: 0, tokens: 0 },
      spent: { usd: 0.1, tokens: 500 },
      approximate: { usd: 0.1, tokens: 500 },
      unconfirmed: { usd: 0.1, tokens: 500 },
    })
    // One amount is named once.
    const { message } = await status(server)
    expect(message).toMatch(/ spent\. \$0\.10 of that are unconfirmed: booked for calls whose process ended before/)
    expect(await rows(server)).toMatchObject([{ call_id: 'call-1', presumed: 1, estimated: 1 }])
    expect(server.logged('was booked as spent')).toHaveLength(1)
  })

  it('leaves a reservation that any process books once it has expired', async () => {
    await using dir = await tempDir()
    await using server = await open(dir, { config: { daemon: { budget_usd: 0.12 } } })
    await leave(server, 'call-1', { by_daemon: 0, expires_in: 60_000 })
    await expect(call(server)).rejects.toMatchObject({ code: 'budget_exhausted' })
    await leave(server, 'call-2', { by_daemon: 0, expires_in: -1 })
    expect((await status(server)).spent.usd).toBe(0.1)
    expect((await reservations(server)).map(row => row.call_id)).toEqual(['call-1'])
  })

  it('has its presumed spending replaced when its own booking arrives', async () => {
    await using dir = await tempDir()
    await using server = await open(dir, PERSIST)
    await leave(server, 'call-1', { expires_in: -1 })
    expect((await status(server)).spent).toEqual({ usd: 0.1, tokens: 500 })
    const booking = bookSpend({
      call_id: 'call-1',
      agent_id: 'ada',
      goal_id: null,
      kind: 'goal_pursuit',
      model: 'openai:scripted',
      cost_micros: 700,
      input_tokens: 30,
      output_tokens: 4,
      priced: 'catalogue',
      estimated: false,
      attempts: 1,
      duration_ms: 5,
    })
    for (const _ of [1, 2]) await server.kernel.use(Store).apply([booking])
    expect((await status(server)).spent).toEqual({ usd: 0.0007, tokens: 34 })
    expect(await rows(server)).toMatchObject([{ call_id: 'call-1', presumed: 0, estimated: 0 }])
  })
})
