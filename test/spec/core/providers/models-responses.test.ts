import { expect, test } from 'vitest'
import type { Message, ModelAnswer, ModelRequest } from '#core/models/contract'
import { usesResponses } from '#core/models/providers/openai'
import { responsesRequest } from '#core/models/providers/responses-request'
import { fault, refuse, text, toolCall } from '../../../support/index.ts'
import { together } from '../../../support/model/model-server.ts'
import { PURPOSE, QUICK, testHostForModels } from '../models/models-host.ts'

const MODEL = 'openai:gpt-5.6-terra'
const CLOCK = { name: 'clock', description: 'Returns the time', parameters: { type: 'object', properties: {} } }
const CONVERSATION: Message[] = [
  { role: 'system', content: 'You are worker.' },
  { role: 'user', content: 'Goal: say the time' },
]
const ASKED = { model: MODEL, messages: CONVERSATION, tools: [CLOCK] }

/** Returns the conversation with an answer, and the results of its calls. */
function continued(before: readonly Message[], { text, provider_data, tool_calls }: ModelAnswer): Message[] {
  const calls = tool_calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: JSON.parse(args) }))
  return [
    ...before,
    {
      role: 'assistant',
      content: text,
      ...(provider_data ? { provider_data } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
    ...calls.map(({ id, name }): Message => ({ role: 'tool', tool_call_id: id, name, content: '12:30' })),
  ]
}

/** A host whose server refuses what OpenAI refuses. */
const openai: typeof testHostForModels = (script, options, serving) =>
  testHostForModels(script, options, { dialect: 'openai', ...serving })

test('a model that accepts tools only in the Responses API is called through it, and keeps its reasoning', async () => {
  const { call, server } = await openai([
    { ...together(text('I look.'), toolCall('clock')), reasoning: 'The clock knows.', fields: { phase: 'commentary' } },
    text('It is 12:30.', { fields: { phase: 'final_answer' } }),
  ])
  const first = await call(ASKED)
  expect(first).toMatchObject({
    text: 'I look.',
    reasoning: 'The clock knows.',
    tool_calls: [{ name: 'clock', arguments: '{}' }],
    finish_reason: 'tool_calls',
    provider_data: { model: MODEL },
    spend: { estimated: false },
  })
  const second = await call({ ...ASKED, messages: continued(CONVERSATION, first) })
  expect(second).toMatchObject({ text: 'It is 12:30.', finish_reason: 'stop' })
  const [refused, one, two] = server.requests
  expect(refused).not.toHaveProperty('responses')
  expect(one!.responses).toMatchObject({ store: false, include: ['reasoning.encrypted_content'], stream: true })
  expect(two!.responses!.input.slice(2)).toEqual([
    {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'The clock knows.' }],
      encrypted_content: 'encrypted:The clock knows.',
    },
    { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
    { type: 'function_call', call_id: 'call_2_0', name: 'clock', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_2_0', output: '12:30' },
  ])
  expect(server.refusals).toHaveLength(1)
})

test('the reasoning of earlier turns is sent back to models that read it, so that the request only grows', async () => {
  const { call, server } = await openai([{ ...text('Hello.'), reasoning: 'Greet.' }])
  await call(ASKED)
  const messages: Message[] = [
    ...continued(CONVERSATION, await call(ASKED)),
    { role: 'user', content: 'And the date?' },
  ]
  server.enqueue({ ...toolCall('clock'), reasoning: 'Look.' }, text('Monday.'))
  await call({ ...ASKED, messages: continued(messages, await call({ ...ASKED, messages })) })
  const [one, two] = server.requests.slice(-2).map(({ responses }) => responses!.input)
  expect(two!.slice(0, one!.length)).toEqual(one)
})

test.for([
  ['https://api.openai.com/v1', 'gpt-5.4-mini', [], true],
  ['https://eu.api.openai.com/v1', 'o4-mini', [], true],
  ['https://api.openai.com/v1', 'gpt-4.1', [], false],
  ['https://api.openai.com.example/v1', 'gpt-5.6-sol', [], false],
  ['https://mine.openai.azure.com/openai/v1', 'gpt-5.6-sol', [], false],
  ['https://mine.openai.azure.com/openai/v1', 'gpt-5.6-sol', ['chat_completions'], true],
  ['http://127.0.0.1:4000', 'gpt-5.6-sol', ['chat_completions', 'responses'], false],
] as const)('at %s, %s without %j: Responses API %j', ([base_url, model, omit, expected]) => {
  const request = { model, omit: new Set<string>(omit) } as unknown as ModelRequest
  expect(usesResponses({ base_url }, request)).toBe(expected)
})

test('a server without the Responses API is called with chat completions, and the model does not think', async () => {
  const { call, server } = await openai([toolCall('clock'), text('Done.')], {}, { responses: false })
  expect(await call(ASKED)).toMatchObject({ tool_calls: [{ name: 'clock' }] })
  await call(ASKED)
  const efforts = server.requests.map(({ body }) => body.reasoning_effort)
  expect(efforts).toEqual([undefined, 'none', 'none'])
})

test('parameters, format and cache hints stand where the API expects them', async () => {
  const { call, server } = await openai([text('{"at":"noon"}')])
  const schema = {
    type: 'object',
    properties: { at: { type: 'string' } },
    required: ['at'],
    additionalProperties: false,
  }
  await call({
    ...ASKED,
    max_tokens: 10,
    parameters: { reasoning_effort: 'high', verbosity: 'low', seed: 1, stop: ['x'], extra: { service_tier: 'flex' } },
    response_schema: { name: 'time', schema },
  })
  expect(server.requests[1]!.responses).toMatchObject({
    max_output_tokens: 30,
    reasoning: { effort: 'high', summary: 'auto' },
    text: { verbosity: 'low', format: { type: 'json_schema', name: 'time', schema, strict: true } },
    service_tier: 'flex',
    prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/),
    tools: [{ type: 'function', name: 'clock', strict: false }],
    input: [
      {
        role: 'system',
        content: [{ type: 'input_text', text: 'You are worker.', prompt_cache_breakpoint: { mode: 'explicit' } }],
      },
      { role: 'user', content: [{ type: 'input_text', text: 'Goal: say the time' }] },
    ],
  })
})

