import { expect, onTestFinished, test } from 'vitest'
import { type Message, type ModelCall, Models } from '#core/models/contract'
import type { ModelsOverview } from '#core/models/overview'
import { renderModels } from '#core/models/render'
import { HeldClock } from '../../../support/clock.ts'
import { text } from '../../../support/index.ts'
import { modelServer, type Script } from '../../../support/model/model-server.ts'
import { type ModelRequestBody, refuse, tokensIn } from '../../../support/model/wire-rules.ts'
import { PURPOSE, testHostForModels } from './models-host.ts'

const MINUTE_MS = 60_000
const ASKED = { model: 'openai:scripted-1', max_tokens: 500 }

/** Returns a conversation that estimates to about `tokens` tokens. */
function conversation(tokens: number): Message[] {
  const turns = Array.from({ length: Math.ceil(tokens / 250) }, (_, n): Message[] => [
    { role: 'assistant', content: `Step ${n}. `.padEnd(500, 'I read on. ') },
    { role: 'user', content: `Answer ${n}. `.padEnd(500, 'So go on. ') },
  ])
  return [{ role: 'user', content: 'Goal: read on' }, ...turns.flat()]
}

type Provider = 'ollama' | 'lmstudio' | 'llamacpp'

/** Opens a test host with a local model server. `pages` may be changed later, as by a restart of the server. */
async function localHost(provider: Provider, pages: Record<string, unknown>, script: Script = () => text('Done.')) {
  const server = await modelServer({ script, pages, models: ['llama3.2'] })
  onTestFinished(() => server.close())
  const clock = new HeldClock()
  const env = { [`${provider.toUpperCase()}_BASE_URL`]: server.url }
  const { call, failing, host } = await testHostForModels(undefined, { env, clock })
  const ask = (tokens: number, more: Partial<ModelCall> = {}) =>
    call({ model: `${provider}:llama3.2`, max_tokens: 500, messages: conversation(tokens), ...more })
  const sizes = () => server.requests.map(({ body }) => tokensIn(body) + body.max_tokens!)
  return { ask, failing, host, server, sizes, clock }
}

test.each<[Provider, Record<string, unknown>]>([
  ['ollama', { '/api/ps': { models: [{ name: 'llama3.2:latest', context_length: 4_096 }] } }],
  ['lmstudio', { '/api/v0/models': { data: [{ id: 'llama3.2', loaded_context_length: 4_096 }] } }],
  ['llamacpp', { '/props': { default_generation_settings: { n_ctx: 4_096 } } }],
])('the window of %s is the one of the loaded model', async (provider, pages) => {
  const { ask, sizes } = await localHost(provider, pages)
  await ask(10_000)
  expect(sizes()[0]).toBeLessThanOrEqual(4_096)
})

test.each([
  ['Ollama', { '/api/ps': { models: [{ name: 'scripted-1:latest', context_length: 4_096 }] } }],
  ['LM Studio', { '/api/v0/models': { data: [{ id: 'scripted-1', loaded_context_length: 4_096 }] } }],
])('the window of %s is found at OPENAI_BASE_URL too', async (_, pages) => {
  const { call, server } = await testHostForModels(() => text('Done.'), {}, { pages })
  await call({ ...ASKED, messages: conversation(10_000) })
  expect(tokensIn(server.requests[0]!.body) + 500).toBeLessThanOrEqual(4_096)
})

test('a conversation is shortened as if its window were no larger than the limit, however long its goal', async () => {
  const total = async (messages: Message[], model = {}) => {
    const { models } = await testHostForModels(undefined, {
      files: { 'models.yaml': 'models: { "openai:scripted-1": { context_window: 1000000 } }\n' },
      config: { model },
    })
    const report = await models.measure!({ ...ASKED, tools: [], purpose: PURPOSE, messages })
    return report.total - report.sections.answer
  }
  const long = conversation(30_000)
  expect(await total(long)).toBeGreaterThan(30_000)
  expect(await total(long, { context_limit: 20_000 })).toBeLessThan(15_000)
  const large: Message[] = [{ role: 'user', content: 'Read on. '.repeat(20_000) }, ...long.slice(1)]
  const ofGoal = await total(large.slice(0, 1))
  expect(ofGoal).toBeGreaterThan(20_000)
  expect(await total(large, { context_limit: 20_000 })).toBeGreaterThan(ofGoal)
})

test('Ollama is asked again after the first answer, because it reports only loaded models', async () => {
  const pages: Record<string, unknown> = { '/api/ps': { models: [] } }
  const { ask, sizes } = await localHost('ollama', pages, () => {
    pages['/api/ps'] = { models: [{ name: 'llama3.2:latest', context_length: 4_096 }] }
    return text('Done.')
  })
  await ask(10_000)
  await ask(10_500)
  expect(sizes()[0]).toBeGreaterThan(4_096)
  expect(sizes()[1]).toBeLessThanOrEqual(4_096)
})

