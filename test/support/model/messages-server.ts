import type { IncomingMessage, ServerResponse } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { httpServer } from './http.ts'
import { faultIn, type MessagesRequestBody, omitsThinking, SIGNATURE } from './messages-rules.ts'
import { blockEvents, type StreamedEvent } from './messages-wire.ts'

interface MessagesRequest {
  headers: IncomingMessage['headers']
  body: MessagesRequestBody
}

type MessagesBlock = { text: string } | { thinking: string } | { tool: string; input: unknown; id?: string }

interface MessagesAnswer {
  content?: MessagesBlock[]
  stop_reason?: string
  usage?: Partial<Record<string, number>>
  /** Ends the stream early: with an `error` event of this type, or by closing the connection. */
  breaks?: 'overloaded_error' | 'cut'
}

/** Error with its status, in the shape of the API. */
interface MessagesRefusal {
  status: number
  type: string
  message: string
  headers?: Record<string, string>
}

export type MessagesReply = MessagesAnswer | MessagesRefusal

export interface MessagesServer {
  /** Value for `ANTHROPIC_BASE_URL`. */
  readonly url: string
  readonly requests: readonly MessagesRequest[]
  enqueue(...replies: MessagesReply[]): void
  close(): Promise<void>
}

/**
 * Starts a server on the loopback address that implements `POST /v1/messages` of Anthropic, streamed and whole, as
 * https://platform.claude.com/docs/en/build-with-claude/streaming describes it. Like the real one, it refuses what
 * `faultIn` finds.
 */
export async function messagesServer(...replies: MessagesReply[]): Promise<MessagesServer> {
  const queue = [...replies]
  const requests: MessagesRequest[] = []

  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = JSON.parse(await textOf(incoming)) as MessagesRequestBody
    requests.push({ headers: incoming.headers, body })
    const fault = faultIn(body)
    const reply: MessagesReply = fault
      ? { status: 400, type: 'invalid_request_error', message: fault }
      : (queue.shift() ?? { content: [{ text: 'All done.' }] })
    if ('status' in reply) return refuse(response, reply)
    return body.stream ? stream(response, body, reply) : sendWhole(response, body, reply)
  }

  const { url, close } = await httpServer((incoming, response) => {
    response.on('error', () => {})
    if (incoming.method !== 'POST' || incoming.url?.split('?')[0] !== '/v1/messages') {
      return refuse(response, { status: 404, type: 'not_found_error', message: `${incoming.method} ${incoming.url}` })
    }
    answer(incoming, response).catch(error => refuse(response, { status: 500, type: 'api_error', message: `${error}` }))
  })
  return { url, requests, enqueue: (...more) => void queue.push(...more), close }
}

const USAGE = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 }

function blocksOf(
  { model, thinking }: MessagesRequestBody,
  { content = [] }: MessagesAnswer,
): Record<string, unknown>[] {
  const isShown = !omitsThinking(model) || thinking?.display === 'summarized'
  return content.map((block, n) => {
    if ('text' in block) return { type: 'text', text: block.text }
    if ('thinking' in block) return { type: 'thinking', thinking: isShown ? block.thinking : '', signature: SIGNATURE }
    return { type: 'tool_use', id: block.id ?? `toolu_${n}`, name: block.tool, input: block.input }
  })
}

function reasonOf({ content = [], stop_reason }: MessagesAnswer): string {
  return stop_reason ?? (content.some(block => 'tool' in block) ? 'tool_use' : 'end_turn')
}

function sendWhole(response: ServerResponse, body: MessagesRequestBody, answer: MessagesAnswer): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const { model } = body
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: blocksOf(body, answer) }
  const end = { stop_reason: reasonOf(answer), stop_sequence: null, usage: { ...USAGE, ...answer.usage } }
  response.end(JSON.stringify({ ...message, ...end }))
}

function stream(response: ServerResponse, body: MessagesRequestBody, answer: MessagesAnswer): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (event: StreamedEvent) => void response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const { model } = body
  const { output_tokens, ...input } = { ...USAGE, ...answer.usage }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null }
  const usage = { ...input, output_tokens: 1 }
  send({ type: 'message_start', message: { ...message, stop_sequence: null, usage } })
  send({ type: 'ping' })
  blocksOf(body, answer)
    .flatMap((block, index) => blockEvents(index, block))
    .forEach(send)
  if (answer.breaks === 'cut') return void response.end()
  if (answer.breaks) {
    send({ type: 'error', error: { type: answer.breaks, message: 'Overloaded' } })
    return void response.end()
  }
  const delta = { stop_reason: reasonOf(answer), stop_sequence: null }
  send({ type: 'message_delta', delta, usage: { output_tokens } })
  send({ type: 'message_stop' })
  response.end()
}

function refuse(response: ServerResponse, { status, type, message, headers = {} }: MessagesRefusal): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' }))
}
