import { expect, test } from 'vitest'
import { type CallLimit, CallLimits, Models } from '#core/models/contract'
import models from '#core/models/index'
import { definePlugin } from '#kernel'
import { barrier, fault, modelServer, text, together, toolCall } from '../../../support/model/model-server.ts'
import { testHost } from '../../../support/test-host.ts'
import { QUICK, testHostForModels } from './models-host.ts'

/** Opens a test host whose server appears to be remote, so that its calls have a price. */
async function testHostWithPrices(replies: Parameters<typeof modelServer>[0] = {}, files: Record<string, string> = {}) {
  const server = await modelServer(replies)
  const made = await testHostForModels(undefined, {
    env: { OPENAI_BASE_URL: 'https://models.example/v1', OPENAI_API_KEY: 'sk-test-key' },
    ports: { fetch: (input, init) => fetch(String(input).replace('https://models.example/v1', server.url), init) },
    files,
  })
  return { ...made, server }
}

test("the spend is the server's usage at the price of the catalogue, rounded up to a micro-dollar", async () => {
  const usage = { prompt_tokens: 25, completion_tokens: 7 }
  const { call } = await testHostWithPrices({ script: () => text('Hello.', { usage }) })
  const { spend } = await call({ model: 'openai:gpt-5.4-nano' })
  expect(spend).toMatchObject({
    model: 'openai:gpt-5.4-nano',
    // 25 × 0.20 + 7 × 1.25 = 13.75
    input_tokens: 25,
    output_tokens: 7,
    cost_micros: 14,
    priced: 'catalogue',
    estimated: false,
    attempts: 1,
  })
  expect(spend.call_id).toMatch(/^call-[0-9a-f]{12}$/)
})

test('a dated release has the price of its model', async () => {
  const { call } = await testHostWithPrices({
    script: () => text('x', { usage: { prompt_tokens: 100, completion_tokens: 100 } }),
  })
  expect((await call({ model: 'openai:gpt-5.4-2026-03-05' })).spend).toMatchObject({
    cost_micros: 1750,
    priced: 'catalogue',
  })
})

test('cached input has its own price', async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 800 } }
  const { call } = await testHostWithPrices({ script: () => text('Hello.', { usage }) })
  // 200 × 0.75 + 800 × 0.075 + 10 × 4.5 = 255
  expect((await call({ model: 'openai:gpt-5.4-mini' })).spend.cost_micros).toBe(255)
})

test('input written to the cache has its own price, or that of other input', async () => {
  const prompt_tokens_details = { cached_tokens: 300, cache_write_tokens: 500 }
  const usage = { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details }
  const { call } = await testHostWithPrices(
    { script: () => text('Hello.', { usage }) },
    { 'models.yaml': 'prices:\n  openai:c: { input: 2, output: 10, cached_input: 0.2, cache_write: 2.5 }\n' },
  )
  // 200 × 2 + 300 × 0.2 + 500 × 2.5 + 10 × 10 = 1810
  expect((await call({ model: 'openai:c' })).spend).toMatchObject({
    cost_micros: 1810,
    input_tokens: 1000,
    cached_tokens: 300,
    cache_write_tokens: 500,
  })
  // 200 × 0.75 + 300 × 0.075 + 500 × 0.75 + 10 × 4.5 = 592.5
  expect((await call({ model: 'openai:gpt-5.4-mini' })).spend.cost_micros).toBe(593)
})

test.for([
  [{ cached_tokens: -5, cache_write_tokens: 0.5 }, undefined, undefined],
  [{ cached_tokens: 5000, cache_write_tokens: 800 }, 1000, undefined],
])('parts of the input that cannot be true (%j) are ignored or capped', async ([details, read, written]) => {
  const usage = { prompt_tokens: 1000, completion_tokens: 10, prompt_tokens_details: details as object }
  const { call } = await testHostWithPrices({ script: () => text('Hello.', { usage }) })
  const { spend } = await call({ model: 'openai:gpt-5.4-mini' })
  expect([spend.cached_tokens, spend.cache_write_tokens]).toEqual([read, written])
})