test('a window that the server reports anew replaces the one before, and an unloaded model keeps it', async () => {
  const pages: Record<string, unknown> = { '/api/ps': { models: [{ name: 'llama3.2:latest', context_length: 4_096 }] } }
  const { ask, sizes, clock } = await localHost('ollama', pages)
  await ask(10_000)
  await ask(10_000)
  pages['/api/ps'] = { models: [] }
  await clock.advance(MINUTE_MS)
  await ask(10_000)
  pages['/api/ps'] = { models: [{ name: 'llama3.2:latest', context_length: 16_384 }] }
  await clock.advance(MINUTE_MS)
  await ask(10_000)
  const [first, second, third, fourth] = sizes()
  expect(Math.max(first!, second!, third!)).toBeLessThanOrEqual(4_096)
  expect(fourth).toBeGreaterThan(9_000)
})

test('a window learned from a refusal ends when the server reports a larger one', async () => {
  let window = 4_096
  const pages: Record<string, unknown> = { '/v1/models': { data: [{ id: 'llama3.2', max_model_len: 131_072 }] } }
  const { ask, sizes, server, clock } = await localHost('llamacpp', pages, ({ body }) =>
    tokensIn(body) > window ? refuse(400, `exceeds the available context size (${window} tokens)`) : text('Done.'),
  )
  await ask(10_000)
  await ask(10_000)
  // It reports 131,072 tokens although it accepts 4,096, so the refusal counts.
  expect(server.requests).toHaveLength(3)
  window = 16_384
  pages['/v1/models'] = { data: [{ id: 'llama3.2', max_model_len: window }] }
  await clock.advance(MINUTE_MS)
  await ask(10_000)
  expect(sizes().at(-1)).toBeGreaterThan(9_000)
  expect(server.requests).toHaveLength(4)
})

test('requests that a server cuts silently are noticed, and the operator learns which setting to change', async () => {
  const counted = (body: ModelRequestBody) => ({ prompt_tokens: Math.min(tokensIn(body), 4_096), completion_tokens: 5 })
  const { ask, sizes, host } = await localHost('ollama', {}, ({ body }) => text('Done.', { usage: counted(body) }))
  for (const tokens of [5_000, 5_500, 6_000]) await ask(tokens)
  expect(sizes()[1]).toBeGreaterThan(5_000)
  expect(sizes()[2]).toBeLessThanOrEqual(4_096)
  expect(host.logged('OLLAMA_CONTEXT_LENGTH=16384 ollama serve').map(({ code, msg }) => [code, msg])).toEqual([
    [
      'context_cut',
      expect.stringMatching(
        /^The server of ollama:llama3\.2 read at most 4096 of about \d+ tokens: it cuts requests to its context window and reports no error; start/,
      ),
    ],
  ])
})

test('a first request that Ollama cut is noticed by the window that it reports once the model is loaded', async () => {
  const pages: Record<string, unknown> = { '/api/ps': { models: [] } }
  // It drops whole messages, so its counts differ.
  const counted = [3_700, 3_100, 3_900]
  const { ask, sizes, host, server } = await localHost('ollama', pages, () => {
    pages['/api/ps'] = { models: [{ name: 'llama3.2:latest', context_length: 4_096 }] }
    return text('Done.', { usage: { prompt_tokens: counted.shift()!, completion_tokens: 5 } })
  })
  for (const tokens of [20_000, 20_500, 21_000]) await ask(tokens)
  expect(sizes()[0]).toBeGreaterThan(15_000)
  expect(Math.max(...sizes().slice(1))).toBeLessThanOrEqual(4_096)
  expect(host.logged('it cuts requests to its context window').map(({ code }) => code)).toEqual(['context_cut'])
  expect(server.requests).toHaveLength(3)
})

test('a request that another tokenizer may have counted below the window does not count as cut', async () => {
  const pages: Record<string, unknown> = { '/api/ps': { models: [] } }
  const { ask, host } = await localHost('ollama', pages, () => {
    pages['/api/ps'] = { models: [{ name: 'llama3.2:latest', context_length: 4_096 }] }
    return text('Done.', { usage: { prompt_tokens: 3_900, completion_tokens: 5 } })
  })
  for (const tokens of [4_000, 4_200]) await ask(tokens)
  expect(host.logged('read at most')).toEqual([])
})

