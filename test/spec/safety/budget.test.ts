import { describe, expect, it } from 'vitest'
import { type CallPurpose, type ModelCall, Models } from '#core/models/contract'
import { definePlugin, Operations } from '#kernel'
import {
  fault,
  refuse,
  runHeartbeat,
  type TestHost,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../../support/index.ts'
import { barrier } from '../../support/model/model-server.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../core/models/model-host.ts'
import {
  budgetOf,
  eventsOf,
  MAX_TOKENS,
  PRICE,
  reservations,
  rows,
  status,
  testHostWithBudget,
  tokensCharged,
  totalsHold,
} from './budget-host.ts'

const goal = (n: number) => text(JSON.stringify({ goal: `Write piece number ${n}, all ${'abcdefgh'[n]}${n} of it` }))
const finish = toolCall('finish_goal', { summary: 'done', evidence: [] })

/** Returns a model with numbered goals, each finished at once. */
function busyModel() {
  let goals = 0
  return (request: { prompt: string }) => (asksForGoal(request) ? goal(++goals % 8) : finish)
}

const results = (home: TestHost) => {
  const seen: string[] = []
  home.kernel.hooks.on('cycle_end', ({ result }) => void seen.push(result))
  return seen
}

const PURPOSE: CallPurpose = { agent_id: 'ada', goal_id: null, cycle_num: 1, kind: 'task' }
const call = (home: TestHost, more: Partial<ModelCall> = {}) =>
  home.kernel.use(Models).call({
    model: null,
    messages: [{ role: 'user', content: 'x '.repeat(96) }],
    tools: [],
    temperature: 0,
    max_tokens: MAX_TOKENS,
    purpose: PURPOSE,
    signal: new AbortController().signal,
    ...more,
  })

/** Cost of 100 input tokens and the maximum output tokens. */
const BOUND = (100 * PRICE.input + MAX_TOKENS * PRICE.output) / 1e6

describe('the spend ledger', () => {
  it("matches the server's bill, including retries", async () => {
    await using home = await testHostWithBudget(busyModel(), { config: { model: { retry_delay: 0, retry_cap: 0 } } })
    home.server.enqueue(fault('500'), fault('429long'), goal(0), fault('429'), fault('500'), finish)
    await spawn(home)
    const ended = results(home)
    home.kernel.heartbeat.start()
    await until(async () => {
      // Let the pauses before retries pass.
      await home.clock.advance(1)
      return ended.includes('completed')
    })
    const spent = await rows(home)
    expect(spent.slice(0, 2).map(row => [row.kind, row.attempts])).toEqual([
      ['goal_generation', 3],
      ['goal_pursuit', 3],
    ])
    const { micros, tokens } = tokensCharged(home.server.bill)
    expect((await status(home)).spent.tokens).toBe(tokens)
    expect(spent.reduce((sum, row) => sum + row.cost_micros, 0)).toBe(micros)
    expect(await totalsHold(home)).toBe(true)
  })

  it('counts each call once, however often it is booked', async () => {
    await using home = await testHostWithModel(busyModel(), { config: { daemon: { budget_usd: 1 } } })
    await call(home, { purpose: { ...PURPOSE, kind: 'other' } })
    const [row] = await rows(home)
    const { bookSpend } = await import('#safety/budget/contract')
    const { Store } = await import('#platform/store/contract')
    const again = bookSpend({ ...row!, goal_id: null, estimated: false, duration_ms: 1, cost_micros: 5_000_000 })
    await home.kernel.use(Store).apply([again])
    expect(await rows(home)).toEqual([row])
    expect(await totalsHold(home)).toBe(true)
  })

  it('includes calls that stalled or were cancelled, and nothing stays reserved', async () => {
    await using home = await testHostWithBudget(() => fault('stall'), {
      config: { daemon: { budget_usd: 5, max_retries: 0 }, model: { idle_timeout: 1 } },
    })
    const stalled = call(home).catch(error => error)
    const abort = new AbortController()
    const cancelled = call(home, { signal: abort.signal }).catch(error => error)
    await until(() => home.server.bill.filter(entry => entry.output_tokens > 0).length === 2)
    expect((await status(home)).reserved.usd).toBe(0.2)
    abort.abort(new Error('the operator left'))
    expect((await cancelled).message).toContain('the operator left')
    await home.clock.advance(1_100)
    expect((await stalled).code).toBe('model_error')
    const spent = await rows(home)
    expect(spent.map(row => [row.estimated, row.input_tokens])).toEqual([
      [1, 100],
      [1, 100],
    ])
    expect(await reservations(home)).toEqual([])
    expect((await status(home)).approximate.tokens).toBe((await status(home)).spent.tokens)
    expect((await status(home)).message).toContain(
      'are estimated from the length of requests and answers, because the provider reported no usage.',
    )
  })

  it('books an answer that no caller booked after a delay, and one of the kind `other` at once', async () => {
    await using home = await testHostWithBudget(() => text('Hello.'), { config: { daemon: { budget_usd: 5 } } })
    await call(home, { purpose: { ...PURPOSE, kind: 'other' } })
    expect((await rows(home)).map(row => row.kind)).toEqual(['other'])
    await call(home)
    expect(await rows(home)).toHaveLength(1)
    expect(await reservations(home)).toHaveLength(1)
    await home.clock.advance(21_000)
    await until(async () => (await rows(home)).length === 2)
    expect(await reservations(home)).toEqual([])
    expect((await status(home)).spent.tokens).toBe(tokensCharged(home.server.bill).tokens)
  })

  it('includes the cost of a goal that could not be saved', async () => {
    const spoiler = definePlugin({
      name: 'spoiler',
      setup: svc =>
        svc.tap('goal_generation', { name: 'spoil', stage: 10 }, (cycle: never) => {
          ;(cycle as { effects: unknown[] }).effects.push({ effect: 'no.such', payload: {} })
        }),
    })
    await using home = await testHostWithBudget(busyModel(), { builtins: [spoiler] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    expect(await goalsOf(home, id)).toEqual([])
    expect((await rows(home)).map(row => row.kind)).toEqual(['goal_generation'])
  })

  it.each([
    ['a goal', { objective: 'Water all the plants', cost_usd: 0.25, tokens: 10 }, [250_000, 10], 1],
    ['nothing it can use', { objective: 7, cost_usd: 0.25, tokens: 10 } as never, [250_000, 10], 0],
    ['a negative cost', { objective: 'Water all the plants', cost_usd: -3, tokens: -1 }, undefined, 0],
    [
      'an endless cost',
      { objective: 'Water all the plants', cost_usd: Number.POSITIVE_INFINITY, tokens: 3 },
      [0, 3],
      0,
    ],
  ])('includes the valid part of what a goal strategy reports, when it returns %s', async (_, answer, spent, goals) => {
    const strategy = definePlugin({
      name: 'plants',
      setup: svc => void svc.goalStrategy({ generateGoal: () => answer }),
    })
    await using home = await testHostWithBudget(busyModel(), { builtins: [strategy] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    const [row] = await rows(home)
    expect(row && [row.cost_micros, row.input_tokens]).toEqual(spent)
    expect(await goalsOf(home, id)).toHaveLength(goals)
  })
})

describe('a budget limit', () => {
  it('blocks goals of every agent when it is reached, is reported once, and does not stop the process', async () => {
    await using home = await testHostWithBudget(busyModel(), {
      config: { daemon: { budget_usd: 0.01, budget_mode: 'record_only' } },
    })
    const [first, second] = [await spawn(home), await spawn(home)]
    let warnings = 0
    home.kernel.hooks.on('budget_exceeded', () => void warnings++)
    home.kernel.heartbeat.start()
    for (let beats = 0; warnings === 0 && beats < 20; beats++) await runHeartbeat(home)
    const asked = home.server.requests.length
    const ended = results(home)
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(ended).toHaveLength(4)
    expect(new Set(ended)).toEqual(new Set(['guarded']))
    expect(home.server.requests).toHaveLength(asked)
    expect(await status(home)).toMatchObject({
      exceeded: true,
      remaining: { usd: 0, tokens: null },
      limits: { usd: 0.01, tokens: null },
      message: expect.stringMatching(/^Exceeded: \$0\.\d+ of \$0\.01 spent; no model is called/),
    })
    expect(await budgetOf(home).isExceeded()).toBe(true)
    expect(await eventsOf(home, 'budget_exceeded')).toHaveLength(1)
    for (const id of [first, second]) expect((await detail(home, id)).status).not.toBe('dead')
    await expect(call(home)).rejects.toMatchObject({ code: 'budget_exhausted', status: 409 })

    await home.kernel.invoke('budget.reset')
    expect(await status(home)).toMatchObject({ exceeded: false, spent: { usd: 0, tokens: 0 } })
    await runHeartbeat(home)
    expect(home.server.requests.length).toBeGreaterThan(asked)
    for (let beats = 0; warnings === 1 && beats < 20; beats++) await runHeartbeat(home)
    expect(await eventsOf(home, 'budget_exceeded')).toHaveLength(2)
    expect(await eventsOf(home, 'budget_reset')).toHaveLength(1)
  })

  it('in tokens works like one in dollars, also for a free model', async () => {
    await using home = await testHostWithModel(busyModel(), {
      config: { daemon: { budget_tokens: 1_000, budget_usd: 0.01 } },
      files: { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_tokens: 10\n' },
    })
    await call(home, { purpose: { ...PURPOSE, kind: 'other' }, max_tokens: 700 })
    expect(await status(home)).toMatchObject({ spent: { usd: 0 }, exceeded: false, limits: { tokens: 1_000 } })
    const refused = await call(home, { max_tokens: 890 }).catch(error => error)
    expect(refused).toMatchObject({
      code: 'budget_exhausted',
      message: expect.stringMatching(
        /^The budget is too tight for another model call: \d+ of 1,000 tokens are spent or reserved, and this one may cost 990 tokens; raise/,
      ),
    })
    expect(home.server.requests).toHaveLength(1)
    expect(await status(home)).toMatchObject({ tight: true, message: expect.stringContaining('may cost (990 tokens)') })
    await call(home, { max_tokens: 10 })
    expect(await status(home)).toMatchObject({ tight: false, message: expect.stringMatching(/ tokens spent\.$/) })
  })

  it('that leaves too little for a call makes the cycle guarded, and the agent shows the reason', async () => {
    await using home = await testHostWithBudget(busyModel(), { config: { daemon: { budget_usd: 0.04 } } })
    const id = await spawn(home)
    const ended = results(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await runHeartbeat(home)
    expect(ended).toEqual(['guarded', 'guarded'])
    expect(home.server.requests).toEqual([])
    expect(home.logged('too tight')).toHaveLength(1)
    const why =
      'The budget is too tight for another model call: $0.00 of $0.04 are spent or reserved, and this one may cost $0.05'
    expect((await detail(home, id)).waiting_for).toContain(why)
    const { render } = home.kernel.list(Operations).find(({ name }) => name === 'agents.why')!
    expect(render!(await home.kernel.invoke('agents.why', { id }))).toMatch(
      /, or lower daemon\.budget_reserve_usd_generation\. Next run: \d{4}-/,
    )
    expect(await status(home)).toMatchObject({
      tight: true,
      exceeded: false,
      message: 'Tight: $0.00 of $0.04 spent; the $0.04 left are less than a call may cost ($0.05). Raise a limit.',
    })
    await home.kernel.config.set('daemon.budget_usd', 1)
    expect((await status(home)).message).toMatch(/\(\$0\.05\)\. Restart to apply the changed limit \(svc restart\)\.$/)
    expect(await eventsOf(home, 'budget_exceeded')).toEqual([])
  })

  it('for three calls lets exactly three of twelve concurrent calls pass', async () => {
    // The configured estimate of 0.05 is reserved for each call, more than its bound.
    await using home = await testHostWithBudget(() => barrier(3, text('Hello.')), {
      config: { daemon: { budget_usd: 0.16 } },
    })
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () =>
        call(home, { purpose: { ...PURPOSE, kind: 'other' } }).then(
          () => 'answered',
          error => error.code,
        ),
      ),
    )
    expect(outcomes.filter(outcome => outcome === 'answered')).toHaveLength(3)
    expect(outcomes.filter(outcome => outcome === 'budget_exhausted')).toHaveLength(9)
    expect(home.server.requests).toHaveLength(3)
    expect(await reservations(home)).toEqual([])
    expect(await totalsHold(home)).toBe(true)
  })

  it('reserves the larger of estimate and bound, and again for a retry after a billed attempt', async () => {
    await using home = await testHostWithBudget(() => fault('stall', 'x'), {
      config: {
        daemon: { budget_usd: 5, budget_reserve_usd_pursuit: 0.001, max_retries: 1 },
        model: { idle_timeout: 1, retry_delay: 0 },
      },
    })
    const calling = call(home).catch(error => error)
    await home.server.request(1)
    expect((await status(home)).reserved).toEqual({ usd: BOUND, tokens: 500 })
    await until(() => home.server.bill.length === 1)
    await home.clock.advance(1_100)
    await home.server.request(2)
    expect((await status(home)).reserved.usd).toBe(2 * BOUND)
    await until(() => home.server.bill.length === 2)
    await home.clock.advance(1_100)
    expect(await calling).toMatchObject({ spend: { attempts: 2 } })
    expect((await status(home)).reserved.usd).toBe(0)
  })

  it('rejects a retry that it has no budget for, and books the attempts before', async () => {
    await using home = await testHostWithBudget(() => refuse(500, 'x'), {
      config: {
        daemon: { budget_usd: BOUND + 0.001, budget_reserve_usd_pursuit: 0.001 },
        model: { idle_timeout: 1, retry_delay: 0 },
      },
    })
    home.server.enqueue(fault('stall', 'x'))
    const calling = call(home).catch(error => error)
    await until(() => home.server.bill[0]?.output_tokens === 1)
    await home.clock.advance(1_100)
    expect(await calling).toMatchObject({ code: 'budget_exhausted' })
    expect(home.server.requests).toHaveLength(1)
    expect((await rows(home)).map(row => row.attempts)).toEqual([1])
    expect(await reservations(home)).toEqual([])
  })

  it('that is not set causes no reservation', async () => {
    await using home = await testHostWithBudget(() => barrier(2, text('Hello.')))
    const calls = [call(home), call(home)]
    await home.server.request(1)
    expect(await reservations(home)).toEqual([])
    await home.server.request(2)
    await Promise.all(calls)
    expect(await rows(home)).toEqual([])
  })

  it('in the mode record_only reserves nothing, and is exceeded only by calls that already run', async () => {
    await using home = await testHostWithBudget(() => barrier(4, text('Hello.')), {
      config: { daemon: { budget_usd: 0.0001, budget_mode: 'record_only' } },
    })
    const calls = Array.from({ length: 4 }, () => call(home, { purpose: { ...PURPOSE, kind: 'other' } }))
    await home.server.request(3)
    expect(await reservations(home)).toEqual([])
    await Promise.all(calls)
    expect((await rows(home)).length).toBe(4)
    await expect(call(home)).rejects.toMatchObject({ code: 'budget_exhausted' })
  })
})

describe("an agent's max_cost_usd", () => {
  it('stops its pursuit when its spending reaches the limit, shows the reason and keeps the goal active', async () => {
    await using home = await testHostWithBudget(
      request => (asksForGoal(request) ? goal(1) : toolCall('list_dir', { path: `./${request.n}` })),
      {
        files: {
          'profiles/miser.yaml': `name: miser\nrole: saves\nmax_tokens: ${MAX_TOKENS}\nmax_steps: 50\nmax_cost_usd: 0.008\n`,
        },
      },
    )
    const id = await spawn(home, 'miser')
    const ended = results(home)
    home.kernel.heartbeat.start()
    await until(() => ended.includes('guarded'))
    const pursuit = (await rows(home)).filter(row => row.kind === 'goal_pursuit')
    const costs = pursuit.map(row => row.cost_micros)
    const sum = costs.reduce((total, cost) => total + cost, 0)
    expect(sum).toBeGreaterThanOrEqual(8_000)
    expect(sum - costs.at(-1)!).toBeLessThan(8_000)
    const why = expect.stringMatching(
      /has spent \$0\.0\d+ on its goals, and its profile's max_cost_usd is \$0\.008; raise/,
    )
    expect(await detail(home, id)).toMatchObject({ status: 'waiting', waiting_for: why })
    expect((await goalsOf(home, id))[0]?.status).toBe('active')
    const asked = home.server.requests.length
    await runHeartbeat(home)
    expect(home.server.requests).toHaveLength(asked)

    await home.write({ 'profiles/miser.yaml': 'name: miser\nrole: saves\nmax_cost_usd: 10\n' })
    home.server.enqueue(finish)
    const done = until(home, 'goal_completed')
    await runHeartbeat(home)
    await done
    await waitUntilIdle(home)
    expect((await detail(home, id)).status).not.toBe('waiting')
  })
})

describe('the budget status', () => {
  it('shows `unlimited` first without limits', async () => {
    await using home = await testHostWithModel(busyModel())
    expect(await status(home)).toEqual({
      spent: { usd: 0, tokens: 0 },
      reserved: { usd: 0, tokens: 0 },
      remaining: { usd: null, tokens: null },
      limits: { usd: null, tokens: null },
      mode: 'reserve',
      exceeded: false,
      tight: false,
      unlimited: true,
      problem: null,
      window_began_at: null,
      message: 'Unlimited: $0.00 and 0 tokens spent.',
      approximate: { usd: 0, tokens: 0 },
      unconfirmed: { usd: 0, tokens: 0 },
      unpriced_tokens: 0,
    })
  })

  it('subtracts reservations from the remaining budget', async () => {
    await using home = await testHostWithBudget(() => barrier(2), {
      config: { daemon: { budget_usd: 1, budget_tokens: 5_000 } },
    })
    const calls = [call(home)]
    await home.server.request(1)
    expect(await status(home)).toMatchObject({
      reserved: { usd: 0.1, tokens: 500 },
      remaining: { usd: 0.9, tokens: 4_500 },
      message: '$0.00 of $1.00 and 0 of 5,000 tokens spent.',
      exceeded: false,
      unlimited: false,
    })
    calls.push(call(home))
    await Promise.all(calls)
  })

  it('shows the number of tokens without a known price, and estimates no cost for them', async () => {
    await using home = await testHostWithBudget(() => text('Hello.'), {
      files: { 'models.yaml': '' },
    })
    await call(home, { purpose: { ...PURPOSE, kind: 'other' } })
    const { approximate, spent, unpriced_tokens, message } = await status(home)
    expect({ approximate, spent }).toEqual({ approximate: { usd: 0, tokens: 0 }, spent: { usd: 0, tokens: 50 } })
    expect(unpriced_tokens).toBe(50)
    expect(message).toBe(
      'Unlimited: $0.00 and 50 tokens spent. 50 tokens went to models whose price is unknown: their cost is not counted.',
    )
  })
})

describe('the budget configuration', () => {
  it.each([
    ['SVC_BUDGET_USD', 'abc'],
    ['SVC_BUDGET_USD', '-1'],
    ['SVC_BUDGET_USD', '1e400'],
    ['SVC_BUDGET_TOKENS', '1.5'],
    ['SVC_BUDGET_TOKENS', '-5'],
  ])('refuses to start with %s=%s and names the variable', async (name, value) => {
    await expect(testHostWithModel(busyModel(), { env: { [name]: value } })).rejects.toThrow(
      `environment variable ${name}`,
    )
  })

  it.each([
    'budget_usd: -1',
    'budget_tokens: 0.5',
    'budget_mode: later',
    'budget_reserve_usd_pursuit: -0.1',
    'budget_reserve_tokens_generation: .nan',
    'budget_persist: 3',
  ])('rejects %s and names the line', async line => {
    await expect(testHostWithModel(busyModel(), { config: `daemon:\n  ${line}\n` })).rejects.toThrow(
      `config.yaml:2: daemon.${line.split(':')[0]}`,
    )
  })

  it('needs a restart for each of its keys', async () => {
    await using home = await testHostWithModel(busyModel(), { env: { SVC_BUDGET_USD: '2.5', SVC_BUDGET_TOKENS: '77' } })
    const keys = home.kernel.config.keys().filter(({ path }) => path.startsWith('daemon.budget_'))
    expect(keys).toHaveLength(9)
    expect(new Set(keys.map(({ reload }) => reload))).toEqual(new Set(['restart_required']))
    expect((await status(home)).limits).toEqual({ usd: 2.5, tokens: 77 })
  })
})
