import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { text, together, toolCall } from '../../../support/index.ts'
import {
  BROKEN_CALLS,
  CALLS_IN_TEXT,
  isRecoverable,
  ours,
  outcomeOf,
  outcomeOfText,
  streamText,
} from '../../../support/model/broken-calls.ts'
import { testHostForModels } from '../models/models-host.ts'

const WRITE = {
  name: 'file_write',
  description: 'Writes a file.',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' }, times: { type: 'integer' } },
    required: ['path', 'content'],
  },
}

describe('the repair of broken tool calls', () => {
  it('never reads a call as something other than was meant', () => {
    expect(BROKEN_CALLS.length).toBeGreaterThan(250)
    expect(BROKEN_CALLS.filter(each => outcomeOf(each, ours) === 'wrong')).toEqual([])
  })

  it('reads at least 97 in 100 of the calls that have a meaning', () => {
    const meaningful = BROKEN_CALLS.filter(isRecoverable)
    const right = meaningful.filter(each => outcomeOf(each, ours) === 'right')
    expect(right.length / meaningful.length).toBeGreaterThanOrEqual(0.97)
  })

  it('finds calls that models write into their text, in any format, and takes nothing else for a call', () => {
    expect(CALLS_IN_TEXT.length).toBeGreaterThan(50)
    expect(CALLS_IN_TEXT.filter(each => outcomeOfText(each) !== 'right')).toEqual([])
  })

  it.each([1, 3, 7, 1000])(
    'shows nothing of a call that streams in pieces of %i, and shows other text in full',
    size => {
      for (const { text: said, calls } of CALLS_IN_TEXT) {
        const shown = streamText(said, size).texts.join('')
        if (calls.length === 0) expect(shown).toBe(said.replace(/^<think>[\s\S]*?(?:<\/think>\s*|$)/, ''))
        else
          expect(shown).not.toMatch(
            /tool_call|<function|TOOL_(?:CALLS|REQUEST)|tool_code|<invoke|Action Input|arguments|\w\(\w+=/,
          )
      }
    },
  )

  it('shows text that cannot be a call as it arrives, to the last character', () => {
    const said = 'Two are left: a < b, `x`, a[0] and "Action: wait"; functions too. <b>Done</b>'
    expect(streamText(said, 1).texts.filter(shown => shown !== '').length).toBeGreaterThan(said.length - 16)
    expect(streamText('Good morning', 4).texts.slice(0, 3)).toEqual(['Good', ' mor', 'ning'])
  })

  it('scans a text for calls once, even a mebibyte of fences in one piece', () => {
    const said = '`'.repeat(2 ** 20 - 1)
    expect(streamText(said, said.length).texts.join('') === said).toBe(true)
  })

  it('keeps valid calls exactly as they came', () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), value, (path, content, more) => {
        const raw = JSON.stringify({ path, content, more })
        expect(ours(raw, 'file_write')).toEqual(JSON.parse(raw))
        // The content of a string is never taken for the JSON around it.
        const broken = `${raw.slice(0, -1)}, }`
        const call = { kind: '', tool: 'file_write', raw: broken, meant: JSON.parse(raw) }
        expect(outcomeOf(call, ours)).not.toBe('wrong')
      }),
      { numRuns: 300 },
    )
  })

  it('never runs a call that was cut off, wherever that was', () => {
    const raw = JSON.stringify({ path: 'a.txt', content: 'one "two" {three}', append: true })
    for (let at = 1; at < raw.length - 1; at++) {
      const cut = { kind: '', tool: 'file_write', raw: raw.slice(0, at), meant: 'unrecoverable' } as const
      expect(outcomeOf(cut as never, ours), raw.slice(0, at)).toBe('refused')
    }
  })

  it.each(['"a", b ', '\\n', '{', '[', '<tool_call>{', '```tool_call\n{', '<function=a><parameter=b>', '"}'])(
    'handles a megabyte of %j within seconds',
    piece => {
      const began = performance.now()
      const long = piece.repeat(1_000_000 / piece.length)
      try {
        ours(`{"path": "a", "content": "${long}`, 'file_write')
      } catch {}
      streamText(long, 4_000)
      expect(performance.now() - began).toBeLessThan(10_000)
    },
  )
})

test('a repaired call lists its repairs, in the answer and in the log', async () => {
  const { host, call } = await testHostForModels([
    toolCall('functions.File-Write', `{'path': 'a.txt', "content": "x", times: "3",}`),
  ])
  const { tool_calls } = await call({ tools: [WRITE] })
  expect(tool_calls).toMatchObject([{ name: 'file_write', arguments: '{"path":"a.txt","content":"x","times":3}' }])
  const mended = ['name_spelling', 'number_from_text', 'single_quotes', 'trailing_commas', 'unquoted_keys']
  expect(tool_calls[0]!.repaired).toEqual(mended)
  expect(host.logged('an invalid call of file_write was repaired')[0]).toMatchObject({
    code: 'tool_call_repaired',
    repaired: mended,
  })
})

test('null is kept where the schema allows it, and left out of other optional fields', async () => {
  const properties = { due: { type: ['string', 'null'] }, title: { type: 'string' } }
  const update = { name: 'update', description: 'Updates a task', parameters: { type: 'object', properties } }
  const { call } = await testHostForModels([toolCall('update', { due: null, title: null })])
  expect((await call({ tools: [update] })).tool_calls).toMatchObject([{ arguments: '{"due":null}' }])
})