test('two requests that happen to have one count do not count as a cut if the server has read more', async () => {
  const counted = [6_000, 1_800, 1_800]
  const { ask, sizes, host } = await localHost('llamacpp', {}, () =>
    text('Done.', { usage: { prompt_tokens: counted.shift()!, completion_tokens: 5 } }),
  )
  for (const tokens of [5_500, 2_500, 2_600]) await ask(tokens)
  expect(host.logged('read at most')).toEqual([])
  await ask(5_500)
  expect(sizes()[3]).toBeGreaterThan(5_000)
})

test('a constant usage that no context window explains does not count as a cut', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 5 }
  const { ask, sizes, host } = await localHost('ollama', {}, () => text('Done.', { usage }))
  for (const tokens of [5_000, 5_500, 6_000]) await ask(tokens)
  expect(sizes()[2]).toBeGreaterThan(sizes()[1]!)
  expect(host.logged('read at most')).toEqual([])
})

test('a server that refuses each request for its size is still asked, with requests that are not empty', async () => {
  const { ask, sizes } = await localHost('llamacpp', {}, () =>
    refuse(400, 'exceeds the available context size (8 tokens)'),
  )
  const problem = expect.stringMatching(
    /\(8 tokens\); start its server with a larger context window: llama-server -m <model\.gguf> --jinja -c 16384$/,
  )
  for (let n = 0; n < 4; n++) await expect(ask(5_000)).rejects.toMatchObject({ kind: 'context_overflow', problem })
  expect(Math.min(...sizes())).toBeGreaterThan(100)
})

test('a first request is sent smaller when only its tools can shrink', async () => {
  const tool = (n: number) => ({
    name: `tool_${n}`,
    description: 'Does what its name says. '.repeat(40),
    parameters: { type: 'object', properties: {} },
  })
  const tools = Array.from({ length: 10 }, (_, n) => tool(n))
  const { ask, server } = await localHost('llamacpp', {}, ({ body }) =>
    body.tools!.length > 2 ? refuse(400, 'an unknown wording for too much') : text('Done.'),
  )
  const answer = await ask(0, { tools, toolsWithin: () => tools.slice(0, 2) })
  expect(answer.text).toBe('Done.')
  expect(server.requests).toHaveLength(2)
})

test('a small window that a refusal taught is reported with the command that forgets it', async () => {
  const { ask, host } = await localHost('llamacpp', {}, ({ body }) =>
    tokensIn(body) > 4_096 ? refuse(400, 'exceeds the available context size (4096 tokens)') : text('Done.'),
  )
  await ask(10_000)
  expect(await host.kernel.use(Models).findWindowProblem?.('llamacpp:llama3.2')).toEqual({
    problem: 'the context window of llamacpp:llama3.2 has 4096 tokens, and most agents need 8000 or more',
    remedy:
      'start its server with a larger context window: llama-server -m <model.gguf> --jinja -c 16384; if it already has one: svc models forget llamacpp:llama3.2',
  })
})

test('a system prompt that is cut to a window that a refusal taught is reported with that command, too', async () => {
  const { ask, host } = await localHost('llamacpp', {}, ({ body }) =>
    tokensIn(body) > 9_000 ? refuse(400, 'exceeds the available context size (9000 tokens)') : text('Done.'),
  )
  const system = { role: 'system', content: 'Mind what is written here. '.repeat(1_500) } as const
  await ask(10, { messages: [system, { role: 'user', content: 'Go' }] })
  expect(await host.kernel.use(Models).findWindowProblem?.('llamacpp:llama3.2', 'coder-1')).toMatchObject({
    problem: expect.stringMatching(/^the system prompt of coder-1 .* has 9000$/),
    remedy: expect.stringMatching(
      /^shorten its profile .*; if it already has one: svc models forget llamacpp:llama3\.2$/,
    ),
  })
})

test('a model that Ollama does not have is named with those that it has, and with the command that gets it', async () => {
  const { failing, host, server } = await localHost('ollama', {}, () => refuse(404, "model 'qwen3' not found"))
  const error = await failing({ model: 'ollama:qwen3' })
  expect(error).toMatchObject({ kind: 'refused', http_status: 404 })
  expect(error.problem).toBe(
    `HTTP 404: model 'qwen3' not found; ${server.url} does not list the model qwen3; it has llama3.2; get it with: ollama pull qwen3`,
  )
  const overview = (await host.kernel.invoke('models.list')) as ModelsOverview
  expect(overview.providers.find(({ name }) => name === 'ollama')).toMatchObject({ models: ['llama3.2'] })
  expect(renderModels(overview)).toMatch(/^ollama +llama3\.2 +lite /m)
  expect(renderModels(overview)).not.toContain('llama3.1')
})