test.for([
  ['gpt-5.6-terra', {}, 3_000],
  ['gpt-5.6-terra', { reasoning_effort: 'none' }, 1_000],
  ['gpt-5.6-terra', { thinking_tokens: 500 }, 1_500],
  ['gpt-5.4', { reasoning_effort: 'low' }, 3_000],
  ['gpt-5.4', {}, 1_000],
  ['gpt-4.1', {}, 1_000],
] as const)(
  '%s with %j may write %i tokens, thoughts included, for an answer of 1000',
  async ([model, parameters, most]) => {
    const { call, server } = await openai([text('Done.')])
    await call({ ...ASKED, model: `openai:${model}`, parameters })
    const { max_tokens, max_completion_tokens } = server.requests.at(-1)!.body
    expect(max_tokens ?? max_completion_tokens).toBe(most)
  },
)

test('images of a user message are sent', () => {
  const facts = { sha256: '0', media_type: 'image/png' as const, width: 1, height: 1, bytes: 2, data: 'aGk=' }
  const message = { role: 'user' as const, content: 'Look', images: [facts] }
  const request = {
    model: 'gpt-6-sol',
    messages: [message],
    tools: [],
    temperature: 0,
    max_tokens: 99,
    purpose: PURPOSE,
  }
  expect(responsesRequest(request, { fields: {} }).input).toEqual([
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
      ],
    },
  ])
})

test.for([
  ['length', 'length'],
  ['content_filter', 'content_filter'],
] as const)('an answer cut by %s is reported as such', async ([given, expected]) => {
  const { call } = await openai([text('Half of', { finish_reason: given })])
  expect(await call(ASKED)).toMatchObject({ text: 'Half of', finish_reason: expected })
})

test('a stream that breaks off is asked for whole', async () => {
  const { call, server } = await openai([fault('cleancut', 'Half of'), { ...text('The whole.'), reasoning: 'Again.' }])
  expect(await call(ASKED)).toMatchObject({ text: 'The whole.', reasoning: 'Again.' })
  expect(server.requests.map(({ responses }) => responses?.stream)).toEqual([undefined, true, false])
})

test.for([
  [
    'Your organization must be verified to generate reasoning summaries.',
    { reasoning: {}, include: ['reasoning.encrypted_content'] },
  ],
  ['Encrypted content is not supported with this model.', { reasoning: { summary: 'auto' } }],
  [
    "Unsupported value: 'reasoning.effort' does not support 'max' with this model.",
    { reasoning: { summary: 'auto' }, include: ['reasoning.encrypted_content'] },
  ],
] as const)('a refusal "%s" is followed by a request without it', async ([message, expected]) => {
  const { call, server } = await openai([refuse(400, message), text('Done.')])
  const { text: answered } = await call({
    ...ASKED,
    parameters: message.includes('max') ? { reasoning_effort: 'max' } : {},
  })
  expect(answered).toBe('Done.')
  const { reasoning, include } = server.requests.at(-1)!.responses!
  expect({ reasoning, ...(include ? { include } : {}) }).toEqual(expected)
})

test('reasoning that the server cannot read is left out, and the call goes on', async () => {
  const { call, server } = await openai([toolCall('clock'), text('Done.')])
  const first = await call(ASKED)
  const item = { type: 'reasoning', summary: [], encrypted_content: 'of another key' }
  const provider_data = { model: MODEL, fields: { reasoning: [{ after: 0, item }] } }
  const messages = continued(CONVERSATION, { ...first, provider_data })
  expect(await call({ ...ASKED, messages })).toMatchObject({ text: 'Done.' })
  expect(server.requests.at(-1)!.responses!.input.map(({ type }) => type)).not.toContain('reasoning')
})

const BEGUN = { type: 'response.created', response: { status: 'in_progress' } }
const HALF = { type: 'response.output_text.delta', delta: 'Half' }
const WHOLE = [
  { type: 'response.output_text.delta', delta: 'Whole.' },
  { type: 'response.completed', response: { status: 'completed', output: [] } },
]

/** A stream of exactly these events, with a pause in seconds where a number stands. */
const streamed = (...events: (object | number)[]) => text('', { events: [BEGUN, ...events] })

test.for([
  { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down' },
  { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'Sorry' } } },
])('an error in the middle of a stream is retried: %j', async event => {
  const { call } = await openai([streamed(HALF, event), text('Whole.')])
  expect(await call(ASKED)).toMatchObject({ text: 'Whole.', spend: { attempts: 2 } })
})

test('a model may think in silence as long as before its first piece, but not stop in the middle of its text', async () => {
  const thinks = { type: 'response.output_item.added', item: { type: 'reasoning', summary: [] } }
  const config = { ...QUICK, model: { ...QUICK.model, idle_timeout: 0.5, first_byte_timeout: 10 } }
  const { call } = await openai([streamed(thinks, 1, ...WHOLE), streamed(HALF, 60), streamed(...WHOLE)], { config })
  expect(await call(ASKED)).toMatchObject({ text: 'Whole.', spend: { attempts: 1 } })
  expect(await call(ASKED)).toMatchObject({ text: 'Whole.', spend: { attempts: 2 } })
})
