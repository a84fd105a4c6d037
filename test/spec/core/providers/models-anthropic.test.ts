import { expect, onTestFinished, test } from 'vitest'
import { type Message, type ModelCall, type ModelParameters, ModelProviders } from '#core/models/contract'
import models from '#core/models/index'
import { anthropic } from '#core/models/providers/anthropic'
import { definePlugin } from '#kernel'
import { type MessagesReply, messagesServer } from '../../../support/model/messages-server.ts'
import type { TestHostOptions } from '../../../support/test-host.ts'
import { PURPOSE, testHostForModels } from '../models/models-host.ts'

// Loads the package once, so that the first call's time limits measure the server alone.
await import('@anthropic-ai/sdk')

const SONNET = 'anthropic:claude-sonnet-4-6'

/** Opens a test host whose Anthropic models give these replies over real HTTP. */
async function testHostForAnthropic(replies: MessagesReply[], options: TestHostOptions = {}) {
  const server = await messagesServer(...replies)
  onTestFinished(() => server.close())
  const env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'sk-ant-canary-1234', ...options.env }
  const { call, failing, host } = await testHostForModels(undefined, { ...options, env })
  return {
    server,
    host,
    call: (given: Partial<ModelCall> = {}) => call({ model: SONNET, ...given }),
    failing: () => failing({ model: SONNET }),
  }
}

const user = (content: string): Message => ({ role: 'user', content })

test('an Anthropic answer is streamed, and its four classes of tokens are counted and priced', async () => {
  const usage = { input_tokens: 100, cache_creation_input_tokens: 20, cache_read_input_tokens: 300, output_tokens: 40 }
  const content = [{ thinking: 'Hm, let me see.' }, { text: 'Good morning, world.' }]
  const { call, server } = await testHostForAnthropic([{ content, usage }], {
    files: {
      'models.yaml':
        'prices:\n  anthropic:claude-sonnet-4-6: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }\n',
    },
    config: { model: { retry_delay: 0, providers: { anthropic: { free: false } } } },
  })
  const said: string[] = []
  const answer = await call({ onText: text => said.push(text) })
  expect(said.length).toBeGreaterThan(1)
  expect(said.join('')).toBe('Good morning, world.')
  expect(answer).toMatchObject({ text: 'Good morning, world.', finish_reason: 'stop', tool_calls: [] })
  expect(answer.spend).toMatchObject({
    input_tokens: 420,
    cached_tokens: 300,
    cache_write_tokens: 20,
    output_tokens: 40,
    estimated: false,
    priced: 'catalogue',
    attempts: 1,
    cost_micros: 100 * 3 + 300 * 0.3 + 20 * 3.75 + 40 * 15,
  })
  expect(server.requests[0]!.headers.authorization).toBe('Bearer sk-ant-canary-1234')
})

