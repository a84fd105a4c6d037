import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { EventData } from '#core/models/providers/sse'
import { turn } from '../../../support/clock.ts'
import { text, together, toolCall } from '../../../support/model/model-server.ts'
import { IMPATIENT, QUICK, testHostForModels } from '../models/models-host.ts'

test('requests carry messages, tools and limits in the form of the protocol', async () => {
  const { call, server } = await testHostForModels([text('Done.')])
  const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  await call({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'look', arguments: { path: 'x' } }] },
      { role: 'tool', content: 'found', tool_call_id: 'a' },
      { role: 'assistant', content: 'Hm', tool_calls: [{ id: 'b', name: 'look', arguments: '{"cut' }] },
      { role: 'tool', content: 'bad', tool_call_id: 'b', is_error: true },
    ],
    tools: [{ name: 'look', description: 'Looks.', parameters }],
    temperature: 0.5,
    max_tokens: 77,
  })
  const { body } = server.requests[0]!
  expect(body).toMatchObject({ model: 'scripted-1', temperature: 0.5, max_tokens: 77, stream: true })
  expect(body.messages[2]).toEqual({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"path":"x"}' } }],
  })
  expect(body.messages[3]).toEqual({ role: 'tool', content: 'found', tool_call_id: 'a' })
  // Arguments that are not JSON must not make the server refuse the conversation.
  expect(JSON.stringify(body.messages[4])).toContain('{\\"unparsed\\":\\"{\\\\\\"cut\\"}')
  expect(body.tools).toEqual([{ type: 'function', function: { name: 'look', description: 'Looks.', parameters } }])
})

test("OpenAI's reasoning models get max_completion_tokens and no temperature", async () => {
  const { call, server } = await testHostForModels()
  for (const model of ['o3-mini', 'openai:gpt-5.4', 'gpt-4o']) await call({ model })
  const sent = server.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens, body.temperature])
  expect(sent).toEqual([
    [undefined, 3000, undefined],
    [undefined, 1000, undefined],
    [1000, undefined, 0],
  ])
})

test('text and several tool calls of one turn arrive in order, and text is shown as it comes', async () => {
  const { call } = await testHostForModels([
    together(text('I look at both.'), toolCall('look', { n: 1 }), toolCall('look', { n: 2 })),
  ])
  const shown: string[] = []
  const answer = await call({ onText: piece => shown.push(piece) })
  expect(answer).toMatchObject({ text: 'I look at both.', finish_reason: 'tool_calls' })
  expect(answer.tool_calls.map(each => each.arguments)).toEqual(['{"n":1}', '{"n":2}'])
  for (const part of [answer, answer.tool_calls, ...answer.tool_calls, answer.spend])
    expect(Object.isFrozen(part)).toBe(true)
  expect(shown.length).toBeGreaterThan(1)
  expect(shown.join('')).toBe('I look at both.')
})

test.for([
  ['length', 'length'],
  ['content_filter', 'content_filter'],
  ['end_turn', 'stop'],
])('the finish reason %s is reported as %s', async ([theirs, ours]) => {
  const { call } = await testHostForModels([text('Well', { finish_reason: theirs! })])
  expect((await call()).finish_reason).toBe(ours)
})

const TOOL_CALLS = { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }

/** Opens a server that streams tool calls in its own way, instead of the scripted one. */
function streaming(deltas: readonly object[], end: object | string = TOOL_CALLS) {
  const chunks = [...deltas.map(delta => ({ choices: [{ delta }] })), end]
  const data = chunks.map(chunk => (typeof chunk === 'string' ? chunk : JSON.stringify(chunk)))
  const body = data.map(each => `data: ${each}\n\n`).join('')
  const headers = { 'content-type': 'text/event-stream' }
  return testHostForModels(undefined, { ports: { fetch: async () => new Response(body, { headers }) } })
}

const piece = (id: string | undefined, name: string | undefined, args: unknown, index?: number) => ({
  tool_calls: [
    {
      ...(index === undefined ? {} : { index }),
      ...(id ? { id } : {}),
      function: { ...(name ? { name } : {}), arguments: args },
    },
  ],
})

test.for([
  [
    'by index, piece by piece',
    [
      piece('a', 'one', '', 0),
      piece('b', 'two', '{', 1),
      piece(undefined, undefined, '{}', 0),
      piece(undefined, undefined, '}', 1),
    ],
  ],
  ['whole, all with the index 0', [piece('a', 'one', '{}', 0), piece('b', 'two', '{}', 0)]],
  ['without an index', [piece('a', 'one', '{'), piece(undefined, undefined, '}'), piece('b', 'two', '{}')]],
  ['with arguments that are an object', [piece('a', 'one', {}, 0), piece('b', 'two', {}, 1)]],
] as const)('tool calls that are streamed %s are assembled', async ([, deltas]) => {
  const { call } = await streaming(deltas)
  const { tool_calls, finish_reason } = await call()
  expect(finish_reason).toBe('tool_calls')
  expect(tool_calls).toEqual([
    { id: 'a', name: 'one', arguments: '{}' },
    { id: 'b', name: 'two', arguments: '{}' },
  ])
})

