import { expect, test } from 'vitest'
import type { CallPurpose, Message } from '#core/models/contract'
import { wireRequest } from '#core/models/providers/openai-wire'
import { cacheHints } from '#core/models/providers/prompt-cache'
import { refuse, text } from '../../../support/index.ts'
import { modelServer } from '../../../support/model/model-server.ts'
import { PURPOSE, QUICK, testHostForModels } from '../models/models-host.ts'

const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit' } }
const EPHEMERAL = { cache_control: { type: 'ephemeral' } }
const KEY = expect.stringMatching(/^[0-9a-f]{32}$/)

const turn = (name: string, count: number): Message[] => {
  const ids = Array.from({ length: count }, (_, n) => `${name}_${n}`)
  return [
    { role: 'assistant', content: '', tool_calls: ids.map(id => ({ id, name: 'clock', arguments: {} })) },
    ...ids.map((id): Message => ({ role: 'tool', content: `${id} ran`, tool_call_id: id })),
  ]
}
const CONVERSATION: Message[] = [
  { role: 'system', content: 'You are worker.' },
  { role: 'user', content: 'Goal: look' },
  ...turn('one', 3),
  ...turn('two', 2),
]
const TOOLS = [{ name: 'clock', description: 'Returns the time', parameters: { type: 'object', properties: {} } }]

const REQUEST = { model: 'anthropic/claude-sonnet-5', tools: [], temperature: 0, max_tokens: 100, purpose: PURPOSE }

/** Returns the body, headers and marked texts of a request to a provider of this name. */
async function sentTo(provider: string, model: string, purpose: Partial<CallPurpose> = {}) {
  const server = await modelServer({ script: () => text('Done.') })
  const providers = provider === 'openai' ? {} : { [provider]: { base_url: server.url } }
  const { call } = await testHostForModels(undefined, {
    config: { ...QUICK, model: { ...QUICK.model, providers } },
    env: { [`${provider.toUpperCase()}_BASE_URL`]: server.url },
  })
  await call({
    model: `${provider}:${model}`,
    messages: CONVERSATION,
    tools: TOOLS,
    purpose: { ...PURPOSE, ...purpose },
  })
  const { body, headers } = server.requests[0]!
  await server.close()
  const marked = body.messages.flatMap(({ parts = [] }) => parts as { text: string }[])
  return { body: body as unknown as Record<string, unknown>, headers, marked }
}

test('a model of OpenAI that charges for its cache gets a key for each agent, and a mark after the system prompt', async () => {
  const { body, marked } = await sentTo('openai', 'gpt-5.6-terra')
  expect(body).toMatchObject({ prompt_cache_key: KEY })
  expect(body).not.toHaveProperty('prompt_cache_options')
  expect(marked).toEqual([{ type: 'text', text: 'You are worker.', ...BREAKPOINT }])
  const [again, other] = [await sentTo('openai', 'gpt-6-sol'), await sentTo('openai', 'gpt-6-sol', { agent_id: 'b-2' })]
  expect(again.body.prompt_cache_key).toBe(body.prompt_cache_key)
  expect(other.body.prompt_cache_key).not.toBe(body.prompt_cache_key)
})

test.for(['goal_generation', 'summary', 'other'] as const)(
  'a single call for %s writes nothing to the cache but its system prompt',
  async kind => {
    expect(await sentTo('openai', 'gpt-5.6-luna', { kind })).toMatchObject({
      body: { prompt_cache_options: { mode: 'explicit' } },
      marked: [{ text: 'You are worker.' }],
    })
    expect((await sentTo('openrouter', 'anthropic/claude-sonnet-5', { kind })).marked).toMatchObject([
      { text: 'You are worker.' },
    ])
  },
)

test('Claude at OpenRouter gets marks, which keep its requests with one of its servers', async () => {
  const { body, marked } = await sentTo('openrouter', 'anthropic/claude-sonnet-5')
  expect(body).toMatchObject({ session_id: KEY })
  expect(body).not.toHaveProperty('prompt_cache_key')
  expect(marked).toEqual(
    ['You are worker.', 'one_2 ran', 'two_1 ran'].map(each => ({ type: 'text', text: each, ...EPHEMERAL })),
  )
})

test('a mark stands at the text of a message with an image', async () => {
  const facts = { sha256: '0', media_type: 'image/png' as const, width: 1, height: 1, bytes: 2, data: 'aGk=' }
  const image = { role: 'user' as const, content: 'Look at this', images: [facts] }
  const request = { ...REQUEST, messages: [image] }
  const sent = wireRequest(request, 'openrouter', cacheHints(request, 'openrouter'))
  expect(sent.messages[0]!.content).toMatchObject([{ type: 'text', ...EPHEMERAL }, { type: 'image_url' }])
})

test.for([
  ['openrouter', 'openai/gpt-5.6-sol', { session_id: KEY, prompt_cache_key: KEY }, 1],
  ['openrouter', 'qwen/qwen3-coder', { session_id: KEY }, 0],
  ['mistral', 'devstral-2', { prompt_cache_key: KEY }, 0],
  ['xai', 'grok-4.7', {}, 0],
  ['openai', 'qwen3', {}, 0],
  ['litellm', 'gpt-5.6-sol', { prompt_cache_key: KEY }, 1],
] as const)('%s gets the hints that it takes for %s', async ([provider, model, fields, marks]) => {
  const { body, headers, marked } = await sentTo(provider, model)
  const { session_id, prompt_cache_key } = body
  expect({ session_id, prompt_cache_key }).toEqual({ session_id: undefined, prompt_cache_key: undefined, ...fields })
  expect(marked).toHaveLength(marks)
  expect(headers['x-grok-conv-id']).toEqual(provider === 'xai' ? KEY : undefined)
})

test.for([
  ["Unknown parameter: 'messages[0].content[0].prompt_cache_breakpoint'.", { prompt_cache_key: KEY }, 0],
  ['Unrecognized request argument supplied: prompt_cache_key', {}, 1],
] as const)('a server that answers "%s" gets the request without it', async ([message, fields, marks]) => {
  const { call, server } = await testHostForModels([refuse(400, message), text('Done.'), text('Again.')])
  const ask = () => call({ model: 'openai:gpt-5.6-terra', messages: CONVERSATION, tools: TOOLS })
  expect([(await ask()).text, (await ask()).text]).toEqual(['Done.', 'Again.'])
  for (const { body } of server.requests.slice(1)) {
    const { prompt_cache_key } = body as { prompt_cache_key?: string }
    expect({ prompt_cache_key }).toEqual({ prompt_cache_key: undefined, ...fields })
    const parts = body.messages.flatMap(({ parts = [] }) => parts as object[])
    expect(parts.filter(part => 'prompt_cache_breakpoint' in part)).toHaveLength(marks)
  }
})
