import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { ModelsOverview } from '#core/models/overview'
import type { DoctorReport } from '#interfaces/doctor/contract'
import type { ApprovalSummary } from '#safety/approvals/contract'
import approvals from '#safety/approvals/index'
import type { BudgetStatus } from '#safety/budget/contract'
import { FAST, project } from '../cli/project.ts'
import { asksForGoal, detail, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { eventsOf, status, testHostWithBudget } from '../spec/safety/budget-host.ts'
import {
  modelServer,
  RunningSvc,
  runHeartbeat,
  type Script,
  type TestHost,
  text,
  toolCall,
  until,
} from '../support/index.ts'
import type { ModelRequestBody } from '../support/model/model-server.ts'
import { svc } from '../support/vitest/warm.ts'

const WORKER = 'name: worker\nrole: does what the script says\nmax_tokens: 200\n'
const finish = toolCall('finish_goal', { summary: 'done', evidence: [] })

/** A model that finishes goals at once and answers tasks. */
const busyModel = (): Script => {
  let goals = 0
  const goal = () =>
    text(JSON.stringify({ goal: `Write piece number ${++goals} of the ${'abcdefghij'[goals % 10]} book` }))
  const pursues = ({ tools = [] }: ModelRequestBody) => tools.some(({ function: { name } }) => name === 'finish_goal')
  return request => (asksForGoal(request) ? goal() : pursues(request.body) ? finish : text('Hello.'))
}

/** A project whose agents use a model server on this machine, as through a proxy or a tunnel. */
async function local(config: string, files: Readonly<Record<string, string>> = {}) {
  const server = await modelServer({ script: busyModel() })
  const dir = await project({ '.svc/config.yaml': config, 'profiles/worker.yaml': WORKER, ...files })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  const run = (...words: string[]) => svc(words, options)
  return {
    server,
    dir,
    options,
    run,
    json: async <T>(...words: string[]) => JSON.parse((await run(...words, '--json')).stdout) as T,
    async [Symbol.asyncDispose]() {
      await dir[Symbol.asyncDispose]()
      await server.close()
    },
  }
}

/** Time limit for what a process does by itself. */
const PATIENT = { timeout: 60_000 }

type Local = Awaited<ReturnType<typeof local>>

const PRICE = 'prices:\n  openai:scripted: { input: 1000, output: 1000 }\n'
const ENTRY = 'prices: { "openai:scripted": { input: <USD>, output: <USD> } }'
const doctorOf = async (home: Local, name: string) =>
  (await home.json<{ checks: DoctorReport[] }>('doctor')).checks.find(check => check.name === name)

describe('a price in models.yaml', () => {
  it('applies to a server on this machine too: a dollar limit prevents the call', async () => {
    await using home = await local('daemon:\n  budget_usd: 0.01\n', { 'models.yaml': PRICE })
    await home.run('spawn', 'worker')
    const { code, stderr } = await home.run('run', 'worker', 'say hello')
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/The budget is too tight for another model call: \$0\.00 of \$0\.01/)
    expect(home.server.requests).toEqual([])
    expect((await home.run('models')).stdout).toMatch(/^openai:scripted +1000 +– +1000 /m)
    expect(await doctorOf(home, 'prices')).toMatchObject({ level: 'ok', message: 'openai:scripted costs 1000, 1000' })
  })

  it('makes a limit below the reservation of one call tight, which it is not while the model is free', async () => {
    await using home = await local('daemon:\n  budget_usd: 0.01\n')
    expect(await home.json<BudgetStatus>('budget')).toMatchObject({
      tight: false,
      message: '$0.00 of $0.01 spent.',
    })
    await writeFile(join(home.dir.path, 'models.yaml'), PRICE)
    expect(await home.json<BudgetStatus>('budget')).toMatchObject({
      tight: true,
      message: expect.stringMatching(/^Tight: /),
    })
  })

  it('is charged for calls of the simulated model, so that limits can be tried without a key', async () => {
    const files = {
      'models.yaml': 'prices:\n  sim:rules-1: { input: 100, output: 100 }\n',
      'profiles/worker.yaml': WORKER,
    }
    await using dir = await project({ ...FAST, ...files })
    const options = { cwd: dir.path }
    await svc(['spawn', 'worker'], options)
    await svc(['run', 'worker', 'Say hello.'], options)
    const budget = JSON.parse((await svc(['budget', '--json'], options)).stdout) as BudgetStatus
    expect(budget.spent.usd).toBeGreaterThan(0)
    expect((await svc(['models'], options)).stdout).toMatch(/^sim:rules-1 +100 .* models\.yaml$/m)
  })

  it('is charged for calls to a server on this machine', async () => {
    await using home = await local('daemon:\n  budget_usd: 100\n', { 'models.yaml': PRICE })
    await home.run('spawn', 'worker')
    await home.run('run', 'worker', 'say hello')
    const tokens = home.server.bill.reduce((sum, entry) => sum + entry.input_tokens + entry.output_tokens, 0)
    expect(tokens).toBeGreaterThan(0)
    const { spent } = await home.json<BudgetStatus>('budget')
    expect(spent).toEqual({ usd: tokens / 1000, tokens })
  })
})