test("tools are offered, called and answered in Anthropic's format, and turns alternate for any transcript", async () => {
  const { call, server } = await testHostForAnthropic([
    { content: [{ text: 'I will look.' }, { tool: 'file_read', input: { path: 'a' } }, { tool: 'clock', input: {} }] },
    { content: [{ text: 'Both are there.' }] },
  ])
  const parameters = { type: 'object', properties: { path: { type: 'string' } } }
  const tools = [{ name: 'file_read', description: 'Reads a file', parameters }]
  const asked: Message[] = [{ role: 'system', content: 'You are worker.' }, user('Goal: look'), user('A nudge')]
  const first = await call({ messages: asked, tools })
  expect(first).toMatchObject({ text: 'I will look.', finish_reason: 'tool_calls' })
  expect(first.tool_calls).toMatchObject([
    { id: 'toolu_1', name: 'file_read', arguments: '{"path":"a"}' },
    { id: 'toolu_2', name: 'clock', arguments: '{}' },
  ])
  const answered: Message[] = [
    {
      role: 'assistant',
      content: first.text,
      tool_calls: [
        { id: 'toolu_1', name: 'file_read', arguments: { path: 'a' } },
        { id: 'call:2', name: 'clock', arguments: 'not JSON' },
      ],
    },
    { role: 'tool', content: 'hello', tool_call_id: 'toolu_1' },
    { role: 'tool', content: 'no such tool', tool_call_id: 'call:2', is_error: true },
    { role: 'system', content: 'Earlier messages were left out.' },
    { role: 'assistant', content: ' ' },
    user('Go on'),
  ]
  expect((await call({ messages: [...asked, ...answered], tools })).text).toBe('Both are there.')
  const { system, messages, tools: offered } = server.requests[1]!.body
  expect(system).toMatchObject([{ type: 'text', text: 'You are worker.' }])
  expect(offered).toEqual([{ name: 'file_read', description: 'Reads a file', input_schema: parameters }])
  expect(messages).toMatchObject([
    { role: 'user', content: [{ text: 'Goal: look\n\nA nudge' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I will look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'file_read', input: { path: 'a' } },
        { type: 'tool_use', id: 'call_2', name: 'clock', input: { unparsed: 'not JSON' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'hello' },
        { type: 'tool_result', tool_use_id: 'call_2', content: 'no such tool', is_error: true },
        { type: 'text', text: 'Earlier messages were left out.\n\nGo on', cache_control: { type: 'ephemeral' } },
      ],
    },
  ])
})

test('the end of the previous request stays marked for the cache, however many calls its answer makes', async () => {
  const { call, server } = await testHostForAnthropic([])
  const turn = (name: string): Message[] => {
    const ids = Array.from({ length: 32 }, (_, n) => `${name}_${n}`)
    return [
      { role: 'assistant', content: name, tool_calls: ids.map(id => ({ id, name: 'clock', arguments: {} })) },
      ...ids.map((id): Message => ({ role: 'tool', content: `${id} ran`, tool_call_id: id })),
    ]
  }
  const first: Message[] = [{ role: 'system', content: 'You are worker.' }, user('Goal: look'), ...turn('one')]
  await call({ messages: first })
  await call({ messages: [...first, ...turn('two')] })
  const marks = server.requests.map(({ body: { system = [], messages } }) =>
    [...system, ...messages.flatMap(({ content }) => content)]
      .filter(block => block.cache_control)
      .map(block => block.text ?? ('tool_use_id' in block && block.tool_use_id)),
  )
  expect(marks).toEqual([
    ['You are worker.', 'Goal: look', 'one_31'],
    ['You are worker.', 'one_31', 'two_31'],
  ])
})

test('a single call marks only the system prompt for the cache, because nothing continues it', async () => {
  const { call, server } = await testHostForAnthropic([])
  const messages: Message[] = [{ role: 'system', content: 'You are worker.' }, user('What is worth doing?')]
  await call({ messages, purpose: { ...PURPOSE, kind: 'goal_generation' } })
  const { system = [], messages: sent } = server.requests[0]!.body
  expect(system.map(block => Boolean(block.cache_control))).toEqual([true])
  expect(sent.flatMap(({ content }) => content).map(block => Boolean(block.cache_control))).toEqual([false])
})

test('a conversation whose beginning is gone still begins with the user', async () => {
  const { call, server } = await testHostForAnthropic([])
  await call({ messages: [{ role: 'assistant', content: 'As I said.' }, user('And then?')] })
  expect(server.requests[0]!.body.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
})

test.for([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
] as const)('the stop reason %s is reported as %s', async ([stop_reason, finish_reason]) => {
  const { call } = await testHostForAnthropic([{ content: [{ text: 'So far.' }], stop_reason }])
  expect((await call()).finish_reason).toBe(finish_reason)
})

test('an overload and a rate limit are waited out, and cost nothing', async () => {
  const { call, server, host } = await testHostForAnthropic([
    { status: 529, type: 'overloaded_error', message: 'Overloaded' },
    { status: 429, type: 'rate_limit_error', message: 'Slow down', headers: { 'retry-after': '60' } },
    { content: [{ text: 'Here.' }] },
  ])
  expect(await call()).toMatchObject({ text: 'Here.', spend: { attempts: 3, input_tokens: 10, output_tokens: 5 } })
  expect(server.requests).toHaveLength(3)
  expect(host.logged('HTTP 529: Overloaded')).toHaveLength(1)
  expect(host.logged('HTTP 429: Slow down')).toHaveLength(1)
})

test('the wait that a rate limit asks for is passed to the caller', async () => {
  const limit = { status: 429, type: 'rate_limit_error', message: 'Slow down', headers: { 'retry-after': '3600' } }
  const { failing } = await testHostForAnthropic([limit, limit, limit])
  expect(await failing()).toMatchObject({ kind: 'rate_limited', retryAfter: 3600, spend: { cost_micros: 0 } })
})

test.for(['overloaded_error', 'cut'] as const)(
  'a stream that breaks off (%s) is requested once more without streaming',
  async breaks => {
    const { call, server } = await testHostForAnthropic([
      { content: [{ text: 'Half of' }], breaks },
      { content: [{ text: 'All of it.' }, { tool: 'clock', input: { now: true } }] },
    ])
    const answer = await call()
    expect(answer).toMatchObject({ text: 'All of it.', spend: { attempts: 2 } })
    expect(answer.tool_calls).toMatchObject([{ name: 'clock', arguments: '{"now":true}' }])
    expect(server.requests.map(({ body }) => body.stream)).toEqual([true, false])
  },
)

test.for([
  [401, 'authentication_error', 'auth'],
  [400, 'invalid_request_error', 'refused'],
  [404, 'not_found_error', 'refused'],
] as const)('a refusal with status %s is not retried, and its message shows no key', async ([status, type, kind]) => {
  const refusal = { status, type, message: 'The key sk-ant-canary-1234 is not known' }
  const { failing, server } = await testHostForAnthropic([refusal])
  const error = await failing()
  expect(error).toMatchObject({ kind, transient: false, spend: { attempts: 1, cost_micros: 0 } })
  expect(error.message).toContain(`HTTP ${status}: The key *** is not known`)
  expect(server.requests).toHaveLength(1)
})

test.for<[model: string, parameters: ModelParameters, sent: object, max_tokens: number]>([
  ['claude-opus-5-5', {}, { thinking: { type: 'adaptive', display: 'summarized' } }, 3_000],
  ['claude-fable-5-2', { reasoning_effort: 'max' }, { output_config: { effort: 'max' } }, 3_000],
  ['claude-sonnet-5', { thinking_tokens: 500 }, { thinking: { type: 'adaptive', display: 'summarized' } }, 1_500],
  ['claude-opus-5', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }, 1_000],
  ['claude-sonnet-5-5', { reasoning_effort: 'none' }, { thinking: { type: 'between_tools' } }, 1_000],
  [
    ...(['claude-opus-5-5', { reasoning_effort: 'none' }] as const),
    ...([{ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }, 1_000] as const),
  ],
  ['claude-opus-4-6', { reasoning_effort: 'high' }, { thinking: { type: 'adaptive' } }, 3_000],
  ['claude-opus-4-6', { thinking_tokens: 2_000 }, { thinking: { type: 'enabled', budget_tokens: 2_000 } }, 3_000],
])('%s with %o thinks as its generation allows', async ([model, parameters, sent, max_tokens]) => {
  const answer = { content: [{ thinking: 'Hm, let me see.' }, { text: 'Good morning.' }] }
  const { call, server } = await testHostForAnthropic([answer])
  const { text, reasoning } = await call({ model: `anthropic:${model}`, parameters, max_tokens: 1_000 })
  expect(text).toBe('Good morning.')
  expect(server.requests.at(-1)!.body).toMatchObject({ ...sent, max_tokens })
  if (parameters.reasoning_effort !== 'none') expect(reasoning).toBe('Hm, let me see.')
})

test('an older model does not think unless it is asked to', async () => {
  const { call, server } = await testHostForAnthropic([])
  await call({ max_tokens: 1_000 })
  expect(server.requests[0]!.body).not.toHaveProperty('thinking')
  expect(server.requests[0]!.body.max_tokens).toBe(1_000)
})

test("a profile's temperature is not sent, because the API refuses it", async () => {
  const { call, server } = await testHostForAnthropic([])
  await call({ temperature: 1 })
  expect(server.requests[0]!.body).not.toHaveProperty('temperature')
})

test('a server that is gone is reported as unreachable', async () => {
  const { failing, server } = await testHostForAnthropic([])
  await server.close()
  expect(await failing()).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('cannot be reached') })
})

