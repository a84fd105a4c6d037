import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { httpServer } from '../support/model/http.ts'
import { faultIn } from '../support/model/messages-rules.ts'
import { refusalOf } from '../support/model/wire-rules.ts'

export const WIRES = [
  'OpenAI, streamed',
  'OpenAI, not streamed',
  'Anthropic, streamed',
  'Anthropic, not streamed',
] as const
export type Wire = (typeof WIRES)[number]

interface Call {
  id: string
  name: string
  arguments: string
}

export interface ManyCallsModel {
  /** Environment variables with which the service uses this model. */
  readonly env: Readonly<Record<string, string>>
  /** The request that shows the results of the first answer; it is never answered. */
  readonly shown: Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts a model server that chooses a goal, and then answers once with this number of tool calls. */
export async function manyCallsModel(wire: Wire, count: number, tool: string): Promise<ManyCallsModel> {
  const calls = Array.from({ length: count }, (_, n) => ({ id: `call_${n}`, name: tool, arguments: `{"n":${n}}` }))
  const isOpenAi = wire.startsWith('OpenAI')
  const isStreamed = !wire.includes('not')
  const form = isOpenAi ? (isStreamed ? openAiStream : openAiWhole) : isStreamed ? anthropicStream : anthropicWhole
  const [goal, answer] = [form('{"goal": "look at all of it", "priority": 5}', []), form('', calls)]
  let asked = 0
  let show: (body: string) => void = () => {}
  const shown = new Promise<string>(resolve => {
    show = resolve
  })
  const { url, close } = await httpServer(async (request, response) => {
    const body = await text(request)
    const { stream = false, tools = [] } = body ? JSON.parse(body) : {}
    if (request.method !== 'POST') return send(response, '{"data":[{"id":"m"}]}', false)
    // A broken stream makes the service send its next requests without streaming.
    if (stream && !isStreamed) return send(response, '', true)
    const refused = isOpenAi ? refusalOf(JSON.parse(body))?.message : faultIn(JSON.parse(body))
    if (refused) return response.writeHead(400).end(refused)
    if (tools.length === 0) return send(response, goal, isStreamed)
    if (++asked === 1) return send(response, answer, isStreamed)
    show(body)
  })
  const name = isOpenAi ? 'OPENAI' : 'ANTHROPIC'
  return {
    env: {
      [`${name}_BASE_URL`]: isOpenAi ? `${url}/v1` : url,
      [`${name}_API_KEY`]: 'none',
      SVC_DEFAULT_MODEL: `${name.toLowerCase()}:m`,
    },
    shown,
    [Symbol.asyncDispose]: close,
  }
}

function send(response: ServerResponse, body: string, isStream: boolean): void {
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  response.end(body)
}

const lines = (events: readonly object[]) => events.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
const openAiCalls = (calls: readonly Call[]) =>
  calls.map(({ id, name, arguments: args }, index) => {
    return { index, id, type: 'function', function: { name, arguments: args } }
  })

function openAiWhole(content: string, calls: readonly Call[]): string {
  const message = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: openAiCalls(calls) } : {}) }
  const usage = { prompt_tokens: 10, completion_tokens: 10 }
  return JSON.stringify({ id: 'a', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
}

function openAiStream(content: string, calls: readonly Call[]): string {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'a',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const pieces = openAiCalls(calls).map(call => chunk({ tool_calls: [call] }))
  return `${lines([chunk({ role: 'assistant', content }), ...pieces, chunk({}, 'stop')])}data: [DONE]\n\n`
}

const USAGE = { input_tokens: 10, output_tokens: 10 }
const MESSAGE = { id: 'a', type: 'message', role: 'assistant', model: 'm', stop_sequence: null, usage: USAGE }
const blocks = (said: string, calls: readonly Call[]) => [
  ...(said ? [{ type: 'text', text: said }] : []),
  ...calls.map(({ id, name, arguments: args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) })),
]

function anthropicWhole(said: string, calls: readonly Call[]): string {
  return JSON.stringify({ ...MESSAGE, content: blocks(said, calls), stop_reason: 'end_turn' })
}

function anthropicStream(said: string, calls: readonly Call[]): string {
  const events = blocks(said, calls).flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ])
  const all = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    ...events,
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE },
    { type: 'message_stop' },
  ]
  return all.map(each => `event: ${each.type}\n${lines([each])}`).join('')
}
