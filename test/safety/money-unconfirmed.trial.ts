import { describe, expect, it, vi } from 'vitest'
import { CallLimits, type ModelCall, Models } from '#core/models/contract'
import { definePlugin } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import { Store } from '#platform/store/contract'
import type { BudgetStatus } from '#safety/budget/contract'
import { openWindow, presumeSpent } from '#safety/budget/repository'
import { project } from '../cli/project.ts'
import {
  reservations,
  rows,
  status,
  testHostWithBudget,
  tokensCharged,
  totalsHold,
} from '../spec/safety/budget-host.ts'
import { ON_POSTGRES, writeDirectly } from '../support/direct-access.ts'
import { fault, modelServer, RunningSvc, refuse, type Script, type TestHost, text, until } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'

const FILES = {
  'models.yaml': 'prices:\n  openai:scripted: { input: 2, output: 50 }\n',
  'profiles/worker.yaml': 'name: worker\nrole: works\nmax_tokens: 200\n',
  // The budget window survives a restart, and a failed attempt is followed by a long pause.
  '.svc/config.yaml':
    'daemon: { heartbeat: 0.2, budget_usd: 5, budget_persist: true }\nmodel: { retry_delay: 100, retry_cap: 100 }\n',
}
const NOTHING = { usd: 0, tokens: 0 }
/** Time limit for what a process does by itself. */
const PATIENT = { timeout: 60_000 }

/** A project with one agent, whose daemon the test starts. */
async function startProject(script: Script) {
  const server = await modelServer({ script })
  const dir = await project(FILES)
  const options = {
    cwd: dir.path,
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
  }
  await svc(['spawn', 'worker'], options)
  const start = () => new RunningSvc(['start'], options)
  const budget = async () => JSON.parse((await svc(['budget', '--json'], options)).stdout) as BudgetStatus
  return {
    server,
    options,
    start,
    budget,
    async [Symbol.asyncDispose]() {
      await dir[Symbol.asyncDispose]()
      await server.close()
    },
  }
}

describe('a daemon that is killed', () => {
  it('leaves nothing booked for a call that its provider has refused', async () => {
    await using home = await startProject(() => refuse(500, 'out of order'))
    await using daemon = home.start()
    await home.server.request(1)
    await vi.waitUntil(async () => (await home.budget()).reserved.usd === 0, PATIENT)
    await daemon.end('SIGKILL')
    await using next = home.start()
    await home.server.request(2)
    await vi.waitUntil(async () => (await home.budget()).reserved.usd === 0, PATIENT)
    expect(await home.budget()).toMatchObject({ spent: NOTHING, unconfirmed: NOTHING, approximate: NOTHING })
    await next.end('SIGTERM')
  }, 120_000)

  it('leaves what may have been billed as unconfirmed until the window ends', async () => {
    await using home = await startProject(({ n }) => (n === 1 ? fault('hang') : refuse(500, 'out of order')))
    await using daemon = home.start()
    await home.server.request(1)
    const { reserved } = await home.budget()
    expect(reserved.usd).toBe(0.05)
    await daemon.end('SIGKILL')
    await using next = home.start()
    await home.server.request(2)
    await vi.waitUntil(async () => (await home.budget()).reserved.usd === 0, PATIENT)
    // The maximum cost of the call itself, which is less than the configured minimum of a reservation.
    const { spent, unconfirmed, approximate } = await home.budget()
    expect(spent.usd).toBeGreaterThan(0)
    expect(spent.usd).toBeLessThan(reserved.usd)
    expect([unconfirmed, approximate]).toEqual([spent, spent])
    const { stdout } = await svc(['budget'], home.options)
    expect(stdout).toContain(
      ' of that are unconfirmed: booked for calls whose process ended before their cost was known.',
    )
    expect(stdout).toMatch(new RegExp(`^unconfirmed +\\$[\\d.]+ +${spent.tokens.toLocaleString('en-US')} tokens$`, 'm'))
    await svc(['budget', 'reset'], home.options)
    expect(await home.budget()).toMatchObject({ spent: NOTHING, unconfirmed: NOTHING })
    await next.end('SIGTERM')
  }, 120_000)
})

const call = (home: TestHost, more: Partial<ModelCall> = {}) =>
  home.kernel.use(Models).call({
    model: null,
    messages: [{ role: 'user', content: 'x'.repeat(400) }],
    tools: [],
    temperature: 0,
    max_tokens: 200,
    purpose: { agent_id: 'ada', goal_id: null, cycle_num: 1, kind: 'task' },
    signal: new AbortController().signal,
    ...more,
  })
const refused = Object.assign(new TypeError('fetch failed'), {
  cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
})