describe('a model server on this machine without a price', () => {
  it('is reported as free by svc models, doctor and start, with a warning about an unreachable dollar limit', async () => {
    await using home = await local('daemon:\n  budget_usd: 5\n')
    const because = `${new URL(home.server.url).host} is on this machine`
    expect((await home.run('models')).stdout).toContain(`In use: openai:scripted, which is free: ${because}`)
    expect(await doctorOf(home, 'prices')).toEqual({
      name: 'prices',
      level: 'warn',
      message: `daemon.budget_usd is $5.00, but no model in use has a price, so the limit is never reached: openai:scripted is free (${because})`,
      remedy: expect.stringContaining(ENTRY),
    })
    await using daemon = new RunningSvc(['start'], home.options)
    await daemon.waitForOutput(/^Logs: /m)
    expect(daemon.stdout).toContain(`openai:scripted (free: ${because}, and models.yaml has no price for it)`)
    expect(daemon.stdout).toMatch(/^Budget: +daemon\.budget_usd is \$5\.00, but no model in use has a price/m)
    await vi.waitUntil(async () => (await home.run('logs')).stdout.includes('the limit is never reached'), PATIENT)
  })

  it('causes no warning when no dollar limit is set', async () => {
    await using home = await local('')
    expect(await doctorOf(home, 'prices')).toMatchObject({
      level: 'ok',
      message: `openai:scripted is free (${new URL(home.server.url).host} is on this machine)`,
    })
  })
})

/** The provider charges, but the price of the model is unknown. */
const CHARGES = 'model:\n  providers:\n    openai: { free: false }\n'

