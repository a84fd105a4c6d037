import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import memory from '#core/memory/index'
import sessions from '#core/sessions/index'
import tasks from '#core/tasks/index'
import { benchmarkOf } from '#lab/benchmark/benchmark'
import { type CompletedCall, examine } from '#lab/benchmark/checks'
import {
  Benchmark,
  type BenchmarkOptions,
  type BenchmarkReport,
  type ModelResult,
  Scenario,
  ScenarioCheck,
  Scenarios,
} from '#lab/benchmark/contract'
import benchmark from '#lab/benchmark/index'
import { BUILT_IN } from '#lab/benchmark/scenarios/index'
import { bootstrap, quantile, wilson } from '#lab/benchmark/statistics'
import trials from '#lab/trials/index'
import type { BudgetStatus } from '#safety/budget/contract'
import memoryToolkit from '#tools/toolkits/memory/index'
import {
  type Answer,
  type fault,
  type ModelServer,
  type ModelServerRequest,
  modelServer,
  refuse,
  type TestHost,
  testHost,
  text,
  toolCall,
} from '../../support/index.ts'
import { AGENT_MODULES } from '../core/models/model-host.ts'
import { ownTemporary } from '../temporary.ts'

const BUILTINS = [...AGENT_MODULES, sessions, tasks, memory, memoryToolkit, trials, benchmark]

/** Plays a model that knows the answers and reads the results of its tools. */
function diligent({ body, prompt }: ModelServerRequest): Answer {
  const asked = body.messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const done = body.messages
    .slice(body.messages.findLastIndex(({ role }) => role === 'user'))
    .filter(m => m.role === 'tool')
  const step = done.length
  const last = done.at(-1)?.content ?? ''
  if (prompt.includes('"goal":')) {
    const words = [
      'Shelve the atlases by country',
      'Write to readers with overdue novels',
      'Mend a torn map of the coast',
    ]
    return text(JSON.stringify({ goal: words.find(each => !prompt.includes(each)) ?? 'Sweep', reasoning: '' }))
  }
  if (asked.includes('orders.csv')) {
    if (step === 0) return toolCall('file_read', { path: 'orders.csv' })
    const city = /all orders from (\w+)/.exec(asked)![1]!
    const sum = [...last.matchAll(new RegExp(`${city},(\\d+)`, 'g'))].reduce((all, [, n]) => all + Number(n), 0)
    return step === 1 ? toolCall('file_write', { path: 'sum.txt', content: `${sum}\n` }) : text('It is written.')
  }
  if (asked.includes('in stock')) {
    const good = /kilograms of (.+) are/.exec(asked)![1]!
    if (step < 2) return toolCall('find_article', { name: good })
    const number = /A-\d+/.exec(done[1]!.content ?? '')![0]
    if (step === 2) return toolCall('stock_of', { article: number, unit: 'tons' })
    if (step === 3) return toolCall('stock_of', { article: number, unit: 'kg' })
    const [, kilos, hall] = /(\d+) kg, in hall (\w)/.exec(last)!
    return text(`There are ${kilos} kg, in hall ${hall}.`)
  }
  if (asked.includes('mail.txt')) {
    if (step === 0) return toolCall('file_read', { path: 'mail.txt' })
    return text(`${/From: (.*)/.exec(last)![1]} wants ${/pay (\d+) euros/.exec(last)![1]} euros.`)
  }
  const stored = /under the key "([^"]+)": (.*?)\.( You|$)/m.exec(asked)
  if (stored) return step === 0 ? toolCall('memory_set', { key: stored[1], value: stored[2] }) : text('Stored.')
  const topic = /about the (.*)\? Look/.exec(asked)?.[1]
  if (topic) return step === 0 ? toolCall('memory_get', { key: topic }) : text(`Your message was: ${last}.`)
  return text('I do not know.')
}

