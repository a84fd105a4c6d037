import { expect, test } from 'vitest'
import { type ModelServerRequest, refuse, text, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { goalAnswer, recordingTools } from '../../safety/approvals-host.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

const LOOK = {
  name: 'look',
  description: 'Looks closely.',
  parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
}
const PROMPTED = { ...QUICK, model: { ...QUICK.model, providers: { openai: { tool_calls: 'prompted' } } } }
const block = (name: string, args: unknown) => `\`\`\`tool_call\n${JSON.stringify({ name, arguments: args })}\n\`\`\``

const roles = ({ body }: ModelServerRequest) => body.messages.map(({ role }) => role)

test('a model without tool support gets the tools in the prompt, and its calls are parsed from the text', async () => {
  const { server, call } = await testHostForModels(
    [text(`Let me look.\n\n${block('look', { n: 3 })}\n\nResult of look:\nmade up`)],
    {
      config: PROMPTED,
    },
  )
  const shown: string[] = []
  const answer = await call({ tools: [LOOK], onText: piece => void shown.push(piece) })
  expect(answer).toMatchObject({ text: 'Let me look.\n\n', tool_calls: [{ name: 'look', arguments: '{"n":3}' }] })
  expect(answer.finish_reason).toBe('tool_calls')
  expect(answer.tool_calls[0]!.id).toMatch(/^tool-/)
  expect(answer.tool_calls[0]!.repaired).toBeUndefined()
  expect(shown.join('').trim()).toBe('Let me look.')
  const [request] = server.requests
  expect(request?.body.tools).toBeUndefined()
  expect(request?.prompt).toContain('## look\nLooks closely.')
  expect(request?.prompt).toContain('"required":["n"]')
})

test('a transcript with prompted tools alternates: calls are in the text, their results in one user message', async () => {
  const { server, call } = await testHostForModels(undefined, { config: PROMPTED })
  const calls = ['1', '2'].map(id => ({ id, name: 'look', arguments: { n: Number(id) } }))
  await call({
    tools: [LOOK],
    messages: [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: 'I look.', tool_calls: calls },
      { role: 'tool', tool_call_id: '1', name: 'look', content: 'a cat' },
      { role: 'tool', tool_call_id: '2', name: 'look', content: 'gone', is_error: true },
      { role: 'user', content: 'Hurry.' },
    ],
  })
  const [request] = server.requests
  expect(roles(request!)).toEqual(['system', 'user', 'assistant', 'user'])
  const [system, , said, results] = request!.body.messages.map(({ content }) => content)
  expect(system).toMatch(/^You are brief\.\n\n# Tools/)
  expect(said).toBe(`I look.\n\n${block('look', { n: 1 })}\n\n${block('look', { n: 2 })}`)
  expect(results).toBe('Result of look:\na cat\n\nFailure of look:\ngone\n\nHurry.')
})

test.each([
  [400, 'registry.ollama.ai/library/tiny:latest does not support tools'],
  [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
  [404, 'No endpoints found that support tool use. Try disabling "look".'],
  [500, 'tools param requires --jinja flag'],
])('a server that answers HTTP %i %s gets the tools in the prompt from then on', async (status, message) => {
  const { server, call, host } = await testHostForModels(({ body }) =>
    body.tools ? refuse(status, message) : text(block('look', { n: 1 })),
  )
  const { tool_calls, spend } = await call({ tools: [LOOK] })
  expect(tool_calls).toMatchObject([{ name: 'look' }])
  expect(spend.attempts).toBe(1)
  await call({ tools: [LOOK] })
  expect(server.requests.map(({ body }) => body.tools !== undefined)).toEqual([true, false, false])
  expect(host.log.filter(({ code }) => code === 'model_ability').map(({ msg }) => msg)).toEqual([
    expect.stringMatching(
      /^openai:scripted-1 does not accept tools \(HTTP .*\)\. From now on, its prompt describes them/,
    ),
  ])
})

const UNPARSED = [
  'Failed to parse input at pos 0: <tool_call>\n<function=look>\n<parameter=n>\n1',
  "error parsing tool call: raw='{\"n\":1}]', err=invalid character ']' after top-level value",
]

test.each(UNPARSED)('a call that the server cannot parse is asked for once more in the text: %s', async message => {
  const { server, call, host } = await testHostForModels(({ body }) =>
    body.tools ? refuse(500, message) : text(block('look', { n: 1 })),
  )
  const answer = await call({ tools: [LOOK] })
  expect(answer).toMatchObject({ tool_calls: [{ name: 'look', arguments: '{"n":1}' }], spend: { attempts: 1 } })
  expect(host.logged('could not parse a tool call of the model')).toHaveLength(1)
  await call({ tools: [LOOK] })
  // Unlike an ability that the server lacks, this is not remembered.
  expect(server.requests.map(({ body }) => body.tools !== undefined)).toEqual([true, false, true, false])
})

test('a call that the server cannot parse at the end of a stream is asked for in the text too', async () => {
  const sent: boolean[] = []
  const frames = [{ choices: [{ delta: { content: 'I look.' } }] }, { error: { code: 500, message: UNPARSED[0] } }]
  const body = frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')
  const said = { choices: [{ message: { content: block('look', { n: 1 }) }, finish_reason: 'stop' }] }
  const fetchOnce: typeof fetch = async (_, init) => {
    const { tools } = JSON.parse(String(init?.body))
    sent.push(tools !== undefined)
    return tools ? new Response(body, { headers: { 'content-type': 'text/event-stream' } }) : Response.json(said)
  }
  const { call } = await testHostForModels(undefined, { ports: { fetch: fetchOnce } })
  expect((await call({ tools: [LOOK] })).tool_calls).toMatchObject([{ name: 'look', arguments: '{"n":1}' }])
  expect(sent).toEqual([true, false])
})

test('another refusal does not move the tools into the prompt', async () => {
  const { server, failing } = await testHostForModels(() => refuse(400, 'messages: field is required'))
  expect((await failing({ tools: [LOOK] })).message).toContain('field is required')
  expect(server.requests).toHaveLength(1)
})

test('tool_calls in models.yaml sets the mode of one model, and overrides that of its provider', async () => {
  const { server, call } = await testHostForModels(undefined, {
    config: PROMPTED,
    files: { 'models.yaml': 'tool_calls:\n  openai:able: native\n' },
  })
  await call({ model: 'openai:able', tools: [LOOK] })
  await call({ model: 'openai:other', tools: [LOOK] })
  expect(server.requests.map(({ body }) => body.tools?.length ?? 0)).toEqual([1, 0])
})

test('with tool_calls: native, calls in the text stay text', async () => {
  const config = { ...QUICK, model: { ...QUICK.model, providers: { openai: { tool_calls: 'native' } } } }
  const { call } = await testHostForModels([text(block('look', { n: 1 }))], { config })
  expect(await call({ tools: [LOOK] })).toMatchObject({ text: block('look', { n: 1 }), tool_calls: [] })
})

test('an agent whose model has no tool support pursues a goal to its end', async () => {
  const { runs, plugin } = recordingTools()
  const steps = [block('look', { n: 1 }), `${block('look', { n: '2' })}\n${block('look', { n: 3 })}`]
  await using home = await testHostWithModel(
    request => {
      if (asksForGoal(request)) return goalAnswer(request.prompt.includes('Recent') ? '' : 'Look at something')
      return text(steps.shift() ?? block('finish_goal', { summary: 'seen' }))
    },
    { builtins: [plugin], config: { model: { providers: { openai: { tool_calls: 'prompted' } } } } },
  )
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end', ({ result }) => result === 'completed')
  await waitUntilIdle(home)
  expect(runs.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  const [goal] = await goalsOf(home, id)
  expect(goal).toMatchObject({ status: 'completed', unconfirmed: false })
  expect(home.server.requests.every(({ body }) => body.tools === undefined)).toBe(true)
})

const SCHEMA = {
  name: 'answer',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false },
}

test('a response schema is sent to the server, as strict when the schema allows it', async () => {
  const { server, call } = await testHostForModels()
  await call({ response_schema: SCHEMA })
  await call({
    response_schema: { name: 'loose', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
  })
  const formats = server.requests.map(({ body }) => (body as { response_format?: unknown }).response_format)
  expect(formats[0]).toEqual({ type: 'json_schema', json_schema: { ...SCHEMA, strict: true } })
  expect(formats[1]).toMatchObject({ json_schema: { name: 'loose' } })
  expect(JSON.stringify(formats[1])).not.toContain('strict')
})

test('a server that accepts no schema gets it in the prompt from then on', async () => {
  const { server, call, host } = await testHostForModels(({ body }) =>
    'response_format' in body ? refuse(400, "Unsupported parameter: 'response_format'") : text('{"ok":true}'),
  )
  expect((await call({ response_schema: SCHEMA })).text).toBe('{"ok":true}')
  await call({ response_schema: SCHEMA, tools: [LOOK] })
  expect(server.requests.map(({ body }) => 'response_format' in body)).toEqual([true, false, false])
  expect(host.logged('openai:scripted-1 does not accept response_format (HTTP 400: ')).toHaveLength(1)
  expect(server.requests[2]?.prompt).toContain('When you have what you need, answer with one JSON object')
  expect(server.requests[2]?.prompt).toContain(JSON.stringify(SCHEMA.schema))
})

test('an answer by a schema is never read as a call', async () => {
  const said = '{"name":"look","arguments":{"n":1}}'
  const { call } = await testHostForModels([text(said), text(said)])
  expect(await call({ response_schema: SCHEMA, tools: [LOOK] })).toMatchObject({ text: said, tool_calls: [] })
  expect((await call({ tools: [LOOK] })).tool_calls).toHaveLength(1)
})

test('lone surrogates are replaced before sending, because some servers refuse a request with one', async () => {
  const { server, call } = await testHostForModels()
  await call({
    messages: [
      { role: 'user', content: 'a\ud800b 😀' },
      { role: 'assistant', content: '', tool_calls: [{ id: '1', name: 'look', arguments: { text: 'c\udc00' } }] },
      { role: 'tool', tool_call_id: '1', content: 'ok' },
    ],
  })
  expect(JSON.stringify(server.requests[0]!.body)).not.toMatch(/\\ud[89a-f]/i)
  expect(server.requests[0]!.prompt).toContain('a\ufffdb 😀')
})

test('a conversation can continue with another model, and with the first one again', async () => {
  const { server, call } = await testHostForModels(
    [toolCall('look', { n: 1 }), text(block('look', { n: 2 })), text('Done.')],
    {
      files: { 'models.yaml': 'tool_calls:\n  openai:plain: prompted\n' },
    },
  )
  const messages: Parameters<typeof call>[0] & object = {
    tools: [LOOK],
    messages: [{ role: 'user', content: 'Look twice.' }],
  }
  const said = [...messages.messages!]
  for (const model of ['openai:able', 'openai:plain', 'openai:able']) {
    const { text: content, tool_calls } = await call({ model, tools: [LOOK], messages: said })
    const calls = tool_calls.map(each => ({ id: each.id, name: each.name, arguments: JSON.parse(each.arguments) }))
    said.push({ role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) })
    for (const { id } of calls) said.push({ role: 'tool', tool_call_id: id, name: 'look', content: 'seen' })
  }
  expect(said.at(-1)?.content).toBe('Done.')
  expect(roles(server.requests[1]!)).toEqual(['system', 'user', 'assistant', 'user'])
  expect(roles(server.requests[2]!)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
})

test.each([
  ['blocks', block('look', { n: 1 }).concat('\n').repeat(4_000)],
  ['a list in one block', `<tool_call>[${Array(4_000).fill('{"name":"look","arguments":{"n":1}}')}]</tool_call>`],
  ['bare JSON', `[${Array(4_000).fill('{"name":"look","arguments":{"n":1}}')}]`],
])('of 4,000 calls in the text, as %s, 32 are passed on, and the others are counted', async (_, said) => {
  const { call } = await testHostForModels([text(said)], { config: PROMPTED })
  const answer = await call({ tools: [LOOK] })
  expect(answer.tool_calls).toHaveLength(32)
  expect(answer.dropped_calls).toBe(3_968)
})