test('a call limit is asked before each attempt, and gets what was not billed and how the call ended', async () => {
  const reported: unknown[] = []
  let refuseAt = 9
  const limit: CallLimit = {
    name: 'strict',
    async hold({ model, priced: known, purpose, maxSpend: bound }) {
      if (reported.filter(each => Array.isArray(each)).length === refuseAt) throw new Error('no more')
      reported.push([model, known, purpose.kind, bound()])
    },
    async unbilled() {
      reported.push('unbilled')
    },
    async settle({ answered, spend }) {
      reported.push({ answered, attempts: spend?.attempts ?? null })
    },
  }
  const plugin = definePlugin({ name: 'strict', setup: svc => void svc.add(CallLimits, limit) })
  const server = await modelServer({ script: [fault('500'), fault('cleancut'), text('Hi.')] })
  const { call } = await testHostForModels(undefined, {
    builtins: [models, plugin],
    env: { OPENAI_BASE_URL: 'https://models.example/v1', OPENAI_API_KEY: 'sk-test-key' },
    ports: { fetch: (input, init) => fetch(String(input).replace('https://models.example/v1', server.url), init) },
  })
  const asked = { model: 'openai:gpt-5.4-mini', messages: [{ role: 'user' as const, content: 'x'.repeat(40) }] }
  // 17 × 0.75 + 100 × 4.5 = 462.75
  const held = ['openai:gpt-5.4-mini', 'catalogue', 'goal_pursuit', { cost_micros: 463, tokens: 117 }]
  await call({ ...asked, max_tokens: 100 })
  // The first attempt was refused, so nothing is held for it; the second broke off, and the third is added.
  expect(reported.splice(0)).toEqual([held, 'unbilled', held, held, { answered: true, attempts: 3 }])

  refuseAt = 0
  await expect(call({ ...asked, max_tokens: 100 })).rejects.toThrow('no more')
  expect(reported.splice(0)).toEqual([{ answered: false, attempts: null }])
  expect(server.requests).toHaveLength(3)

  refuseAt = 1
  server.enqueue(fault('cleancut'))
  await expect(call({ ...asked, max_tokens: 100 })).rejects.toThrow('no more')
  expect(reported).toEqual([held, { answered: false, attempts: 1 }])
  await server.close()
})

test.for([
  ['native', { tool_calls: [{ index: 0, id: 'a', function: { name: 'save', arguments: 'x'.repeat(4_000) } }] }],
  ['prompted', { content: `\`\`\`tool_call\n${'x'.repeat(4_000)}` }],
] as const)('a tool call whose stream broke off is paid for as far as it came: %s', async ([form, delta]) => {
  const chunk = JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })
  const headers = { 'content-type': 'text/event-stream' }
  const { failing } = await testHostForModels(undefined, {
    config: {
      ...QUICK,
      daemon: { max_retries: 0 },
      model: { ...QUICK.model, providers: { openai: { tool_calls: form } } },
    },
    ports: { fetch: async () => new Response(`data: ${chunk}\n\n`, { headers }) },
  })
  const { spend } = await failing({ tools: [{ name: 'save', description: 'Saves.', parameters: { type: 'object' } }] })
  expect(spend?.output_tokens).toBeGreaterThanOrEqual(1_000)
  expect(spend).toMatchObject({ estimated: true, attempts: 1 })
})

test.for([
  { prompt_tokens: 0, completion_tokens: 7 },
  { prompt_tokens: 25, completion_tokens: 0 },
])('counts that leave out input or output are replaced by an estimate: %j', async usage => {
  const { call } = await testHostWithPrices({ script: () => text('Hello there, you.', { usage }) })
  const { spend } = await call({ messages: [{ role: 'user', content: 'x'.repeat(80) }] })
  expect(spend).toMatchObject({ estimated: true, input_tokens: 30, output_tokens: 5 })
})

test('a call that is stopped while its budget is held costs nothing, because its provider is not asked', async () => {
  const stop = new AbortController()
  const settled: unknown[] = []
  const limit: CallLimit = {
    name: 'slow',
    hold: async () => stop.abort(new Error('the operator said so')),
    settle: async ({ spend }) => void settled.push(spend),
  }
  const plugin = definePlugin({ name: 'slow', setup: svc => void svc.add(CallLimits, limit) })
  const { failing, server } = await testHostForModels(undefined, { builtins: [models, plugin] })
  const failure = await failing({ signal: stop.signal })
  expect(failure).toMatchObject({ kind: 'stopped', spend: null })
  expect(failure.message).toMatch('the call was stopped (the operator said so)')
  expect(settled).toEqual([null])
  expect(server.requests).toHaveLength(0)
})