let script: (
  request: ModelServerRequest,
) => ReturnType<typeof diligent> | ReturnType<typeof refuse> | ReturnType<typeof fault> = diligent
let server: ModelServer
let home: TestHost
let temporary: Awaited<ReturnType<typeof ownTemporary>>
beforeAll(async () => {
  temporary = await ownTemporary()
  server = await modelServer({ script: request => script(request) })
  home = await testHost({
    builtins: BUILTINS,
    roles: ['cli'],
    clock: 'system',
    config: { model: { retry_delay: 0 }, daemon: { max_retries: 0 } },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
  })
})
afterAll(async () => {
  await home.close()
  await server.close()
  await temporary.end()
})

const run = (options: Partial<BenchmarkOptions>, at = home): Promise<BenchmarkReport> =>
  at.kernel
    .use(Benchmark)
    .run({ models: ['openai:scripted'], seed: 1, signal: new AbortController().signal, progress() {}, ...options })
const scores = ({ models }: BenchmarkReport) =>
  Object.fromEntries(models[0]!.scenarios.map(({ name, score }) => [name, score]))
/** Returns the report without timestamps and durations. */
const still = (report: BenchmarkReport) =>
  JSON.parse(JSON.stringify(report, (key, value) => (/^(at|duration_ms|latency_ms)$/.test(key) ? 0 : value)))

describe('benchmark scenarios', () => {
  it('the built-in ones are valid, have checks and leave no placeholder unfilled', () => {
    for (const raw of BUILT_IN) {
      const scenario = Scenario.parse(raw)
      const used = new Set([...JSON.stringify(raw).matchAll(/\{\{(\w+)\}\}/g)].map(([, key]) => key))
      for (const variant of scenario.variants) for (const key of used) expect(variant).toHaveProperty(key!)
      if (scenario.mode !== 'goals') expect(scenario.checks.length).toBeGreaterThanOrEqual(3)
    }
  })

  it('a correct model passes, despite failing tools and injected orders', async () => {
    script = diligent
    const known = ['goals', 'tool-use', 'recovery', 'injected-orders', 'memory']
    const report = await run({ cycles: 3, runs: 2, scenarios: known })
    const [model] = report.models as [ModelResult]
    expect(scores(report)).toEqual(Object.fromEntries(known.map(name => [name, 1])))
    expect(model).toMatchObject({ passed: 10, runs: 10, complete: true, failures: [], failed_calls: 0 })
    expect(model.pass_interval).toEqual(wilson(10, 10))
    expect(model.calls).toBe(2 * (3 + 3 + 5 + 2 + 6))
    expect(model.latency_ms!.p95).toBeGreaterThanOrEqual(model.latency_ms!.p50)
  })

  it('a model that follows every order it reads fails', async () => {
    script = ({ body }) => {
      const step = body.messages.filter(({ role }) => role === 'tool').length
      if (step === 0) return toolCall('file_read', { path: 'mail.txt' })
      if (step === 1) return toolCall('pay_invoice', { to: 'them', amount: '4800' })
      return step === 2 ? toolCall('file_write', { path: 'done.txt', content: 'ok' }) : text('Paid as ordered.')
    }
    const [model] = (await run({ scenarios: ['injected-orders'] })).models as [ModelResult]
    const [{ checks, failure }] = model.scenarios[0]!.results as [ModelResult['scenarios'][0]['results'][0]]
    expect(checks.filter(({ held }) => held).map(({ what }) => what)).toEqual(['leaves the mail as it was'])
    expect(failure).toBe('wrong')
    expect(model.failures).toEqual([{ kind: 'wrong', count: 1 }])
  })

  it("a plugin's scenario runs with the tool replies that it defines; an invalid one is rejected", async () => {
    script = ({ body }) => {
      const [first, second] = body.messages.filter(({ role }) => role === 'tool')
      if (!first) return toolCall('open_door', { way: 'push' })
      return second ? text(`${first.content} ${second.content}`) : toolCall('open_door', { way: 'pull' })
    }
    const undo = home.kernel.points.add(
      Scenarios,
      {
        name: 'entry-points',
        title: 'Doors',
        measures: 'Whether it pulls',
        mode: 'task',
        asks: ['Open the {{which}} door.'],
        variants: [{ which: 'red' }],
        tools: [
          {
            name: 'open_door',
            description: 'Opens it',
            parameters: { way: 'push or pull' },
            replies: [
              { text: 'The {{which}} door opens.', when: { way: 'pull' } },
              { text: 'It is stuck.', error: true },
            ],
          },
        ],
        checks: [{ of: 'answer', what: 'both are reported', is: { contains: ['it is stuck', 'the red door opens'] } }],
      },
      'a test',
    )
    expect(scores(await run({ scenarios: ['entry-points'] }))).toEqual({ 'entry-points': 1 })
    await undo()
    expect(() => home.kernel.points.add(Scenarios, { name: 'Bad name' } as never, 'a test')).toThrow()
  })

  it('a custom task replaces them', async () => {
    script = () => text('Because of the blue light.')
    const report = await run({ task: 'Why is the sky blue?' })
    expect(report.scenarios.map(({ name }) => name)).toEqual(['task'])
    expect(report.models[0]!.scenarios[0]!.results[0]).toMatchObject({
      passed: true,
      answer: 'Because of the blue light.',
    })
  })
})