describe('a model of unknown price', () => {
  it('is shown with an unknown price, and its spend is not estimated', async () => {
    await using home = await local(CHARGES)
    await home.run('spawn', 'worker')
    expect((await home.run('run', 'worker', 'say hello')).code).toBe(0)
    const { spent, unpriced_tokens, message } = await home.json<BudgetStatus>('budget')
    expect(spent).toEqual({ usd: 0, tokens: unpriced_tokens })
    expect(message).toContain(`${unpriced_tokens.toLocaleString('en')} tokens went to models whose price is unknown`)
    const { in_use, unknown_price } = await home.json<ModelsOverview>('models')
    expect(in_use).toMatchObject([{ model: 'openai:scripted', priced: 'unknown' }])
    expect(unknown_price).toBeNull()
    expect((await home.run('models')).stdout).toContain('In use: openai:scripted, whose price is unknown:')
  })

  it('is refused under a dollar limit with the entry to add, and called once that is written', async () => {
    await using home = await local(`daemon:\n  heartbeat: 0.2\n  budget_usd: 100\n${CHARGES}`)
    await home.run('spawn', 'worker')
    const refused = await home.run('run', 'worker', 'say hello')
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('The price of openai:scripted is unknown, so its calls are refused')
    expect(refused.stderr).toContain(ENTRY)
    expect((await home.run('models')).stdout).toMatch(
      /whose price is unknown: its calls are refused while there is a dollar limit/,
    )
    expect(await doctorOf(home, 'prices')).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('the price of openai:scripted is unknown: calls are refused'),
      remedy: expect.stringContaining(ENTRY),
    })
    await using daemon = new RunningSvc(['start'], home.options)
    await daemon.waitForOutput(/^Budget: .*the price of openai:scripted is unknown.*models\.yaml/m)
    await vi.waitUntil(
      async () => (await home.run('why', 'worker')).stdout.includes('The price of openai:scripted is unknown'),
      PATIENT,
    )
    expect(home.server.requests).toEqual([])
    await writeFile(join(home.dir.path, 'models.yaml'), PRICE.replaceAll('1000', '1'))
    await home.server.request(1)
  })

  /** Starts a test host that charges for a model of unknown price. */
  const asking = (options: { config?: object; builtins?: never[] } = {}) =>
    testHostWithModel(busyModel(), {
      builtins: [approvals],
      config: {
        daemon: { budget_usd: 5, budget_unknown_price: 'approve' },
        approval: { enabled: true },
        model: { providers: { openai: { free: false } } },
        ...options.config,
      },
    })
  const queue = ({ kernel }: TestHost) => kernel.invoke('approvals.queue', {}) as Promise<ApprovalSummary[]>

  it('needs one approval for all agents when the configuration says so', async () => {
    await using home = await asking()
    const [first, second] = [await spawn(home), await spawn(home)]
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await runHeartbeat(home)
    await runHeartbeat(home)
    const waiting = await queue(home)
    expect(waiting).toMatchObject([
      { tool_name: 'model:call', arguments: { model: 'openai:scripted' }, status: 'pending' },
    ])
    const [{ approval_id }] = waiting as [ApprovalSummary]
    for (const id of [first, second]) {
      expect(await detail(home, id)).toMatchObject({
        status: 'waiting',
        waiting_for: expect.stringContaining(`wait for a decision on ${approval_id} (svc approve`),
      })
    }
    expect(home.server.requests).toEqual([])
    await home.kernel.invoke('approvals.decide', { approval_id, decision: 'approve' })
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(new Set((await eventsOf(home, 'model_called')).map(({ agent_id }) => agent_id))).toEqual(
      new Set([first, second]),
    )
    expect(await queue(home)).toEqual([])
    expect(await eventsOf(home, 'approval_requested')).toHaveLength(1)
    // The decision is listed as a rule and can be revoked.
    const rules = (await home.kernel.invoke('approvals.rules', {})) as { rule_id: string; tool_name: string }[]
    expect(rules).toMatchObject([{ tool_name: 'model:call', agent_id: null, until: null, uses: null }])
  })

  it('stays refused after a denial, and requests no approval while approvals are off', async () => {
    await using home = await asking()
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    const [{ approval_id }] = (await queue(home)) as [ApprovalSummary]
    await home.kernel.invoke('approvals.decide', { approval_id, decision: 'deny', reason: 'too dear' })
    await runHeartbeat(home)
    expect((await detail(home, id)).waiting_for).toMatch(
      /its calls were denied by .* \(too dear\); add the price to models\.yaml/,
    )
    expect(home.server.requests).toEqual([])

    await using off = await asking({ config: { approval: { enabled: false } } })
    const other = await spawn(off)
    off.kernel.heartbeat.start()
    await until(off, 'cycle_end')
    expect((await detail(off, other)).waiting_for).toContain('approvals are off (approval.enabled: false)')
    expect([await queue(off), off.server.requests]).toEqual([[], []])
  })

  it("cannot evade a profile's max_cost_usd either", async () => {
    await using home = await testHostWithBudget(busyModel(), {
      files: { 'models.yaml': '', 'profiles/miser.yaml': `${WORKER.replace('worker', 'miser')}max_cost_usd: 1\n` },
    })
    const id = await spawn(home, 'miser')
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await runHeartbeat(home)
    expect((await detail(home, id)).waiting_for).toContain("refused while its profile's max_cost_usd is set")
    expect((await eventsOf(home, 'model_called')).map(({ data }) => (data as { kind: string }).kind)).toEqual([
      'goal_generation',
    ])
  })
})