test('without ANTHROPIC_API_KEY the call fails, and models.list names the variable', async () => {
  const { failing, host } = await testHostForModels()
  expect(await failing({ model: 'claude-haiku-4-5' })).toMatchObject({ kind: 'auth', transient: false })
  const { providers } = (await host.kernel.invoke('models.list')) as { providers: { name: string; reason: string }[] }
  expect(providers.find(({ name }) => name === 'anthropic')?.reason).toBe('ANTHROPIC_API_KEY is not set')
})

test('a package that is not installed is named with the command that installs it', async () => {
  const gone = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
  const endpoint = {
    name: 'claude',
    base_url: 'http://127.0.0.1:9',
    base_url_from: '',
    key_env: '',
    key: undefined,
    start: undefined,
    needs_key: false,
    free: false,
    model: 'any',
    organization: null,
    project: null,
  }
  const bare = definePlugin({
    name: 'bare',
    setup: svc =>
      void svc.add(
        ModelProviders,
        anthropic(endpoint, svc.ports, () => Promise.reject(gone)),
      ),
  })
  const { call, host } = await testHostForModels(undefined, { builtins: [models, bare] })
  const missing = { code: 'missing_dependency', message: expect.stringContaining('npm install @anthropic-ai/sdk') }
  await expect(call({ model: 'claude' })).rejects.toMatchObject(missing)
  const { providers } = (await host.kernel.invoke('models.list')) as { providers: { name: string; reason: string }[] }
  expect(providers.find(({ name }) => name === 'claude')?.reason).toContain('npm install @anthropic-ai/sdk')
  // A fallback named for this case answers instead.
  const answer = await call({ model: 'claude', fallback: ['openai:scripted-1'] })
  expect(answer).toMatchObject({ text: 'All done.', spend: { failover_from: 'claude:any' } })
})