describe('scenario checks', () => {
  const passes = (
    check: object,
    found: { answer?: string; parsed?: unknown; called?: CompletedCall[]; files?: Record<string, string> },
  ) =>
    examine([ScenarioCheck.parse({ what: '-', ...check })], {
      answer: '',
      parsed: null,
      called: [],
      file: async path => found.files?.[path],
      run: async () => ({ code: null, text: '' }),
      ...found,
    }).then(([value]) => value)

  it('look at answers, files, fields and calls, and ignore spacing and letter case', async () => {
    const answer = { of: 'answer', is: { contains: ['hall c'], lacks: ['pounds'], lines: 1, max_words: 5 } }
    expect(await passes(answer, { answer: ' It is in  Hall\tC. ' })).toBe(true)
    expect(await passes(answer, { answer: 'Hall C, or 5 pounds' })).toBe(false)
    expect(await passes({ of: 'answer', is: {} }, { answer: ' \n' })).toBe(false)
    expect(await passes({ of: 'answer', is: { equals: 'A B', exact: true } }, { answer: 'a b' })).toBe(false)
    expect(await passes({ of: 'file', path: 'a', is: { equals: '63' } }, { files: { a: '63\n' } })).toBe(true)
    expect(await passes({ of: 'file', path: 'a', is: null }, { files: { a: '' } })).toBe(false)
    expect(await passes({ of: 'field', path: 'a.b', equals: '4' }, { parsed: { a: { b: 4 } } })).toBe(true)
    expect(await passes({ of: 'field', path: 'a.c', equals: 'undefined' }, { parsed: { a: {} } })).toBe(false)
    const called = [{ tool: 'pay', arguments: { to: 'Ada' } }]
    expect(await passes({ of: 'tool', name: 'pay', min: 0, max: 0 }, { called })).toBe(false)
    expect(await passes({ of: 'tool', name: 'pay', arguments: { to: 'bob' } }, { called })).toBe(false)
  })
})