describe('the price catalogue', () => {
  it('lists current models of each paid provider with price, limits, source and date', async () => {
    await using home = await local('')
    const { prices } = await home.json<ModelsOverview>('models')
    for (const provider of ['openai', 'anthropic', 'groq', 'fireworks', 'openrouter']) {
      const own = prices.filter(({ model }) => model.startsWith(`${provider}:`))
      expect(own.length, provider).toBeGreaterThanOrEqual(3)
      expect(
        own.filter(({ context_window, max_output_tokens }) => context_window && max_output_tokens).length,
      ).toBeGreaterThan(1)
    }
    for (const { model, source, as_of } of prices) {
      expect(source, model).toMatch(/^https:\/\//)
      expect(as_of, model).toMatch(/^\d{4}-\d{2}(-\d{2})?$/)
    }
    expect(prices.find(({ model }) => model === 'anthropic:claude-haiku-5-5')).toMatchObject({
      input: 0.1,
      cached_input: 0.01,
      output: 0.5,
      context_window: 1_000_000,
      max_output_tokens: 128_000,
      long_prompt: { above: 100_000, input: 0.5, output: 2.5 },
    })
  })

  it('lists prices older than 90 days with --stale, and lets models.yaml override its entries', async () => {
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    const models = `prices:
  office:old: { input: 1, output: 2, as_of: ${day(92)}, source: https://office.example/prices }
  office:new: { input: 1, output: 2, as_of: ${day(88)} }
  office:undated: { input: 1, output: 2 }
models:
  office:old: { context_window: 32768, max_output_tokens: 8192 }
  openai:gpt-5.4: { context_window: 100000 }
`
    await using home = await local('', { 'models.yaml': models })
    const { stdout, code } = await home.run('models', '--stale')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\d+ prices older than 90 days; update them in models\.yaml:$/m)
    expect(stdout).toMatch(
      /^office:old +1 +– +2 +32,768 +8,192 +\d{4}-\d{2}-\d{2} +https:\/\/office\.example\/prices$/m,
    )
    expect(stdout).toMatch(/^fireworks:accounts\/fireworks\/models\/deepseek-v4-pro /m)
    expect(stdout).not.toMatch(/office:new|office:undated/)
    const { prices } = await home.json<ModelsOverview>('models')
    const of = (name: string) => prices.find(({ model }) => model === name)
    expect(of('openai:gpt-5.4')).toMatchObject({
      context_window: 100_000,
      max_output_tokens: 128_000,
      configured: false,
    })
    expect(of('office:undated')).toMatchObject({ configured: true, stale: false, as_of: null })
  })
})

describe('a budget that cannot cover one more call', () => {
  it('is reported in one event with the figures, and the agent shows what would free it', async () => {
    await using home = await testHostWithBudget(busyModel(), { config: { daemon: { budget_usd: 0.04 } } })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await spawn(home)
    for (let beats = 0; beats < 4; beats++) await runHeartbeat(home)
    const tight = await eventsOf(home, 'budget_tight')
    expect(tight.map(({ data }) => data)).toEqual([
      {
        spent_usd: 0,
        spent_tokens: 0,
        reserved_usd: 0,
        reserved_tokens: 0,
        reserved_calls: 0,
        limit_usd: 0.04,
        limit_tokens: null,
        needed_usd: 0.05,
        needed_tokens: expect.any(Number),
      },
    ])
    expect((await detail(home, id)).next).toMatchObject({
      reason: expect.stringContaining(
        'raise daemon.budget_usd to $0.05 or more, or lower daemon.budget_reserve_usd_generation',
      ),
    })
    expect(await status(home)).toMatchObject({ tight: true })
  })

  it('is reported again only after such a call has fitted in between', async () => {
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const script: Script = async request => {
      if (request.n === 1) await held
      return busyModel()(request, request.n)
    }
    await using home = await testHostWithBudget(script, { config: { daemon: { budget_usd: 0.12 } } })
    const call = (kind: 'task' | 'other') => callOf(home, kind)
    const first = call('task')
    await home.server.request(1)
    const refusal = await call('task').catch(error => error)
    expect(refusal.message).toMatch(
      /may cost \$0\.10; wait for the running calls to end \(\$0\.10 are reserved for 1\), raise daemon\.budget_usd to \$0\.20 or more/,
    )
    await call('task').catch(() => {})
    expect(await eventsOf(home, 'budget_tight')).toHaveLength(1)
    release()
    await first
    // The caller books the spend.
    await home.clock.advance(21_000)
    await until(async () => (await eventsOf(home, 'model_called')).length === 1)
    await call('other')
    expect(await eventsOf(home, 'budget_tight')).toHaveLength(1)
    const again = [call('task').catch(() => {}), call('task').catch(() => {})]
    await Promise.all(again)
    expect((await eventsOf(home, 'budget_tight')).length).toBe(2)
  })
})

async function callOf({ kernel }: TestHost, kind: 'task' | 'other') {
  const { Models } = await import('#core/models/contract')
  return kernel.use(Models).call({
    model: null,
    messages: [{ role: 'user' as const, content: 'x' }],
    tools: [],
    temperature: 0,
    max_tokens: 10,
    purpose: { agent_id: 'ada', goal_id: null, cycle_num: 1, kind },
    signal: new AbortController().signal,
  })
}
