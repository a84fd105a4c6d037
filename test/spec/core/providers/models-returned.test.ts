import { expect, test } from 'vitest'
import type { Message, ModelAnswer, ModelCall } from '#core/models/contract'
import {
  type Answer,
  type ModelServerOptions,
  type Reply,
  runHeartbeat,
  text,
  toolCall,
} from '../../../support/index.ts'
import { SIGNATURE } from '../../../support/model/messages-rules.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, goalsOf, rows, spawn, testHostWithModel } from '../models/model-host.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

await import('@anthropic-ai/sdk')

const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const GOAL: Message = { role: 'user', content: 'Goal: look' }

/** Returns the answer as it is stored, and the results of its calls. */
function storedMessages({ text: content, reasoning, provider_data, tool_calls }: ModelAnswer): Message[] {
  const calls = tool_calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: JSON.parse(args) }))
  return [
    {
      role: 'assistant',
      content,
      tool_calls: calls,
      ...(reasoning ? { reasoning } : {}),
      ...(provider_data ? { provider_data } : {}),
    },
    ...calls.map(({ id, name }): Message => ({ role: 'tool', tool_call_id: id, name, content: 'a cat' })),
  ]
}

/** Opens a provider of this name whose server refuses what the dialect refuses of models that think. */
async function thinking(provider: string, replies: Reply[], serving: ModelServerOptions = {}) {
  const { server, ...home } = await testHostForModels(replies, {}, serving)
  const config = { ...QUICK, model: { ...QUICK.model, providers: { [provider]: { base_url: server.url } } } }
  const opened = await testHostForModels([], { config })
  const call = (given: Partial<ModelCall>) => opened.call({ model: `${provider}:m`, tools: [LOOK], ...given })
  return { ...home, server, call }
}

const withThinking = (answer: Answer, more: Partial<Answer>): Answer => ({ ...answer, ...more })

test('DeepSeek gets its reasoning back with each call, and an empty one with the calls of other models', async () => {
  const reasoning = 'The cat is in the box.'
  const replies = [
    withThinking(toolCall('look'), { reasoning }),
    withThinking(toolCall('look'), { reasoning }),
    text('A cat.'),
  ]
  const { call, server } = await thinking('deepseek', replies, { dialect: 'deepseek', thinks: true })
  const first = await call({ messages: [GOAL] })
  expect(first).toMatchObject({
    reasoning,
    provider_data: { model: 'deepseek:m', fields: { reasoning_content: reasoning } },
  })
  const second = await call({ messages: [GOAL, ...storedMessages(first)] })
  expect(server.requests[1]!.body.messages[1]).toMatchObject({ reasoning_content: reasoning })
  const foreign = storedMessages({
    ...second,
    provider_data: { model: 'openai:o9', fields: { reasoning_details: [{ x: 1 }] } },
  })
  const before = [GOAL, ...storedMessages(first), { role: 'user' as const, content: 'And now?' }, ...foreign]
  expect((await call({ messages: before })).text).toBe('A cat.')
  const sent = server.requests[2]!.body.messages.filter(({ role }) => role === 'assistant')
  expect(sent.map(each => each.reasoning_content)).toEqual([reasoning, ''])
  expect(JSON.stringify(sent)).not.toContain('reasoning_details')
  expect(server.refusals).toEqual([])
})

test('Gemini gets its signatures back, and a placeholder with the calls of other models', async () => {
  const signed = toolCall('look')
  signed.tool_calls[0]!.extra_content = { google: { thought_signature: 'signed' } }
  const replies = [signed, text('A cat.'), text('A cat.')]
  const { call, server } = await thinking('gemini', replies, { dialect: 'gemini', thinks: true })
  const answer = await call({ model: 'gemini:gemini-3-pro', messages: [GOAL] })
  await call({ model: 'gemini:gemini-3-pro', messages: [GOAL, ...storedMessages(answer)] })
  expect(server.requests[1]!.body.messages[1]!.tool_calls).toMatchObject([
    { extra_content: { google: { thought_signature: 'signed' } } },
  ])
  await call({ model: 'gemini:gemini-3-flash', messages: [GOAL, ...storedMessages(answer)] })
  expect(JSON.stringify(server.requests[2]!.body.messages[1])).toContain('skip_thought_signature_validator')
  expect(server.refusals).toEqual([])
})

test('OpenRouter gets the details of its reasoning back, with their pieces joined', async () => {
  const details = [
    { type: 'reasoning.text', index: 0, text: 'The cat', signature: null },
    { type: 'reasoning.text', index: 0, text: ' is in.', signature: 'signed' },
  ]
  const { call, server } = await thinking('openrouter', [
    withThinking(toolCall('look'), { fields: { reasoning_details: details } }),
    text('A cat.'),
  ])
  const answer = await call({ messages: [GOAL] })
  await call({ messages: [GOAL, ...storedMessages(answer)] })
  expect(server.requests[1]!.body.messages[1]).toMatchObject({
    reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'The cat is in.', signature: 'signed' }],
  })
})

test("Mistral's thinking is reported as reasoning, and is sent back as a part of the content", async () => {
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'A box.' }] },
    { type: 'text', text: 'I look.' },
  ]
  const { call, server } = await thinking('mistral', [
    withThinking(toolCall('look'), { fields: { content: parts } }),
    text('A cat.'),
  ])
  const answer = await call({ messages: [GOAL] })
  expect(answer).toMatchObject({ text: 'I look.', reasoning: 'A box.' })
  await call({ messages: [GOAL, ...storedMessages(answer)] })
  expect(server.requests[1]!.body.messages[1]!.parts).toEqual(parts)
})