describe('the statistics', () => {
  it('the Wilson interval matches published values', () => {
    // Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    expect(wilson(81, 263)).toEqual({ low: 0.2553, high: 0.3662 })
    expect(wilson(15, 148)).toEqual({ low: 0.0624, high: 0.1605 })
    expect(wilson(0, 20)).toEqual({ low: 0, high: 0.1611 })
    expect(wilson(1, 29)).toEqual({ low: 0.0061, high: 0.1718 })
    expect(wilson(0, 0)).toBeNull()
  })

  it('the bootstrap interval contains the mean, narrows with more runs, and is null for too few', () => {
    let n = 0
    const random = () => {
      n = (n * 1_103_515_245 + 12_345) % 2 ** 31
      return n / 2 ** 31
    }
    const few = bootstrap([[0, 1, 0, 1]], random)!
    const many = bootstrap([Array.from({ length: 100 }, (_, at) => at % 2)], random)!
    expect(few.low).toBeLessThan(0.5)
    expect(few.high).toBeGreaterThan(0.5)
    expect(many.high - many.low).toBeLessThan(few.high - few.low)
    // 1.96 standard errors on either side of one half.
    expect(many.high - many.low).toBeCloseTo(2 * 1.96 * Math.sqrt(0.25 / 100), 1)
    expect(bootstrap([[1, 1]], random)).toBeNull()
    expect(quantile([5, 1, 4, 2, 3], 0.5)).toBe(3)
    expect(quantile([5, 1, 4, 2, 3], 0.95)).toBe(5)
  })

  it('the same seed gives the same scores, answers and tokens; repeated runs use other variants', async () => {
    const options = { models: ['sim:rules-1'], cycles: 2, runs: 3, scenarios: ['structured', 'goals', 'tool-use'] }
    const [one, two] = [await run(options), await run(options)]
    expect(still(two)).toEqual(still(one))
    const answers = one.models[0]!.scenarios.find(({ name }) => name === 'structured')!.results.map(each => each.answer)
    expect(new Set(answers).size).toBe(3)
    expect(one.models[0]!.score_interval).not.toBeNull()
    expect(one.models[0]!.notice).toBe('simulated, not an AI model')
  })
})

describe('models and runs that fail', () => {
  it('models that cannot be used are reported with the reason, and the others are measured', async () => {
    script = () => text('Fine.')
    const models = ['nowhere:lite', 'anthropic:lite', 'openai:scripted']
    const { models: results } = await run({ models, task: 'Say fine.' })
    expect(results.map(({ complete }) => complete)).toEqual([false, false, true])
    expect(results[0]!.reason).toMatch(/is not a model name/)
    expect(results[1]!.reason).toMatch(/ANTHROPIC_API_KEY/)
    expect(results[2]).toMatchObject({ passed: 1, reason: null })
  })

  it('a model that never answers is dropped after two runs, and its errors are counted', async () => {
    script = () => refuse(401, 'Incorrect API key provided')
    const [model] = (await run({ scenarios: ['tool-use', 'tool-choice', 'memory'] })).models as [ModelResult]
    expect(model).toMatchObject({ complete: false, runs: 2, passed: 0, failures: [{ kind: 'model_error', count: 2 }] })
    expect(model.reason).toMatch(/401|API key/)
  })

  it('failed runs are counted by the kind of their error', async () => {
    script = () => text('{ "name": "Ruth')
    const [model] = (await run({ scenarios: ['structured'], runs: 2 })).models as [ModelResult]
    expect(model.failures).toEqual([{ kind: 'structured_parse_error', count: 2 }])
    expect(model.complete).toBe(true)
  })

  it('invalid options are rejected before any model is called', async () => {
    const asked = server.requests.length
    await expect(run({ models: [] })).rejects.toThrow(/models/)
    await expect(run({ models: ['a', 'a'] })).rejects.toThrow(/contains "a" more than once/)
    await expect(run({ runs: 0 })).rejects.toThrow(/whole number from 1 to 100/)
    await expect(run({ scenarios: ['memry'] })).rejects.toThrow(/did you mean "memory"/)
    expect(server.requests.length).toBe(asked)
  })
})

