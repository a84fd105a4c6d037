import { expect, onTestFinished, test } from 'vitest'
import { ModelProviders, Models } from '#core/models/contract'
import models from '#core/models/index'
import type { ModelsOverview } from '#core/models/overview'
import type { Endpoint } from '#core/models/providers/endpoints'
import { probe } from '#core/models/providers/probe'
import { renderModels } from '#core/models/render'
import { Profiles } from '#core/profiles/contract'
import profiles from '#core/profiles/index'
import { systemPorts } from '#lib/system-ports'
import { HeldClock } from '../../../support/clock.ts'
import { httpServer } from '../../../support/model/http.ts'
import { fault, modelServer } from '../../../support/model/model-server.ts'
import { type TestHost, type TestHostOptions, testHost } from '../../../support/test-host.ts'
import { until } from '../../../support/until.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

/** Opens a test host with the models module, which closes with the test. */
async function openHost(options: TestHostOptions = {}): Promise<TestHost> {
  const home = await testHost({ builtins: [models], roles: ['cli'], clock: 'system', ...options })
  onTestFinished(() => home.close())
  return home
}

const overview = ({ kernel }: TestHost) => kernel.invoke('models.list') as Promise<ModelsOverview>
const provider = async (home: TestHost, name: string) =>
  (await overview(home)).providers.find(each => each.name === name)!
const resolve = async ({ kernel }: TestHost, name: string | null) => (await kernel.use(Models).resolve(name)).id
const providers = (entries: object) => ({ ...QUICK, model: { ...QUICK.model, providers: entries } })

test('any server that speaks the OpenAI protocol is a provider once its base_url is configured', async () => {
  const server = await modelServer({ models: ['box-brand'] })
  onTestFinished(() => server.close())
  const box = { base_url: `${server.url}/`, api_key_env: 'BOX_TOKEN', tiers: { lite: 'box-small' } }
  const { call, host: home } = await testHostForModels(undefined, {
    config: providers({ 'my-box': box }),
    env: { BOX_TOKEN: 'tok-canary-42' },
  })
  expect(await provider(home, 'my-box')).toMatchObject({ available: true, free: true, tiers: { lite: 'box-small' } })
  expect(await resolve(home, 'my-box:lite')).toBe('my-box:box-small')
  expect((await call({ model: 'my-box:box-brand' })).spend).toMatchObject({
    model: 'my-box:box-brand',
    priced: 'free',
  })
  expect(server.requests[0]!.headers.authorization).toBe('Bearer tok-canary-42')
})

test('a provider with a configured key variable reports when it is not set', async () => {
  const box = { base_url: 'http://127.0.0.1:9/v1', api_key_env: 'BOX_API_KEY', model: 'box-brand' }
  const { failing, host: home } = await testHostForModels(undefined, { config: providers({ box }) })
  expect(await provider(home, 'box')).toMatchObject({ available: false, reason: 'BOX_API_KEY is not set' })
  expect(await failing({ model: 'box' })).toMatchObject({ kind: 'auth', transient: false })
})

test('a public address with a key counts as available; only diagnostics try its key and the network', async () => {
  const endpoint = { name: 'box', base_url: 'https://box.example/v1', base_url_from: 'BOX_BASE_URL', needs_key: true }
  const probeProvider = async (answer: () => Promise<Response>, key: string | undefined = 'k') => {
    const { availability, reach } = probe({ ...endpoint, key_env: 'BOX_API_KEY', key } as Endpoint, {
      clock: systemPorts().clock,
      fetch: answer as typeof fetch,
    })
    expect((await availability()).available).toBe(key !== '')
    return (await reach()).reason
  }
  expect(await probeProvider(async () => Response.json({ data: [{ id: 'm' }] }))).toBeNull()
  const refused = await probeProvider(async () => new Response('no', { status: 401 }))
  expect(refused).toBe('https://box.example/v1 refuses the key in BOX_API_KEY (HTTP 401)')
  const away = await probeProvider(() => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })))
  expect(away).toMatch(
    /^https:\/\/box\.example\/v1 is not reachable .*check the network connection or set BOX_BASE_URL$/,
  )
  expect(await probeProvider(async () => Response.json({}), '')).toBe('BOX_API_KEY is not set')
})