test('Anthropic gets its signed thinking back while its calls are answered, and does not think where it is lost', async () => {
  const parameters = { thinking_tokens: 2_000 }
  const { server } = await testHostForModels([
    withThinking({ ...toolCall('look'), text: 'I look.' }, { reasoning: 'A box.' }),
    withThinking(toolCall('look'), { reasoning: 'Another box.' }),
    text('A cat.'),
    text('A cat.'),
    text('A cat.'),
  ])
  const { call: ask } = await testHostForModels([], {
    env: { ANTHROPIC_BASE_URL: server.origin, ANTHROPIC_API_KEY: 'k' },
  })
  const model = 'anthropic:claude-sonnet-4-6'
  const anthropic = (messages: Message[]) => ask({ model, messages, tools: [LOOK], parameters })
  const first = await anthropic([GOAL])
  expect(first).toMatchObject({ text: 'I look.', reasoning: 'A box.', finish_reason: 'tool_calls' })
  const second = await anthropic([GOAL, ...storedMessages(first)])
  const { thinking: asked, max_tokens, messages } = server.requests[1]!.messages!
  expect({ asked, max_tokens }).toEqual({ asked: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 3_000 })
  expect(messages[1]!.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use'])
  expect(messages[1]!.content[0]).toEqual({ type: 'thinking', thinking: 'A box.', signature: SIGNATURE })
  const turn = [GOAL, ...storedMessages(first), ...storedMessages(second)]
  // Messages of the operator that come after results belong to the same turn.
  await anthropic([...turn, { role: 'user', content: 'Be quick.' }, { role: 'user', content: '(A hint.)' }])
  expect(server.requests[2]!.messages!).toMatchObject({ thinking: { type: 'enabled' } })
  expect(JSON.stringify(server.requests[2]!.messages!.messages).match(/"type":"thinking"/g)).toHaveLength(2)
  // After a new message of the user it stays, and what comes before it stays cached.
  await anthropic([...turn, { role: 'assistant', content: 'A cat.' }, { role: 'user', content: 'Sure?' }])
  expect(JSON.stringify(server.requests[3]!.messages!.messages).match(/"type":"thinking"/g)).toHaveLength(2)
  // Without the thinking that led to its calls the API would refuse to think.
  await anthropic([GOAL, ...storedMessages({ ...first, provider_data: { model: 'deepseek:m', fields: {} } })])
  expect(server.requests[4]!.messages).not.toHaveProperty('thinking')
  expect(server.refusals).toEqual([])
})

test('thinking that Anthropic refuses, because the prompt before it changed, is left out from then on', async () => {
  const message =
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.'
  const { server } = await testHostForModels([
    withThinking(toolCall('look'), { reasoning: 'A box.' }),
    { kind: 'refusal', status: 400, message, headers: {} },
    withThinking(toolCall('look'), { reasoning: 'Another box.' }),
    text('A cat.'),
  ])
  const { call: ask } = await testHostForModels([], {
    env: { ANTHROPIC_BASE_URL: server.origin, ANTHROPIC_API_KEY: 'k' },
  })
  const anthropic = (messages: Message[]) => ask({ model: 'anthropic:claude-opus-5-5', messages, tools: [LOOK] })
  const begun = [GOAL, ...storedMessages(await anthropic([GOAL]))]
  const second = await anthropic(begun)
  await anthropic([...begun, ...storedMessages(second)])
  const sent = server.requests.map(({ messages }) => JSON.stringify(messages!.messages))
  expect(sent.map(request => [...request.matchAll(/"thinking":"(.+?)"/g)].map(([, words]) => words))).toEqual([
    [],
    ['A box.'],
    [],
    ['Another box.'],
  ])
})

test('reasoning to send back counts in tokens, and is not stored when it is larger than 256 KiB', async () => {
  const { call, models } = await testHostForModels([
    withThinking(toolCall('look'), { reasoning: 'x'.repeat(4_000) }),
    withThinking(toolCall('look'), { reasoning: 'x'.repeat(300_000) }),
  ])
  const answer = await call({ tools: [LOOK] })
  const measureContext = async (messages: Message[]) => {
    const purpose = { agent_id: 'a', goal_id: null, cycle_num: 1, kind: 'other' } as const
    const report = await models.measure!({ model: 'openai:scripted-1', messages, tools: [], max_tokens: 100, purpose })
    return report.sections.messages
  }
  const { provider_data: _, ...bare } = answer
  const more =
    (await measureContext([GOAL, ...storedMessages(answer)])) - (await measureContext([GOAL, ...storedMessages(bare)]))
  expect(more).toBeGreaterThan(900)
  const larger = await call({ tools: [LOOK] })
  expect(larger.reasoning).toHaveLength(300_000)
  expect(larger).not.toHaveProperty('provider_data')
})

test('an answer of reasoning only is not stored, and the model is asked again', async () => {
  const replies = [text('', { reasoning: 'Let me see.' }), text(''), finish('Done.')]
  await using home = await testHostWithModel(request => (asksForGoal(request) ? goalAnswer('') : replies.shift()))
  const id = await spawn(home)
  await home.kernel.invoke('goals.add', { id, objective: 'Look' })
  home.kernel.heartbeat.start()
  for (let n = 0; n < 8 && replies.length > 0; n++) await runHeartbeat(home)
  expect((await goalsOf(home, id))[0]).toMatchObject({ status: 'completed', result: 'Done.' })
  const stored = await rows<{ message: string }>(home, 'SELECT message FROM goal_transcripts ORDER BY seq')
  const answers = stored.map(({ message }) => JSON.parse(message) as Message).filter(({ role }) => role === 'assistant')
  expect(answers.map(({ tool_calls }) => tool_calls?.[0]?.name)).toEqual(['finish_goal'])
  expect(home.server.refusals).toEqual([])
})