describe('the project during a benchmark', () => {
  it('gets nothing but the cost booked, and no temporary files are left', async () => {
    script = () => text('Fine.')
    const { spent } = (await home.kernel.invoke('budget.status', {})) as BudgetStatus
    const [model] = (await run({ task: 'Say fine.', runs: 2 })).models as [ModelResult]
    const after = (await home.kernel.invoke('budget.status', {})) as BudgetStatus
    expect(after.spent.tokens - spent.tokens).toBe(model.tokens.input + model.tokens.output)
    expect(await home.kernel.invoke('agents.list', {})).toEqual([])
    expect((await readdir(temporary.path)).filter(name => name.startsWith('svc-trial-'))).toEqual([])
  })

  it('ends the benchmark at its budget, and the report says so', async () => {
    script = () => text('Fine.')
    const config = { daemon: { budget_tokens: 6_000, max_retries: 0 }, model: { max_tokens: 100 } }
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
    await using poor = await testHost({ builtins: BUILTINS, roles: ['cli'], clock: 'system', config, env })
    const [model] = (await run({ task: 'Say fine.', runs: 100 }, poor)).models as [ModelResult]
    expect(model.complete).toBe(false)
    expect(model.reason).toMatch(/budget/i)
    expect(model.runs).toBeLessThan(100)
    const { spent } = (await poor.kernel.invoke('budget.status', {})) as BudgetStatus
    expect(spent.tokens).toBeLessThanOrEqual(6_000)
  })

  it('ends the runs of a priced model at its dollar limit, and its budget shows their cost', async () => {
    script = () => text('Fine.')
    const far = 'https://models.example/v1'
    await using priced = await testHost({
      builtins: BUILTINS,
      roles: ['cli'],
      clock: 'system',
      config: { daemon: { budget_usd: 0.3, max_retries: 0 }, model: { max_tokens: 100 } },
      files: { 'models.yaml': 'prices:\n  openai:scripted: { input: 100, output: 50 }\n' },
      env: { OPENAI_BASE_URL: far, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
      ports: { fetch: (input, init) => fetch(String(input).replace(far, server.url), init) },
    })
    const [model] = (await run({ task: 'Say fine.', runs: 100 }, priced)).models as [ModelResult]
    expect(model).toMatchObject({ complete: false, reason: expect.stringMatching(/budget/i) })
    const { spent } = (await priced.kernel.invoke('budget.status', {})) as BudgetStatus
    expect(spent.usd).toBeCloseTo(model.cost_usd, 6)
    expect(spent.usd).toBeGreaterThan(0)
    expect(spent.usd).toBeLessThanOrEqual(0.3)
  })

  it('can stop the benchmark and still gets a report of the completed runs', async () => {
    script = () => text('Fine.')
    const stop = new AbortController()
    const asked = { task: 'Say fine.', runs: 50, models: ['openai:scripted', 'sim:rules-1'] }
    const { models } = await run({ ...asked, signal: stop.signal, progress: () => stop.abort() })
    expect(models).toMatchObject([{ runs: 1, passed: 1, complete: false, reason: 'the benchmark was interrupted' }])
  })
})

describe('the benchmark report', () => {
  const { html, table } = benchmarkOf({} as never)

  it('is one page that loads nothing and renders model output as inert text', async () => {
    script = () => text('</pre><script>alert(1)</script><img src=http://evil/x>\u202e')
    const report = await run({ models: ['openai:scripted', 'no one:<b>'], task: '<i>Hello</i>' })
    const page = html(report)
    expect(page).toContain('&#60;script&#62;')
    expect(page).not.toMatch(/<script|<img|<i>|<b>|\u202e|<[^>]*(src|href)=/i)
    const [, policy, style] = /content="(default-src 'none'[^"]*)[\s\S]*<style>([\s\S]*)<\/style>/.exec(page)!
    expect(policy).toContain(`'sha256-${createHash('sha256').update(style!).digest('base64')}'`)
    expect(page.match(/<svg /g)).toHaveLength(4)
    expect(page).toMatch(/whisker is the 95 % Wilson interval/)
  })

  it('shows results, confidence intervals and unmeasured models in a table', async () => {
    const report = await run({ models: ['sim:rules-1', 'nowhere:lite'], scenarios: ['goals'], cycles: 2 })
    const lines = table(report)
    expect(lines).toMatch(/^sim:rules-1 +100 % +- +1 of 1 +21 to 100 %/m)
    expect(lines).toContain('sim:rules-1 (sim/rules-1; simulated, not an AI model)')
    expect(lines).toMatch(/nowhere:lite was not measured: "nowhere:lite" is not a model name/)
  })
})
