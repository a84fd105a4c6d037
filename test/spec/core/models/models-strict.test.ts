import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Message, ModelError, type ModelEvent, type ModelRequest } from '#core/models/contract'
import { strictModel } from '../../../support/model/strict-model.ts'
import { PURPOSE } from './models-host.ts'

/** Models that get no conversation to refuse, or that answer before they read one. */
const FREE: Record<string, string> = {
  'examples/model-provider.ts': 'an example for plugin authors, whose tests put the rules around theirs',
  'test/bench/models/instant-model.ts': 'stands in for the whole module that shapes requests',
  'test/simulation/recordings.ts': 'is never asked: a replay reads its answers',
  'test/reload/kinds.test.ts': 'is never asked: it is only listed',
  'test/spec/core/providers/models-anthropic.test.ts': 'is the real provider, without its package',
  'test/spec/core/providers/models-errors.test.ts': 'answers raw HTTP, whatever it is asked',
  'test/spec/core/providers/models-parameters.test.ts': 'only lists its models',
  'test/spec/core/providers/models-wire.test.ts': 'is the text of a plugin file, which cannot import the rules',
  'test/spec/core/providers/models-streaming-fetch.test.ts': 'answers raw HTTP, whatever it is asked',
}

const user: Message = { role: 'user', content: 'Count the files.' }
const done: Message = { role: 'assistant', content: 'There are four.' }
const call = { id: 'a', name: 'ls', arguments: {} }

async function ask(messages: Message[], refused: string[] = []): Promise<ModelEvent[]> {
  const echo = strictModel(
    {
      name: 'echo',
      availability: async () => ({ available: true, reason: null }),
      async *stream() {
        yield { type: 'text', text: 'Yes.' }
      },
      complete: async () => [{ type: 'text', text: 'Yes.' }],
    },
    { onRefusal: ({ message }) => refused.push(message) },
  )
  const request: ModelRequest = { model: 'm', messages, tools: [], temperature: 0, max_tokens: 9, purpose: PURPOSE }
  const { signal } = new AbortController()
  const whole = await echo.complete!(request, signal).catch(error => error)
  const events: ModelEvent[] = []
  try {
    for await (const event of echo.stream(request, signal)) events.push(event)
  } catch (error) {
    expect(whole).toEqual(error)
    throw error
  }
  expect(whole).toEqual(events)
  return events
}

test('a strict model answers a conversation in the common form', async () => {
  const asked: Message = { ...done, tool_calls: [call] }
  expect(await ask([user, asked, { role: 'tool', tool_call_id: 'a', content: '4' }])).toHaveLength(1)
})

test.for<[string, Message[]]>([
  ['Expected last role', [user, done]],
  ['must be followed by tool messages', [user, { ...done, tool_calls: [call] }, user]],
  ['must be a response to a preceeding message', [user, { role: 'tool', tool_call_id: 'a', content: '4' }]],
  ['roles must alternate', [user, user]],
  ['text content must be non-empty', [{ role: 'user', content: ' ' }]],
])('a strict model refuses permanently: %s', async ([message, messages]) => {
  const refused: string[] = []
  const error = await ask(messages, refused).catch(each => each)
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ kind: 'invalid_request', transient: false, billed: false })
  expect(error.message).toContain(message)
  expect(refused).toEqual([expect.stringContaining(message), expect.stringContaining(message)])
})

test('each scripted model of the tests, benches and simulation refuses what providers refuse', () => {
  const loose = ['test', 'examples'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map(name => join(folder, name))
      .filter(path => /\.[cm]?[jt]s$/.test(path) && !(path in FREE)),
  )
  expect(loose.filter(path => isScriptedModel(path) && !isStrict(readFileSync(path, 'utf8')))).toEqual([])
})

/** Returns whether a file adds a model provider, provides the models, or answers like a model server. */
function isScriptedModel(path: string): boolean {
  const text = readFileSync(path, 'utf8')
  const adds = /\.add\(\s*ModelProviders|point\('model_providers'|\.provide\(Models\b/.test(text)
  const serves = /createServer/.test(text) && /finish_reason|content_block/.test(text)
  return adds || serves
}

function isStrict(text: string): boolean {
  return /strictModel\(|refusalOf\(|faultIn\(/.test(text)
}