test('a request with a long prompt has the price of long prompts', async () => {
  const long_prompt = '{ above: 1000, input: 4, output: 15, cached_input: 0.2 }'
  const file = `prices:\n  openai:long: { input: 2, output: 10, cached_input: 0.1, long_prompt: ${long_prompt} }\n`
  const usage = (prompt_tokens: number) => ({
    usage: { prompt_tokens, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 500 } },
  })
  const replies = [text('Hi.', usage(1000)), text('Hi.', usage(1001))]
  const { call } = await testHostWithPrices({ script: replies }, { 'models.yaml': file })
  // 500 × 2 + 500 × 0.1 + 10 × 10, and 501 × 4 + 500 × 0.2 + 10 × 15
  expect((await call({ model: 'openai:long' })).spend.cost_micros).toBe(1150)
  expect((await call({ model: 'openai:long' })).spend.cost_micros).toBe(2254)
})

test('an unknown price is reported as unknown, neither guessed nor free', async () => {
  const { call } = await testHostWithPrices({
    script: () => text('Hello.', { usage: { prompt_tokens: 10, completion_tokens: 2 } }),
  })
  expect((await call({ model: 'openai:brand-new' })).spend).toMatchObject({ cost_micros: 0, priced: 'unknown' })
})

test('models.yaml adds and overrides prices and tiers, and is read again when it changes', async () => {
  const file = 'tiers:\n  openai:\n    lite: tiny-1\nprices:\n  openai:tiny-1: { input: 100, output: 0 }\n'
  const { call, host: home } = await testHostWithPrices(
    { script: () => text('Hi.', { usage: { prompt_tokens: 3, completion_tokens: 1 } }) },
    { 'models.yaml': file },
  )
  expect((await call({ model: 'openai:lite' })).spend).toMatchObject({ model: 'openai:tiny-1', cost_micros: 300 })
  await home.write({ 'models.yaml': file.replace('100', '2000') })
  expect((await call({ model: 'openai:lite' })).spend.cost_micros).toBe(6000)
})

test.for([
  ['prices:\n  openai:gpt-5.4:\n    input: -1\n    output: 2\n', /models\.yaml:3: prices\.openai:gpt-5\.4\.input/],
  ['prices:\n  openai:x: { input: .inf, output: 2 }\n', /models\.yaml:2: prices\.openai:x\.input/],
  ['tiers:\n  openai:\n    huge: gpt\n', /models\.yaml:[23]: tiers\.openai/],
  ['prizes: {}\n', /models\.yaml:1: prizes: is not a known field; did you mean "prices"\? Known fields there: tiers, /],
  [
    'prices:\n  openai:x: { input: 1, ouput: 2 }\n',
    /models\.yaml:2: prices\.openai:x\.ouput: is not .*did you mean "output"\?/,
  ],
  ['tiers:\n  openai:\n    lit: gpt\n', /models\.yaml:3: tiers\.openai\.lit: is not .*did you mean "lite"\?/],
  ['prices: [\n', /models\.yaml:/],
  ['- a\n', /models\.yaml:1: is not a YAML mapping/],
])('a bad models.yaml (%j) is rejected with file and line', async ([content, says]) => {
  const { call, server } = await testHostWithPrices({}, { 'models.yaml': content as string })
  await expect(call()).rejects.toMatchObject({ code: 'bad_file', message: expect.stringMatching(says as RegExp) })
  expect(server.requests).toHaveLength(0)
})

test('a loopback server costs nothing, but its tokens are counted', async () => {
  const { call, server } = await testHostForModels()
  const { spend } = await call({ model: 'openai:gpt-5.4' })
  const [entry] = server.bill
  expect(spend).toMatchObject({ cost_micros: 0, priced: 'free', input_tokens: entry!.input_tokens })
  expect(spend.output_tokens).toBe(entry!.output_tokens)
})

test('the spend of many parallel calls adds up to the bill', async () => {
  const { call, server } = await testHostWithPrices({
    script: () => barrier(16, together(text('Look.'), toolCall('look', { at: 'it' }))),
  })
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, n) => call({ messages: [{ role: 'user', content: 'x'.repeat(n * 10) }] })),
  )
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
  expect(sum(answers.map(({ spend }) => spend.input_tokens))).toBe(sum(server.bill.map(entry => entry.input_tokens)))
  expect(sum(answers.map(({ spend }) => spend.output_tokens))).toBe(sum(server.bill.map(entry => entry.output_tokens)))
  expect(new Set(answers.map(({ spend }) => spend.call_id)).size).toBe(16)
})

test('daemon.max_retries can be set by its key and by its variable', async () => {
  await using home = await testHost({ builtins: [models], config: QUICK, env: { SVC_MAX_RETRIES: '7' } })
  expect(home.kernel.config.get('daemon.max_retries')).toBe(7)
  expect(home.kernel.config.keys().find(({ path }) => path === 'daemon.max_retries')?.reload).toBe('restart_required')
  expect(home.kernel.use(Models)).toBeDefined()
})
