import { expect, test } from 'vitest'
import { ModelError, ModelNameError, ModelProviders, Models } from '#core/models/contract'
import models from '#core/models/index'
import { definePlugin, type Kernel } from '#kernel'
import { modelServer } from '../../../support/model/model-server.ts'
import { strictModel } from '../../../support/model/strict-model.ts'
import { testHost } from '../../../support/test-host.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

const resolve = async (kernel: Kernel, name: string | null) => (await kernel.use(Models).resolve(name)).id

test.for([
  ['openai:gpt-5.4', 'openai:gpt-5.4'],
  ['openai:lite', 'openai:gpt-5.4-nano'],
  ['openai:standard', 'openai:gpt-5.4-mini'],
  ['openai:pro', 'openai:gpt-5.4'],
  ['gpt-4o-mini', 'openai:gpt-4o-mini'],
  ['o3-mini', 'openai:o3-mini'],
  ['claude-opus-4-6', 'anthropic:claude-opus-4-6'],
  ['anthropic:lite', 'anthropic:claude-haiku-4-5'],
  ['accounts/fireworks/models/kimi-k2p6', 'fireworks:accounts/fireworks/models/kimi-k2p6'],
  ['groq:lite', 'groq:openai/gpt-oss-20b'],
  ['openrouter:anthropic/claude-sonnet-latest', 'openrouter:anthropic/claude-sonnet-latest'],
  ['ollama:llama3.2:3b', 'ollama:llama3.2:3b'],
  ['ollama:lite', 'ollama:llama3.2'],
  ['openai', 'openai:gpt-5.4-mini'],
  ['sim', 'sim/rules-1'],
  ['sim:rules-1', 'sim/rules-1'],
  ['sim/rules-1', 'sim/rules-1'],
  ['sim:pro', 'sim/rules-1'],
  [' openai:gpt-5.4 ', 'openai:gpt-5.4'],
])('the name "%s" means %s', async ([name, id]) => {
  await using home = await testHost({ builtins: [models], roles: ['cli'], env: { OPENAI_API_KEY: 'sk-test' } })
  expect(await resolve(home.kernel, name!)).toBe(id)
})

test.for([
  'nobody:gpt',
  'llama3.2',
  'Openai:gpt-5.4',
  'openai:gpt 5',
  'ollama:pro',
  ':x',
  'openai:',
  'openai:a\nb',
  `openai:${'x'.repeat(300)}`,
])('the name "%s" is rejected with a list of the providers', async name => {
  await using home = await testHost({ builtins: [models], roles: ['cli'] })
  const error = await resolve(home.kernel, name).catch(thrown => thrown)
  expect(error).toBeInstanceOf(ModelNameError)
  expect(error.message).toMatch(/provider is one of openai, groq, .*anthropic, sim\.$/)
  expect(error.message.length).toBeLessThan(400)
})

test('without a name, a key or a base URL the simulated model is used', async () => {
  await using home = await testHost({ builtins: [models], roles: ['cli'] })
  expect(await resolve(home.kernel, null)).toBe('sim/rules-1')
  expect(await resolve(home.kernel, '')).toBe('sim/rules-1')
})

test('with OPENAI_API_KEY the default is a model of OpenAI, which OPENAI_MODEL can choose', async () => {
  await using home = await testHost({ builtins: [models], roles: ['cli'], env: { OPENAI_API_KEY: 'sk-test' } })
  expect(await resolve(home.kernel, null)).toBe('openai:gpt-5.4-mini')
  const env = { OPENAI_API_KEY: 'sk-test', OPENAI_MODEL: 'gpt-5.4-nano' }
  await using named = await testHost({ builtins: [models], roles: ['cli'], env })
  expect(await resolve(named.kernel, null)).toBe('openai:gpt-5.4-nano')
})

test('with OPENAI_BASE_URL the default is the first model of the server', async () => {
  await using server = await modelServer({ models: ['big-one', 'small-one'] })
  const env = { OPENAI_BASE_URL: server.url }
  await using home = await testHost({ builtins: [models], roles: ['cli'], env, clock: 'system', config: QUICK })
  expect(await resolve(home.kernel, null)).toBe('openai:big-one')
})

test('model.default_model overrides the environment of a provider, and SVC_DEFAULT_MODEL overrides both', async () => {
  const config = { model: { default_model: 'groq:lite' } }
  const env = { OPENAI_API_KEY: 'sk-test' }
  await using home = await testHost({ builtins: [models], roles: ['cli'], env, config })
  expect(await resolve(home.kernel, null)).toBe('groq:openai/gpt-oss-20b')
  await using other = await testHost({ builtins: [models], env: { ...env, SVC_DEFAULT_MODEL: 'sim' }, config })
  expect(await resolve(other.kernel, null)).toBe('sim/rules-1')
})

test('a configured server that is gone is an error, and is never replaced by the simulation', async () => {
  const { server, models: service, failing } = await testHostForModels()
  await server.close()
  const error = await service.resolve(null).catch(thrown => thrown)
  expect(error).toBeInstanceOf(ModelError)
  expect(error.message).toMatch(/is not reachable .*start the server or set OPENAI_BASE_URL/)
  expect((await failing({ model: null })).message).toContain('is not reachable')
})