test('an answer that stopped at its limit is not repaired: incomplete calls stay as they came', async () => {
  const raw = `{'path': 'a.txt', 'content': 'x', 'times': 3}`
  const { call } = await testHostForModels([
    { ...toolCall('file_write', raw), finish_reason: 'length' },
    text(`<tool_call>{"name": "file_write", "arguments": ${raw}`, { finish_reason: 'length' }),
  ])
  expect((await call({ tools: [WRITE] })).tool_calls).toMatchObject([{ arguments: raw }])
  expect(await call({ tools: [WRITE] })).toMatchObject({ tool_calls: [], finish_reason: 'length' })
})

test('calls in the text are read only when there are no native ones, and only for offered tools', async () => {
  const said = '<tool_call>{"name": "file_write", "arguments": {"path": "b", "content": ""}}</tool_call>'
  const { call } = await testHostForModels([
    together(text(said), toolCall('file_write', { path: 'a', content: '' })),
    text(said),
    text(said),
  ])
  const both = await call({ tools: [WRITE] })
  expect(both.tool_calls.map(each => JSON.parse(each.arguments).path)).toEqual(['a'])
  expect(both.text).toBe(said)
  expect(await call({ tools: [WRITE] })).toMatchObject({ text: '', finish_reason: 'tool_calls' })
  expect(await call({ tools: [] })).toMatchObject({ text: said, tool_calls: [] })
})

test('an answer that consists only of calls as in Python is read as these calls, and nothing of it is shown', async () => {
  const said = '[file_write(path="a", content="x = [1]\\n"), file_write(path="b", content=\'\')]'
  const { call } = await testHostForModels([text(said), text(said), text('file_write(path="a", content="") is next.')])
  const shown: string[] = []
  const asked = { tools: [WRITE], onText: (piece: string) => void shown.push(piece) }
  const { text: left, tool_calls } = await call(asked)
  expect(tool_calls.map(each => JSON.parse(each.arguments))).toEqual([
    { path: 'a', content: 'x = [1]\n' },
    { path: 'b', content: '' },
  ])
  expect([left, shown.join('')]).toEqual(['', ''])
  const schema = { name: 'any', schema: { type: 'object', properties: {} } }
  expect(await call({ ...asked, response_schema: schema })).toMatchObject({ text: said, tool_calls: [] })
  expect(await call(asked)).toMatchObject({ text: 'file_write(path="a", content="") is next.', tool_calls: [] })
})

test('a call in reasoning that the chat template began is only considered', async () => {
  const said = (path: string) =>
    `<tool_call>{"name": "file_write", "arguments": {"path": "${path}", "content": ""}}</tool_call>`
  const { call } = await testHostForModels([text(`Maybe ${said('a')}?\n</think>\n\n${said('b')}`)])
  const { text: left, tool_calls, reasoning } = await call({ tools: [WRITE] })
  expect(tool_calls.map(each => JSON.parse(each.arguments).path)).toEqual(['b'])
  expect({ left, reasoning }).toEqual({ left: '', reasoning: `Maybe ${said('a')}?` })
})

test('a call that the server left in the reasoning is read if nothing was said or called after it', async () => {
  const qwen = '<tool_call>\n<function=file_write>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>'
  const json = '<tool_call>\n{"name": "file_write", "arguments": {"path": "a", "content": ""}}\n</tool_call>'
  const { call } = await testHostForModels([
    text('', { reasoning: `I write the file.\n\n${qwen}` }),
    text('\n\n', { reasoning: `I write the file.\n${json}\n` }),
    text('Shall I?', { reasoning: `I could write it.\n${json}` }),
    text('', { reasoning: `Is it ${json}? No, I leave it.` }),
    { ...toolCall('file_write', { path: 'b', content: '' }), reasoning: `Not ${json}` },
  ])
  const paths = async () => (await call({ tools: [WRITE] })).tool_calls.map(each => JSON.parse(each.arguments).path)
  for (const expected of [['a'], ['a'], [], [], ['b']]) expect(await paths()).toEqual(expected)
})

test('arguments of about a megabyte are read, or rejected as too long', async () => {
  const content = 'it\'s "quoted"\n'.repeat(70_000)
  const raw = `${JSON.stringify({ path: 'a', content }).slice(0, -1)},}`
  const { call } = await testHostForModels([
    { ...toolCall('file_write', raw.slice(0, 1_040_000)) },
    toolCall('file_write', raw.replace(content.slice(0, 99), '')),
  ])
  const [cut, whole] = [await call({ tools: [WRITE] }), await call({ tools: [WRITE] }).catch(error => error)]
  expect(cut.tool_calls[0]!.repaired).toBeUndefined()
  expect(whole.message ?? JSON.parse(whole.tool_calls[0]!.arguments).content).toMatch(/longer than 1 MiB|quoted/)
})

it.each([
  ['keys', Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`Key_${n}`, 1]))],
  ['choices', { pick: Array(60_000).fill('none of them') }],
])('arguments with 60,000 %s are passed on unchanged, without comparing each pair', async (_, args) => {
  const choices = Array.from({ length: 1_000 }, (_, n) => `choice ${n}`)
  const parameters = {
    type: 'object',
    properties: { pick: { type: 'array', items: { type: 'string', enum: choices } } },
  }
  const { call } = await testHostForModels([toolCall('pick', args)])
  const began = process.cpuUsage()
  const { tool_calls } = await call({ tools: [{ name: 'pick', description: 'Picks.', parameters }] })
  const { user, system } = process.cpuUsage(began)
  expect(tool_calls).toMatchObject([{ arguments: JSON.stringify(args) }])
  // Comparing each pair would take billions of steps.
  expect((user + system) / 1000).toBeLessThan(5_000)
})