test('a server without a list of models can still be called, and models.list says so', async () => {
  const server = await modelServer({ models: null })
  onTestFinished(() => server.close())
  const { call, host: home } = await testHostForModels(undefined, {
    config: providers({ box: { base_url: server.url } }),
  })
  const reason = `${server.url} does not list its models (HTTP 404); name a model as box:<model>, and check model.providers.box.base_url if its calls fail`
  expect(await provider(home, 'box')).toMatchObject({ available: true, reason })
  expect(renderModels(await overview(home))).toContain(reason)
  expect((await call({ model: 'box:box-brand' })).spend).toMatchObject({ model: 'box:box-brand' })
  await expect(resolve(home, 'box')).rejects.toThrow(reason)
  const env = { BOX_MODEL: 'box-brand' }
  const { host: named } = await testHostForModels(undefined, {
    config: providers({ box: { base_url: server.url } }),
    env,
  })
  const rest = `${server.url} does not list its models (HTTP 404); check model.providers.box.base_url if its calls fail`
  expect(await provider(named, 'box')).toMatchObject({ available: true, reason: rest })
})

test('a server that is gone is reported with its address and what to do', async () => {
  const box = { base_url: 'http://127.0.0.1:9/v1' }
  const home = await openHost({ config: providers({ box, vllm: { base_url: 'http://127.0.0.1:10/v1' } }) })
  const reasonOf = async (name: string) => (await provider(home, name)).reason
  expect(await reasonOf('box')).toMatch(
    /^http:\/\/127\.0\.0\.1:9\/v1 is not reachable .*start the server or set model\.providers\.box\.base_url$/,
  )
  expect(await reasonOf('vllm')).toMatch(
    /127\.0\.0\.1:10\/v1 .*"vllm serve <model>" or set model\.providers\.vllm\.base_url$/,
  )
  expect(await reasonOf('lmstudio')).toMatch(
    /localhost:1234\/v1 .*start it with "lms server start" or set LMSTUDIO_BASE_URL$/,
  )
  expect(await reasonOf('llamacpp')).toMatch(/localhost:8080\/v1 .*"llama-server -m <model\.gguf> --jinja"/)
})

test('a server that is loading its model is reported as such, and a call without a model name waits for it', async () => {
  const server = await modelServer()
  onTestFinished(() => server.close())
  let loads = true
  const body = JSON.stringify({ error: { message: 'Loading model', type: 'unavailable_error', code: 503 } })
  const fetchOrLoad: typeof fetch = async (input, init) =>
    loads ? new Response(body, { status: 503 }) : fetch(input, init)
  const clock = new HeldClock()
  const env = { LLAMACPP_BASE_URL: server.url }
  const { call, host: home } = await testHostForModels(undefined, { env, clock, ports: { fetch: fetchOrLoad } })
  const reason = `${server.url} is loading its model; it can be called when it has loaded it`
  expect(await provider(home, 'llamacpp')).toMatchObject({ available: false, reason })
  const answer = call({ model: 'llamacpp' })
  await until(() => home.logged('Asking again every 2 s').length === 1)
  await clock.advance(4_000)
  loads = false
  await until(async () => {
    await clock.advance(500)
    return server.requests.length === 1
  })
  expect(await answer).toMatchObject({ text: 'All done.', spend: { model: 'llamacpp:scripted-1', attempts: 1 } })
})

test('the environment overrides the configuration', async () => {
  const server = await modelServer({ models: ['of-the-environment'] })
  onTestFinished(() => server.close())
  const box = { base_url: 'http://127.0.0.1:9/v1', model: 'of-the-file' }
  const config = providers({ box })
  const home = await openHost({ config, env: { BOX_BASE_URL: server.url, BOX_MODEL: 'of-the-environment' } })
  expect(await provider(home, 'box')).toMatchObject({ available: true })
  expect(await resolve(home, 'box')).toBe('box:of-the-environment')
})

test.for(['', '/', '/v1', '/v1/'])('Ollama is found at a model.ollama_base_url that ends in "%s"', async end => {
  const server = await modelServer({ models: ['llama3.2'] })
  onTestFinished(() => server.close())
  const ollama_base_url = server.url.replace('/v1', end)
  const { call, host: home } = await testHostForModels(undefined, {
    config: { ...QUICK, model: { ...QUICK.model, ollama_base_url } },
  })
  expect(await provider(home, 'ollama')).toMatchObject({ available: true, free: true })
  expect((await call({ model: 'ollama:lite' })).spend).toMatchObject({ model: 'ollama:llama3.2', cost_micros: 0 })
  expect(server.requests).toHaveLength(1)
})