test('a provider without its key is rejected before anything is sent, and the error names the variable', async () => {
  const { failing, server } = await testHostForModels()
  const error = await failing({ model: 'groq:lite' })
  expect(error.message).toContain('GROQ_API_KEY is not set')
  expect(error).toMatchObject({ transient: false, spend: { cost_micros: 0, input_tokens: 0 } })
  expect(server.requests).toHaveLength(0)
})

test('every provider of the OpenAI protocol is called at its own base URL with its own key', async () => {
  await using server = await modelServer()
  const env = { GROQ_BASE_URL: server.url, GROQ_API_KEY: 'gsk-groq-key', OPENAI_API_KEY: 'sk-openai-key' }
  const { call } = await testHostForModels(undefined, { env })
  expect((await call({ model: 'groq:lite' })).text).toBe('All done.')
  expect(server.requests[0]!.headers.authorization).toBe('Bearer gsk-groq-key')
  expect(JSON.stringify(server.requests[0]!.headers)).not.toContain('sk-openai-key')
})

test("a plugin's provider can be named, listed and called like any other", async () => {
  const parrot = definePlugin({
    name: 'parrot',
    setup(svc) {
      const provider = strictModel({
        name: 'parrot',
        free: true,
        availability: async () => ({ available: true, reason: null }),
        async *stream({ messages }) {
          yield { type: 'text', text: messages.at(-1)!.content }
          yield { type: 'done', finish_reason: 'stop' }
        },
      })
      svc.add(ModelProviders, provider)
    },
  })
  const { call, host: home } = await testHostForModels(undefined, { builtins: [models, parrot] })
  expect(await call({ model: 'parrot:grey' })).toMatchObject({
    text: 'Goal: say something',
    spend: { model: 'parrot:grey', priced: 'free', cost_micros: 0 },
  })
  expect(await home.kernel.invoke('models.list')).toMatchObject({
    providers: expect.arrayContaining([expect.objectContaining({ name: 'parrot', available: true })]),
  })
})

test("an error in a plugin's provider is logged with the place where it was thrown", async () => {
  const parrot = definePlugin({
    name: 'parrot',
    setup(svc) {
      svc.add(ModelProviders, {
        name: 'parrot',
        availability: async () => ({ available: true, reason: null }),
        // biome-ignore lint/correctness/useYield: it fails before its first event
        async *stream() {
          throw new TypeError('x is not a function')
        },
      })
    },
  })
  const { call, host: home } = await testHostForModels(undefined, { builtins: [models, parrot] })
  await expect(call({ model: 'parrot:grey' })).rejects.toThrow('gave no answer: x is not a function.')
  const [failure] = home.logged('the provider of parrot:grey failed: x is not a function')
  expect(failure).toMatchObject({ stack: expect.stringMatching(/models-names\.test\.ts:\d+/) })
})

test('models.list shows providers, why they are unavailable, the default with its notice, and prices', async () => {
  await using home = await testHost({ builtins: [models], roles: ['cli'], clock: 'system' })
  const list = (await home.kernel.invoke('models.list')) as {
    providers: { name: string; available: boolean; reason: string | null }[]
  }
  expect(list).toMatchObject({
    default: { model: 'sim/rules-1', provider: 'sim', notice: 'simulated, not an AI model' },
    error: null,
    in_use: [{ model: 'sim/rules-1', priced: 'free', free_because: 'simulated, not an AI model' }],
  })
  const reasons = Object.fromEntries(list.providers.map(({ name, reason }) => [name, reason]))
  expect(reasons).toMatchObject({
    openai: 'OPENAI_API_KEY is not set',
    anthropic: 'ANTHROPIC_API_KEY is not set',
    sim: null,
  })
  expect(reasons.ollama).toMatch(
    /http:\/\/localhost:11434\/v1 is not reachable .*start it with "ollama serve" or set OLLAMA_BASE_URL/,
  )
})

test.for([
  [{}, 'set OPENAI_API_KEY or OPENAI_BASE_URL'],
  [{ ANTHROPIC_API_KEY: 'k' }, 'ANTHROPIC_API_KEY is set; to use it: svc config set model.default_model anthropic,'],
  [{ GROQ_API_KEY: 'k' }, 'GROQ_API_KEY is set; to use it: svc config set model.default_model groq,'],
  [
    { OLLAMA_BASE_URL: 'http://127.0.0.1:1' },
    'OLLAMA_BASE_URL is set; to use it: svc config set model.default_model ollama,',
  ],
] as const)('the simulated model comes with what to do for a real one, where %o is set', async ([env, remedy]) => {
  await using home = await testHost({ builtins: [models], roles: ['cli'], env })
  const { id, provider } = await home.kernel.use(Models).resolve(null)
  expect([id, provider.remedy]).toEqual(['sim/rules-1', expect.stringContaining(remedy)])
})