describe('a budget reservation', () => {
  it.each([
    ['429', 0],
    ['500', 0],
    ['refused connection', 0],
    ['cut answer', 0.1],
  ] as const)('after an attempt that ended with a %s is $%s during the retry pause', async (end, usd) => {
    let isOver = false
    await using home = await testHostWithBudget(
      ({ n }) => (end === 'cut answer' ? (n === 1 ? fault('cleancut') : refuse(500, 'no')) : refuse(Number(end), 'no')),
      {
        config: { daemon: { budget_usd: 5, max_retries: 1 }, model: { retry_delay: 20, retry_cap: 20 } },
        ...(end === 'refused connection' ? { ports: { fetch: () => Promise.reject(refused) } } : {}),
      },
    )
    const calling = call(home)
      .catch(() => {})
      .finally(() => {
        isOver = true
      })
    await until(() => home.logged('Trying again').length === 1)
    expect((await status(home)).reserved.usd).toBe(usd)
    await until(async () => {
      await home.clock.advance(1_000)
      return isOver
    })
    await calling
    if (end !== 'refused connection') expect(home.server.requests).toHaveLength(2)
    expect(await reservations(home)).toEqual([])
    expect(await totalsHold(home)).toBe(true)
  })

  it.skipIf(ON_POSTGRES)('is released later if it could not be released at the end of its call', async () => {
    const stop = new AbortController()
    const stopper = definePlugin({
      name: 'stopper',
      setup: svc =>
        void svc.add(CallLimits, {
          name: 'stopper',
          hold: async () => stop.abort(new Error('the operator left')),
          settle: async () => {},
        }),
    })
    await using home = await testHostWithBudget(() => text('Hello.'), {
      builtins: [stopper],
      config: { daemon: { budget_usd: 5 } },
    })
    await writeDirectly(
      home.root,
      `CREATE TRIGGER kept BEFORE DELETE ON budget_reservations BEGIN SELECT raise(ABORT, 'not now'); END`,
    )
    await call(home, { signal: stop.signal }).catch(() => {})
    expect(await reservations(home)).toHaveLength(1)
    await writeDirectly(home.root, 'DROP TRIGGER kept')
    await home.clock.advance(21_000)
    await until(async () => (await reservations(home)).length === 0)
    expect(await rows(home)).toEqual([])
  })
})

describe('unconfirmed spend', () => {
  /** Makes a call that another daemon presumes lost while it is running. */
  async function callLostByDaemon() {
    let release = () => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const home = await testHostWithBudget(
      async () => {
        await released
        return text('Hello.')
      },
      { builtins: [retention], config: { daemon: { budget_usd: 5 } } },
    )
    home.kernel.heartbeat.start()
    const calling = call(home)
    await home.server.request(1)
    await home.kernel.use(Store).apply([presumeSpent({ daemon: 'another' })])
    const answerCall = async () => {
      release()
      await calling
      await home.clock.advance(21_000)
    }
    return { home, answered: answerCall }
  }

  it('is replaced by the actual cost of its call', async () => {
    const { home: opened, answered } = await callLostByDaemon()
    await using home = opened
    const { spent, unconfirmed, reserved } = await status(home)
    expect({ unconfirmed, reserved }).toEqual({ unconfirmed: spent, reserved: NOTHING })
    expect(spent.usd).toBeGreaterThan(0)
    expect(spent.usd).toBeLessThan(0.1)
    await answered()
    await until(async () => (await status(home)).unconfirmed.usd === 0)
    const { micros, tokens } = tokensCharged(home.server.bill)
    expect(await status(home)).toMatchObject({ spent: { usd: micros / 1e6, tokens }, unconfirmed: NOTHING })
    expect(await totalsHold(home)).toBe(true)
  })

  it('is left unchanged when its window has ended', async () => {
    const { home: opened, answered } = await callLostByDaemon()
    await using home = opened
    await home.kernel.use(Store).apply([openWindow({})])
    await answered()
    await call(home, { purpose: { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' } })
    const [, last] = home.server.bill
    expect(await status(home)).toMatchObject({
      spent: { usd: tokensCharged([last!]).micros / 1e6 },
      unconfirmed: NOTHING,
    })
    expect((await rows(home)).map(row => row.presumed)).toEqual([1, 0])
  })

  it('stays unconfirmed when retention sums up old calls', async () => {
    const { home: opened, answered } = await callLostByDaemon()
    await using home = opened
    const before = await status(home)
    const rule = home.kernel.list(RetentionRules).find(({ name }) => name === 'spend')!
    expect(await rule.piece(home.clock.ms() + 1, 100)).toBe(1)
    expect((await rows(home)).map(row => row.call_id.slice(0, 4))).toEqual(['sum:'])
    expect(await status(home)).toEqual(before)
    await answered()
  })
})