test.for(['LMSTUDIO', 'VLLM', 'LLAMACPP'])('%s_BASE_URL may leave out /v1', async name => {
  const { call, server } = await testHostForModels()
  const local = await testHostForModels(undefined, { env: { [`${name}_BASE_URL`]: `${server.origin}/` } })
  expect((await local.call({ model: `${name.toLowerCase()}:m` })).text).toBe('All done.')
  expect((await call()).text).toBe('All done.')
  expect(server.requests).toHaveLength(2)
})

test('a base URL that lacks /v1 is named where the server does not know a request', async () => {
  const server = await modelServer()
  onTestFinished(() => server.close())
  // LM Studio's answer.
  await using studio = await httpServer(({ method, url }, response) => {
    const body = JSON.stringify({ error: `Unexpected endpoint or method. (${method} ${url})` })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  const origin = studio.url
  const config = providers({ studio: { base_url: origin } })
  const { failing, host: home } = await testHostForModels(undefined, {
    config,
    env: { OPENAI_BASE_URL: server.origin },
  })
  const remedy = (key: string, url: string) =>
    `; most servers need a base URL that ends in /v1: set ${key} to ${url}/v1`
  expect(await failing()).toMatchObject({
    kind: 'refused',
    problem: `HTTP 404: no such route: POST /chat/completions${remedy('OPENAI_BASE_URL', server.origin)}`,
  })
  expect(await failing({ model: 'studio:m' })).toMatchObject({
    kind: 'refused',
    transient: false,
    problem: expect.stringContaining(`(POST /chat/completions)${remedy('model.providers.studio.base_url', origin)}`),
  })
  expect((await provider(home, 'openai')).reason).toContain(remedy('OPENAI_BASE_URL', server.origin))
  expect((await provider(home, 'studio')).reason).toContain(remedy('model.providers.studio.base_url', origin))
})

test.for([
  [{ Box: { base_url: 'http://a/v1' } }, /model\.providers\.Box: .*lower-case/],
  [{ box: { model: 'a' } }, /model\.providers\.box: .*needs a base_url/],
  [{ box: { base_url: 'box:8000' } }, /model\.providers\.box\.base_url: .*http or https URL/],
  [{ box: { base_url: 'http://a/v1', api_key: 'sk-1' } }, /model\.providers\.box\.api_key: is not a known field/],
  [{ box: { base_url: 'http://a/v1', api_key_env: 'PATH' } }, /api_key_env: .*ends in _API_KEY/],
  [{ openai: { max_concurrent: -1 } }, /model\.providers\.openai\.max_concurrent/],
] as const)('an invalid provider is rejected with its place in the configuration: %j', async ([entries, says]) => {
  const error = await openHost({ config: { model: { providers: entries } } }).catch(thrown => thrown)
  expect(error).toMatchObject({ code: 'invalid_config' })
  expect(error.message).toMatch(says)
})

test('the key of a configured provider appears in no error, log or list', async () => {
  const server = await modelServer({ script: () => fault('500') })
  await server.close()
  const box = { base_url: server.url, api_key_env: 'BOX_SECRET', model: 'a' }
  const env = { BOX_SECRET: 'canary-secret-77' }
  const { failing, host: home } = await testHostForModels(undefined, { config: providers({ box }), env })
  expect((await failing({ model: 'box' })).message).not.toContain('canary')
  const shown = JSON.stringify([
    home.log,
    await home.kernel.invoke('config.get', {}).catch(String),
    await overview(home),
  ])
  expect(shown).not.toContain('canary')
})

test('profiles without max_tokens and temperature get those of the configuration', async () => {
  const files = {
    'profiles/plain.yaml': 'name: plain\nrole: plain\n',
    'profiles/own.yaml': 'name: own\nrole: own\nmax_tokens: 77\ntemperature: 0\n',
  }
  const home = await openHost({
    files,
    builtins: [models, profiles],
    config: { model: { max_tokens: 1234, temperature: 0.5 } },
  })
  const profile = (name: string) => home.kernel.use(Profiles).read(name)
  expect(await profile('plain')).toMatchObject({ max_tokens: 1234, temperature: 0.5 })
  expect(await profile('own')).toMatchObject({ max_tokens: 77, temperature: 0 })
})

test('models.yaml is reloaded after a change; a bad edit is reported with its line and leaves the prices in force', async () => {
  const home = await openHost({ files: { 'models.yaml': 'prices:\n  openai:x: { input: 1, output: 2 }\n' } })
  const priceOf = async (id: string) => (await overview(home)).prices.find(({ model }) => model === id)
  expect(await priceOf('openai:x')).toMatchObject({ input: 1, output: 2, verified: true })
  await home.write({ 'models.yaml': 'tiers:\n  openai: { lite: x }\nprices:\n  openai:x: { input: 3, output: 4 }\n' })
  expect(await priceOf('openai:x')).toMatchObject({ input: 3, output: 4 })
  expect(await resolve(home, 'openai:lite')).toBe('openai:x')
  await home.write({ 'models.yaml': 'prices:\n  openai:x:\n    input: 3\n    output: much, I fear\n' })
  expect(await priceOf('openai:x')).toMatchObject({ input: 3, output: 4 })
  await overview(home)
  expect(home.logged('stay in use')).toMatchObject([
    { level: 40, msg: expect.stringMatching(/models\.yaml:4: .*prices\.openai:x\.output.*stay in use\.$/) },
  ])
})

test('a models.yaml that is bad from the beginning is rejected with its line before any call', async () => {
  const {
    host: home,
    server,
    models: service,
  } = await testHostForModels(undefined, {
    files: { 'models.yaml': 'prices:\n  gpt: { input: 1, output: 2 }\n' },
  })
  await expect(service.resolve('openai:x')).rejects.toThrow(
    /models\.yaml:2: prices\.gpt: .*"prices" \(provider:model, then input/,
  )
  await expect(overview(home)).rejects.toThrow(/models\.yaml:2/)
  expect(server.requests).toHaveLength(0)
})

test('svc models shows a table of providers with tiers, prices, breakers and reasons', async () => {
  const { host: home, failing } = await testHostForModels([fault('500'), fault('500')], {
    config: { ...QUICK, daemon: { max_retries: 1 }, model: { ...QUICK.model, breaker_failures: 2 } },
    env: { GROQ_API_KEY: 'gsk-1', FIREWORKS_API_KEY: 'fw-1' },
  })
  await failing()
  const lines = renderModels(await overview(home)).split('\n')
  const line = (start: string) => lines.find(each => each.startsWith(start)) ?? ''
  expect(lines[0]).toBe('Default: openai:scripted-1')
  expect(line('PROVIDER')).toMatch(/^PROVIDER +MODEL +TIER +USD\/M IN, OUT +BREAKER +STATE$/)
  expect(line('openai')).toMatch(/^openai +scripted-1 +free +open +2 failures in a row, next attempt in 10 s: HTTP 500/)
  expect(line('groq')).toMatch(/openai\/gpt-oss-20b +lite +0\.075, 0\.3 +closed +ready$/)
  expect(line('anthropic')).toMatch(/closed +ANTHROPIC_API_KEY is not set$/)
  expect(line('sim')).toMatch(/closed +simulated, not an AI model$/)
  expect(lines.find(each => each.includes('deepseek-v4-pro'))).toMatch(/standard +1\.74, 3\.48$/)
  expect(lines).toContain('* price not verified against the price list of its provider')
  expect(lines.some(each => each.endsWith(' '))).toBe(false)
})

test('every price of the catalogue is dated, and belongs to an existing provider', async () => {
  const home = await openHost()
  const { prices } = await overview(home)
  const names = home.kernel.points.list(ModelProviders).map(({ value }) => value.name)
  for (const { model, as_of, input, output, cached_input } of prices) {
    expect(as_of, model).toMatch(/^\d{4}-\d{2}(-\d{2})?$/)
    expect(names).toContain(model.split(':')[0])
    expect(output, model).toBeGreaterThanOrEqual(input)
    expect(cached_input ?? 0, model).toBeLessThanOrEqual(input)
  }
  const certain = prices.filter(({ verified }) => verified).map(({ model }) => model.split(':')[0])
  expect(new Set(certain)).toEqual(new Set(['anthropic', 'openai', 'groq', 'fireworks']))
})
