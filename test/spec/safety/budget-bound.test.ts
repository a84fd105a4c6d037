import { expect, it, onTestFinished } from 'vitest'
import { inputTokens } from '#core/models/call/spend'
import { ModelError, type ModelProvider, ModelProviders, Models } from '#core/models/contract'
import models from '#core/models/index'
import { definePlugin, z } from '#kernel'
import { keyedRandom } from '#lib/keyed-random'

import { DaemonStarts } from '#platform/daemon/contract'
import { defineEffect, Effects, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { bookSpend } from '#safety/budget/contract'
import budget from '#safety/budget/index'
import { strictModel, type TestHost, tempDir, testHost, turnEventLoop } from '../../support/index.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'
import { totalsHold } from './budget-host.ts'

const SEEDS = trialCount(200, 10)
const PROCESSES = 3
/** Tokens cost one micro-dollar each, so both limits have the same value. */
const MODELS = 'prices:\n  dice:m: { input: 1, output: 1 }\n'
/** Text of every prompt. */
const TEXT = 'x'.repeat(100)
const INPUT = inputTokens({ messages: [{ role: 'user', content: TEXT }], tools: [] })

/** Behaviour of a call, which the provider looks up by its prompt. */
interface Plan {
  output: number
  /** Event loop turns before and after its tokens are charged. */
  before: number
  after: number
  fault: 'none' | 'refused' | 'broken'
}

const plans = new Map<string, Plan>()
let billed = 0

/** A model with planned token use, which reports what it charges. */
const dice: ModelProvider = strictModel({
  name: 'dice',
  availability: async () => ({ available: true, reason: null }),
  async *stream({ messages }, signal) {
    const plan = plans.get(messages[0]!.tool_call_id!)!
    await turnEventLoop(plan.before)
    // A request that the caller cancels is charged for its input.
    if (signal.aborted) billed += INPUT
    signal.throwIfAborted()
    if (plan.fault === 'refused')
      throw Object.assign(new ModelError({ model: 'dice:m', problem: 'no' }), { billed: false })
    billed += INPUT + plan.output
    yield { type: 'usage', usage: { input_tokens: INPUT, output_tokens: plan.output } }
    await turnEventLoop(plan.after)
    if (plan.fault === 'broken') {
      plan.fault = 'none'
      throw new ModelError({ model: 'dice:m', problem: 'it broke off' })
    }
    yield { type: 'done', finish_reason: 'stop' }
  },
})

/** Marks a reservation as left by a dead daemon. */
const orphan = defineEffect({
  name: 'test.orphan',
  mustChange: true,
  schema: z.object({ call_id: z.string() }),
  statements: ({ call_id }) => [
    { sql: "UPDATE budget_reservations SET owner = 'gone', by_daemon = 1 WHERE call_id = ?", params: [call_id] },
  ],
})
const provider = definePlugin({
  name: 'dice',
  setup(svc) {
    svc.add(ModelProviders, dice)
    svc.add(Effects, orphan.kind)
  },
})

interface Setting {
  name: string
  mode: 'reserve' | 'record_only'
  limit: number
  /** Amount reserved for a call in addition to its own bound. */
  estimate: number
  /** Maximum number of tokens by which an answer exceeds its limit. */
  surprise: number
}

const SETTINGS: Setting[] = [
  { name: 'estimates that are large enough', mode: 'reserve', limit: 20_000, estimate: 1_000, surprise: 0 },
  { name: 'no estimate but the bound of each call', mode: 'reserve', limit: 12_000, estimate: 0, surprise: 0 },
  { name: 'answers longer than they may be', mode: 'reserve', limit: 9_000, estimate: 0, surprise: 400 },
  { name: 'costs that are recorded only', mode: 'record_only', limit: 8_000, estimate: 0, surprise: 0 },
]

it.each(SETTINGS)(
  `concurrent callers in several processes never exceed the bound, with $name, over ${SEEDS} seeds`,
  async ({ mode, limit, estimate, surprise }) => {
    const dir = await tempDir()
    onTestFinished(() => dir[Symbol.asyncDispose]())
    const usd = limit / 1e6
    const config = {
      daemon: {
        budget_usd: usd,
        budget_tokens: limit,
        budget_mode: mode,
        max_retries: 1,
        budget_reserve_usd_pursuit: estimate / 1e6,
        budget_reserve_tokens_pursuit: estimate,
      },
      model: { retry_delay: 0, retry_cap: 0, breaker_failures: 0 },
    }
    const processes: TestHost[] = []
    for (let n = 0; n < PROCESSES; n++) {
      const home = await testHost({
        root: dir.path,
        builtins: [store, models, budget, provider],
        roles: ['server'],
        clock: 'system',
        config,
        files: { 'models.yaml': MODELS },
        seed: 1_000 + n,
      })
      onTestFinished(() => home.close())
      processes.push(home)
    }
    const [first] = processes as [TestHost]
    const row = () =>
      first.kernel.use(Store).get<Record<'spent' | 'tokens' | 'held' | 'held_tokens' | 'before', number>>(
        `SELECT spent_micros AS spent, spent_tokens AS tokens,
           (SELECT coalesce(sum(cost_micros), 0) FROM spend WHERE budget_window = budget.budget_window - 1) AS before,
           (SELECT coalesce(sum(cost_micros), 0) FROM budget_reservations) AS held,
           (SELECT coalesce(sum(tokens), 0) FROM budget_reservations) AS held_tokens FROM budget`,
      )

    let refused = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = keyedRandom(seed)
      const randomUpTo = (upTo: number, ...key: (string | number)[]) =>
        Math.floor(random.number('trial', ...key) * upTo)
      const callers = 8 + randomUpTo(25, 'callers')
      await first.kernel.invoke('budget.reset')
      billed = 0
      let worst = 0
      let crashed = 0
      const within = async () => {
        // Charges that happen during the query are not in its row yet.
        const charged = billed
        const { spent, tokens, held, held_tokens } = (await row())!
        const bound = limit + callers * (mode === 'reserve' ? surprise : worst)
        const at = `seed ${seed}: ${spent} spent and ${held} held, of ${limit}`
        expect(spent + held, at).toBeLessThanOrEqual(bound)
        expect(tokens + held_tokens, at).toBeLessThanOrEqual(bound)
        if (mode === 'reserve' && surprise === 0) expect(spent + held, at).toBeGreaterThanOrEqual(charged)
      }

      const caller = async (who: number) => {
        for (let n = 0; n < 1 + randomUpTo(4, who, 'calls'); n++) {
          const id = `${seed}/${who}/${n}`
          const d = (upTo: number, what: string) => randomUpTo(upTo, who, n, what)
          const max_tokens = 1 + d(600, 'max_tokens')
          const longer = surprise > 0 && d(4, 'longer') === 0 ? d(surprise, 'surprise') : 0
          const output = longer ? max_tokens + longer : d(max_tokens + 1, 'output')
          const fault = (['none', 'none', 'none', 'refused', 'broken'] as const)[d(5, 'fault')]!
          plans.set(id, { output, before: d(6, 'before'), after: d(6, 'after'), fault })
          worst = Math.max(worst, 2 * (INPUT + output))
          const { kernel } = processes[d(PROCESSES, 'process')]!
          const abort = new AbortController()
          if (d(5, 'cancel') === 0) void turnEventLoop(d(12, 'when')).then(() => abort.abort(new Error('cancelled')))
          await turnEventLoop(d(4, 'begin'))
          const spend = await kernel
            .use(Models)
            .call({
              model: 'dice:m',
              messages: [{ role: 'user', content: TEXT, tool_call_id: id }],
              tools: [],
              temperature: 0,
              max_tokens,
              signal: abort.signal,
              purpose: { agent_id: `agent-${who}`, goal_id: null, cycle_num: n, kind: 'goal_pursuit' },
            })
            .then(
              answer => answer.spend,
              error => {
                if (error.code === 'budget_exhausted') refused++
                return undefined
              },
            )
          await within()
          if (!spend) continue
          await turnEventLoop(d(4, 'book'))
          if (mode === 'reserve' && d(10, 'crash') === 0) {
            // Its process dies before booking, and the next daemon finds the reservation.
            crashed++
            expect(await kernel.use(Store).apply([orphan({ call_id: spend.call_id })])).toBe(true)
            continue
          }
          const booking = { ...spend, agent_id: `agent-${who}`, goal_id: null, kind: 'goal_pursuit' }
          await kernel.use(Store).apply([bookSpend(booking), ...(d(6, 'twice') ? [] : [bookSpend(booking)])])
          await within()
        }
      }
      await Promise.all(Array.from({ length: callers }, (_, who) => caller(who)))
      await turnEventLoop(20)
      await within()
      expect(await totalsHold(first), `seed ${seed}`).toBe(true)
      const spent = (await row())!.spent
      for (const { begin } of first.kernel.list(DaemonStarts)) await begin()
      const { held, held_tokens, before } = (await row())!
      expect([held, held_tokens], `seed ${seed}: nothing is held when all are idle`).toEqual([0, 0])
      if (crashed === 0) expect(spent, `seed ${seed}: what is spent is the bill`).toBe(billed)
      else expect(before, `seed ${seed}`).toBeGreaterThanOrEqual(billed - 2 * crashed * surprise)
    }
    expect(refused, 'the limits are in the way').toBeGreaterThan(SEEDS)
  },
  120_000,
)