test.for([
  ['words', [{ content: 'It is ' }, { content: 'noon.' }], { text: 'It is noon.', finish_reason: 'stop' }],
  ['a call', [piece('a', 'one', '{}', 0)], { tool_calls: [{ id: 'a', name: 'one' }], finish_reason: 'tool_calls' }],
] as const)(
  'a stream of %s is complete when the server ends it, even without a finish reason',
  async ([, deltas, answer]) => {
    const { call } = await streaming(deltas, '[DONE]')
    expect(await call()).toMatchObject({ ...answer, spend: { attempts: 1 } })
  },
)

test('a call in the older function_call form is read, and an id may be a number', async () => {
  const legacy = (name: string | undefined, args: string) => ({ content: '', function_call: { name, arguments: args } })
  const { call } = await streaming([legacy('one', ''), legacy(undefined, '{"n":'), legacy(undefined, '1}')])
  expect((await call()).tool_calls).toMatchObject([{ name: 'one', arguments: '{"n":1}' }])
  const plain = await whole({ choices: [{ message: legacy('one', '{"n":1}'), finish_reason: 'function_call' }] })
  expect((await plain.call()).tool_calls).toMatchObject([{ name: 'one', arguments: '{"n":1}' }])
  const numbered = await streaming([{ tool_calls: [{ index: 0, id: 7, function: { name: 'one', arguments: '{}' } }] }])
  expect((await numbered.call()).tool_calls).toEqual([{ id: '7', name: 'one', arguments: '{}' }])
})

test('whole calls without ids or an index are read as separate calls', async () => {
  const calls = [piece(undefined, 'one', '{"n":1}'), piece(undefined, 'one', { n: 2 }), piece(undefined, 'two', '{', 0)]
  const { call } = await streaming([...calls, piece(undefined, undefined, '}', 0), piece(undefined, 'two', {}, 0)])
  const { tool_calls } = await call()
  expect(tool_calls.map(each => [each.name, each.arguments])).toEqual([
    ['one', '{"n":1}'],
    ['one', '{"n":2}'],
    ['two', '{}'],
    ['two', '{}'],
  ])
  expect(new Set(tool_calls.map(({ id }) => id)).size).toBe(4)
})

test('calls that are streamed piece by piece without ids or an index are read as separate calls', async () => {
  const begin = (name: string, index?: number) => piece(undefined, name, '', index)
  const more = (args: string, index?: number) => piece(undefined, undefined, args, index)
  for (const index of [undefined, 0]) {
    const { call } = await streaming([
      ...[begin('one', index), more('{"n":', index), more('1}', index)],
      ...[begin('two', index), more('{}', index)],
    ])
    const read = (await call()).tool_calls.map(each => [each.name, each.arguments])
    expect(read).toEqual([
      ['one', '{"n":1}'],
      ['two', '{}'],
    ])
  }
  const { call } = await streaming([begin('one'), more('{"n":1}'), begin('one'), more('{"n":2}'), begin('two')])
  expect((await call()).tool_calls.map(each => [each.name, each.arguments])).toEqual([
    ['one', '{"n":1}'],
    ['one', '{"n":2}'],
    ['two', ''],
  ])
})

/** Opens a server that answers whole, instead of the scripted one; its streams break off. */
function whole(answer: object) {
  return testHostForModels(undefined, {
    config: { ...QUICK, daemon: { max_retries: 1 } },
    ports: {
      fetch: async (_, init) =>
        JSON.parse(String(init?.body)).stream
          ? new Response('', { headers: { 'content-type': 'text/event-stream' } })
          : Response.json(answer),
    },
  })
}

const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { n: {} } } }

test.for([
  [{ n: 1 }, '{"n":1}'],
  [[{ n: 1 }], '{"n":1}'],
  [5, '5'],
  [false, 'false'],
  [null, ''],
])(
  'arguments given as JSON instead of text (%j) are read, and passed on when they are not an object',
  async ([given, read]) => {
    const said = piece('a', 'look', given, 0)
    const streamed = await streaming([said])
    expect((await streamed.call({ tools: [LOOK] })).tool_calls).toMatchObject([{ name: 'look', arguments: read }])
    const plain = await whole({ choices: [{ message: said, finish_reason: 'tool_calls' }] })
    expect((await plain.call({ tools: [LOOK] })).tool_calls).toMatchObject([{ name: 'look', arguments: read }])
  },
)

test("a plugin's provider may also give arguments as an object", async () => {
  const { call } = await testHostForModels(undefined, {
    plugins: {
      'own-provider.ts': `import { definePlugin, ModelProviders } from 'svc'
        export default definePlugin({ name: 'own-provider', setup(svc) {
          svc.add(ModelProviders, {
            name: 'own',
            availability: async () => ({ available: true, reason: null }),
            async *stream() {
              yield { type: 'tool_call', id: 'a', name: 'look', arguments: { n: 1 } }
              yield { type: 'tool_call', id: 'b', name: 'unknown', arguments: { n: 1 } }
              yield { type: 'done', finish_reason: 'tool_calls' }
            },
          })
        } })`,
    },
  })
  const { tool_calls } = await call({ model: 'own:one', tools: [LOOK] })
  expect(tool_calls.map(each => each.arguments)).toEqual(['{"n":1}', '{"n":1}'])
})

test('thoughts are left out of a text that comes in parts', async () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'It is ' },
    { type: 'text', text: 'noon.' },
  ]
  const { call } = await streaming([{ content }])
  expect((await call()).text).toBe('It is noon.')
  const plain = await whole({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  expect((await plain.call()).text).toBe('It is noon.')
})

test('an error in place of an answer is reported with its own message', async () => {
  const message = 'the model is on fire'
  for (const answer of [
    { error: { message, code: 500 } },
    { error: message },
    { choices: [{ error: { message }, message: { content: '' } }] },
  ]) {
    const { failing } = await whole(answer)
    expect((await failing()).message).toMatch(/reported: the model is on fire\.$/)
  }
})

test('an answer in another form is reported with the wrong field', async () => {
  const { failing } = await whole({ detail: 'out of memory' })
  expect((await failing()).message).toContain('an answer that does not match its protocol (choices: is missing')
})

test('a refusal of the model is reported as such', async () => {
  const { call } = await streaming([{ refusal: 'I cannot help with that.' }])
  expect(await call()).toMatchObject({ text: 'I cannot help with that.', finish_reason: 'content_filter' })
})

test('a model that thinks for longer than the idle limit does not time out', async () => {
  const headers = { 'content-type': 'text/event-stream' }
  const { call } = await testHostForModels(undefined, {
    config: IMPATIENT,
    ports: {
      fetch: async () => {
        const thoughts = Array.from({ length: 8 }, () => ({ choices: [{ delta: { reasoning_content: 'Hm.' } }] }))
        const chunks = [...thoughts, { choices: [{ delta: { content: 'Yes.' }, finish_reason: 'stop' }] }]
        const stream = new ReadableStream({
          async pull(controller) {
            const chunk = chunks.shift()
            if (!chunk) return controller.close()
            await new Promise(resolve => setTimeout(resolve, 100))
            controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`))
          },
        })
        return new Response(stream, { headers })
      },
    },
  })
  expect(await call()).toMatchObject({ text: 'Yes.', spend: { attempts: 1 } })
})

const dataOf = (body: unknown) =>
  new EventData({ yield: turn }, data => [data]).of({ body } as Response, error => error)

test.for(['\n', '\r\n', '\r'])(
  'a stream reads the same wherever its bytes are cut, with lines that end in %j',
  async end => {
    const lines = [
      ': a comment',
      'event: x',
      'data: {"a":"zwölf – 十二"}',
      '',
      'data:one',
      'data: two',
      '',
      '',
      'data: [DONE]',
      '',
    ]
    // The last event has no end.
    const bytes = new TextEncoder().encode([...lines, 'data: cut', ''].join(end))
    for (let size = 1; size < 9; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.slice(n * size, n * size + size),
      )
      for (const body of [ReadableStream.from(pieces), Readable.from(pieces)]) {
        const found: string[] = []
        for await (const data of dataOf(body)) found.push(data)
        expect(found, `pieces of ${size}`).toEqual(['{"a":"zwölf – 十二"}', 'one\ntwo', '[DONE]'])
      }
    }
  },
)

test('everything received of a stream is delivered before the error that it was cut off', async () => {
  const body = new PassThrough()
  const data = dataOf(body)
  const first = data.next()
  body.write('data: one\n\n')
  expect(await first).toEqual({ done: false, value: 'one' })
  body.write('data: two\n\ndata: thr')
  body.write('ee\n\ndata: half')
  const gone = new Promise(resolve => body.once('close', resolve))
  setImmediate(() => body.destroy())
  await gone
  expect(await data.next()).toEqual({ done: false, value: 'two' })
  expect(await data.next()).toEqual({ done: false, value: 'three' })
  await expect(data.next()).rejects.toThrow('closed before the end')
})

test('a stream is closed when no one reads it any more, and when it is too large', async () => {
  const left = new PassThrough()
  const data = dataOf(left)
  left.write('data: one\n\n')
  for await (const first of data) {
    expect(first).toBe('one')
    break
  }
  expect(left.destroyed).toBe(true)
  const large = new PassThrough()
  const reading = dataOf(large)
  const refused = expect(reading.next()).rejects.toThrow('larger than 64 MiB')
  const closed = new Promise(resolve => large.once('close', resolve))
  for (let mib = 0; mib <= 64 && !large.destroyed; mib++) {
    if (!large.write(Buffer.alloc(2 ** 20, 'x')))
      await Promise.race([closed, new Promise(resolve => large.once('drain', resolve))])
  }
  await refused
  expect(large.destroyed).toBe(true)
})
