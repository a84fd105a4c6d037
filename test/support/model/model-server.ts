import type { IncomingMessage, ServerResponse } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { httpServer } from './http.ts'
import type { MessagesRequestBody } from './messages-rules.ts'
import { asChat, blockEvents, blocksOf, endOfMessage, messagesRefusal } from './messages-wire.ts'
import {
  type ResponsesRequestBody,
  responseEvents,
  responseOf,
  responsesAsChat,
  responsesRefusal,
} from './responses-wire.ts'
import {
  type Dialect,
  type ModelRequestBody,
  type Refusal,
  readMessage,
  refusalOf,
  refuse,
  tokensIn,
} from './wire-rules.ts'

export { type ModelRequestBody, type Refusal, refuse }

/** One request that the server received. */
export interface ModelServerRequest {
  /** Number of the chat completion, from 1. */
  n: number
  headers: IncomingMessage['headers']
  /** The request as a chat completion, even when it came to another API. */
  body: ModelRequestBody
  /** The original request, when it came to Anthropic's Messages API. */
  messages?: MessagesRequestBody
  /** The original request, when it came to OpenAI's Responses API. */
  responses?: ResponsesRequestBody
  /** All text of the messages, joined. */
  prompt: string
  /** How the request ended: `answered` to the last byte, or `dropped` by either side before that. */
  ended: Promise<'answered' | 'dropped'>
}

/** Tokens that the server would bill for one request, at four characters a token in both directions. */
export interface BillEntry {
  n: number
  model: string
  input_tokens: number
  output_tokens: number
}

/** Model output of one turn. */
export interface Answer {
  kind: 'answer'
  text: string
  tool_calls: { id?: string; name: string; arguments: string; extra_content?: unknown }[]
  /** Thinking before the text, sent in the form of each API, such as a signed block of Anthropic's. */
  reasoning?: string
  /** Further fields of its message, in OpenAI's APIs. */
  fields?: Readonly<Record<string, unknown>>
  finish_reason?: string
  /** Exact events of a stream of the Responses API, with a pause in seconds where a number stands. */
  events?: readonly (object | number)[]
  /** Promise that the text waits for after its first piece. */
  until?: Promise<unknown>
  /** Replaces the real usage on the wire; null omits it. */
  usage?: { prompt_tokens: number; completion_tokens: number } | null
}

export const FAULTS = [
  '429',
  '429long',
  '500',
  'hang',
  'drip',
  'cleancut',
  'rst',
  'stall',
  'badjson',
  'html200',
  'empty',
  'nousage',
  'negusage',
  'huge',
  'badtool',
  'unknowntool',
  'dupids',
] as const
/** Ways in which model servers fail. */
export type FaultMode = (typeof FAULTS)[number]

/** Connection that fails in the middle of an answer. */
export interface Breakage {
  kind: 'breakage'
  mode: 'hang' | 'drip' | 'cleancut' | 'rst' | 'stall' | 'badjson' | 'html200' | 'empty'
  /** Text that is sent before the failure. */
  text: string
}

/** Reply that is held until `n` requests wait, and is then sent to all at once. */
export interface Barrier {
  kind: 'barrier'
  n: number
  reply: Reply
}

export type Reply = Answer | Refusal | Breakage | Barrier

/** Chooses the reply to a request; `n` counts the chat completions from 1. Undefined uses the default reply. */
export type Script = (request: ModelServerRequest, n: number) => Reply | undefined | Promise<Reply | undefined>

export interface ModelServer {
  /** Base URL ending in `/v1`, for `OPENAI_BASE_URL`. */
  readonly url: string
  /** Address without `/v1`, for `ANTHROPIC_BASE_URL`. */
  readonly origin: string
  readonly requests: readonly ModelServerRequest[]
  /** Number of requests since its start. */
  readonly received: number
  readonly bill: readonly BillEntry[]
  /** Requests that no provider of the dialect would answer, or that are larger than the window. */
  readonly refusals: readonly Refusal[]
  /** Adds replies for the next requests, in order; they come before the script's. */
  enqueue(...replies: Reply[]): void
  /** Resolves with the request number `n` as soon as it has come in. */
  request(n: number): Promise<ModelServerRequest>
  /** Closes all connections. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface ModelServerOptions {
  script?: Script | readonly Reply[]
  port?: number
  models?: readonly string[] | null
  /** Provider whose rules decide which requests are refused. Default: `common`. */
  dialect?: Dialect
  /** Whether the model thinks and expects its thinking to be sent back, as DeepSeek and Gemini do. */
  thinks?: boolean
  /** Maximum number of input and output tokens together that a request may take; no limit by default. */
  window?: number
  /** Whether the server has the Responses API; true by default. */
  responses?: boolean
  /** Whether the models accept images; true by default. */
  vision?: boolean
  /** Whether `requests` keeps all requests; true by default. Turn it off in long trials to save memory. */
  keeps?: boolean
  /** Further JSON responses, by path. */
  pages?: Readonly<Record<string, unknown>>
}

/** Creates a plain answer. */
export function text(content: string, more: Partial<Omit<Answer, 'kind' | 'text'>> = {}): Answer {
  return { kind: 'answer', text: content, tool_calls: [], ...more }
}

/** Creates a turn that calls one tool. `args` is sent as JSON, a string unchanged. */
export function toolCall(name: string, args: unknown = {}, id?: string): Answer {
  const call = { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
  return { kind: 'answer', text: '', tool_calls: [id === undefined ? call : { ...call, id }] }
}

/** Combines several answers into one turn with all of their text and tool calls. */
export function together(...answers: Answer[]): Answer {
  return {
    kind: 'answer',
    text: answers.map(answer => answer.text).join(''),
    tool_calls: answers.flatMap(answer => answer.tool_calls),
  }
}

/** Creates a reply that fails in one of the ways of model servers. */
export function fault(mode: FaultMode, said = 'As far as I can see'): Reply {
  switch (mode) {
    case '429':
      return refuse(429, 'Rate limit reached')
    case '429long':
      return refuse(429, 'Rate limit reached', { headers: { 'retry-after': '3600' } })
    case '500':
      return refuse(500, 'The server had an error')
    case 'nousage':
      return text(said, { usage: null })
    case 'negusage':
      return text(said, { usage: { prompt_tokens: -5, completion_tokens: -7 } })
    case 'huge':
      return text('x'.repeat(10 * 1024 * 1024))
    case 'badtool':
      return toolCall('file_write', '{"path": "a.txt", "content": "cut off in the mid')
    case 'unknowntool':
      return toolCall('no_such_tool', { any: 'thing' })
    case 'dupids':
      return together(toolCall('file_read', { path: 'a' }, 'same'), toolCall('file_read', { path: 'b' }, 'same'))
    default:
      return { kind: 'breakage', mode, text: said }
  }
}

/** Holds the reply until `n` requests wait. */
export function barrier(n: number, reply: Reply = text('Together.')): Barrier {
  return { kind: 'barrier', n, reply }
}

/**
 * Starts an OpenAI-compatible server on the loopback address whose answers a script decides. It supports `POST
 * /v1/chat/completions`, `POST /v1/responses` and Anthropic's `POST /v1/messages`, all streamed and whole, and `GET
 * /v1/models` unless `models` is null. It refuses what the real providers refuse.
 * @throws what listening throws, as when the port is in use
 * @example
 * const server = await modelServer()
 * server.enqueue(toolCall('file_write', { path: 'a.txt', content: 'hello' }), text('Done.'))
 */
export async function modelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const queue: Reply[] = Array.isArray(options.script) ? [...options.script] : []
  const script = typeof options.script === 'function' ? options.script : () => undefined
  const requests: ModelServerRequest[] = []
  let received = 0
  const bill: BillEntry[] = []
  const refusals: Refusal[] = []
  const waiting: (() => void)[] = []
  const arrivals = new Set<() => void>()

  const settle = async (reply: Reply): Promise<Exclude<Reply, Barrier>> => {
    if (reply.kind !== 'barrier') return reply
    await new Promise<void>(release => {
      waiting.push(release)
      if (waiting.length >= reply.n) for (const next of waiting.splice(0)) next()
    })
    return settle(reply.reply)
  }

  const chat = async (incoming: IncomingMessage, response: ServerResponse, path: string) => {
    const sent = JSON.parse(await textOf(incoming))
    const messages: MessagesRequestBody | undefined = path === '/v1/messages' ? sent : undefined
    const responses: ResponsesRequestBody | undefined = path === '/v1/responses' ? sent : undefined
    const read: ModelRequestBody = messages ? asChat(messages) : responses ? responsesAsChat(responses) : sent
    const body = { ...read, messages: read.messages.map(readMessage) }
    const n = ++received
    const request = {
      n,
      headers: incoming.headers,
      body,
      ended: endOf(response),
      ...(messages ? { messages } : {}),
      ...(responses ? { responses } : {}),
      prompt: body.messages.map(message => message.content ?? '').join('\n'),
    }
    if (options.keeps ?? true) requests.push(request)
    for (const arrived of arrivals) arrived()
    const refusal = messages
      ? messagesRefusal(messages, options.window)
      : responses
        ? responsesRefusal(responses, options.window)
        : refusalOf(body, options)
    if (refusal) {
      refusals.push(refusal)
      return sendRefusal(response, refusal)
    }
    const reply = await settle(queue.shift() ?? (await script(request, n)) ?? text('All done.'))
    if (reply.kind === 'refusal') return sendRefusal(response, reply)
    const entry = { n, model: body.model, input_tokens: tokensIn(body), output_tokens: 0 }
    if (reply.kind === 'answer' || reply.mode !== 'html200') bill.push(entry)
    if (reply.kind === 'breakage') return sendBreakage(response, body, reply, entry, responses !== undefined)
    if (responses) return sendResponse(response, responses, reply, entry)
    await (messages ? sendMessage : sendAnswer)(response, body, reply, entry)
  }

  const { url: origin, close } = await httpServer((incoming, response) => {
    response.on('error', () => {})
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
    const page = incoming.method === 'GET' ? options.pages?.[path] : undefined
    if (page !== undefined) return sendJson(response, 200, page)
    if (incoming.method === 'GET' && path === '/v1/models' && options.models !== null) {
      const data = (options.models ?? ['scripted-1']).map(id => ({ id, object: 'model' }))
      return sendJson(response, 200, { object: 'list', data })
    }
    const paths = ['/v1/chat/completions', '/v1/messages', ...(options.responses === false ? [] : ['/v1/responses'])]
    if (incoming.method !== 'POST' || !paths.includes(path)) {
      return sendRefusal(response, refuse(404, `no such route: ${incoming.method} ${path}`))
    }
    chat(incoming, response, path).catch(error => sendRefusal(response, refuse(500, `the script failed: ${error}`)))
  }, options.port)
  return {
    url: `${origin}/v1`,
    origin,
    requests,
    get received() {
      return received
    },
    bill,
    refusals,
    enqueue: (...replies) => void queue.push(...replies),
    request: n =>
      new Promise(resolve => {
        const look = () => {
          const request = requests[n - 1]
          if (!request) return
          arrivals.delete(look)
          resolve(request)
        }
        arrivals.add(look)
        look()
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function sendAnswer(response: ServerResponse, body: ModelRequestBody, answer: Answer, entry: BillEntry) {
  entry.output_tokens = tokens(answer.text.length + JSON.stringify(answer.tool_calls).length - 2)
  const { input_tokens: prompt_tokens, output_tokens: completion_tokens } = entry
  const usage = answer.usage === undefined ? { prompt_tokens, completion_tokens } : answer.usage
  const finish_reason = answer.finish_reason ?? (answer.tool_calls.length > 0 ? 'tool_calls' : 'stop')
  const calls = answer.tool_calls.map(({ id, name, arguments: args, extra_content }, index) => ({
    index,
    id: id ?? `call_${entry.n}_${index}`,
    type: 'function',
    function: { name, arguments: args },
    ...(extra_content === undefined ? {} : { extra_content }),
  }))
  const fields = { ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}), ...answer.fields }
  if (!body.stream) {
    const message = {
      role: 'assistant',
      content: answer.text || null,
      ...fields,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    }
    return sendJson(response, 200, {
      ...completion(body, entry.n),
      choices: [{ index: 0, message, finish_reason }],
      ...(usage ? { usage } : {}),
    })
  }
  const send = openStream(response)
  const chunk = (delta: object, reason: string | null = null) =>
    send({ ...completion(body, entry.n), choices: [{ index: 0, delta, finish_reason: reason }] })
  await chunk({ role: 'assistant', content: '' })
  if (Object.keys(fields).length > 0) await chunk(fields)
  for (const [n, piece] of [...pieces(answer.text)].entries()) {
    if (n === 1) await answer.until
    await chunk({ content: piece })
  }
  for (const { function: fn, ...call } of calls) {
    await chunk({ tool_calls: [{ ...call, function: { name: fn.name, arguments: '' } }] })
    for (const piece of pieces(fn.arguments)) {
      await chunk({ tool_calls: [{ index: call.index, function: { arguments: piece } }] })
    }
  }
  await chunk({}, finish_reason)
  if (usage && body.stream_options?.include_usage) await send({ ...completion(body, entry.n), choices: [], usage })
  response.end('data: [DONE]\n\n')
}

/** Sends an answer of Anthropic's Messages API: https://platform.claude.com/docs/en/build-with-claude/streaming */
async function sendMessage(response: ServerResponse, body: ModelRequestBody, answer: Answer, entry: BillEntry) {
  const content = blocksOf(answer, entry.n)
  entry.output_tokens = tokens(JSON.stringify(content).length - 2)
  const { input_tokens, output_tokens } = entry
  const head = { id: `msg_${entry.n}`, type: 'message', role: 'assistant', model: body.model }
  const end = endOfMessage(answer)
  if (!body.stream) return sendJson(response, 200, { ...head, content, ...end, usage: { input_tokens, output_tokens } })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const message = {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens, output_tokens: 1 },
  }
  const events = [
    { type: 'message_start', message },
    ...content.flatMap((block, index) => blockEvents(index, block)),
    { type: 'message_delta', delta: end, usage: { output_tokens } },
    { type: 'message_stop' },
  ]
  for (const event of events) await write(response, `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

/** Sends an answer of the Responses API: https://platform.openai.com/docs/api-reference/responses-streaming */
async function sendResponse(response: ServerResponse, body: ResponsesRequestBody, answer: Answer, entry: BillEntry) {
  entry.output_tokens = tokens(answer.text.length + JSON.stringify(answer.tool_calls).length - 2)
  const { input_tokens, output_tokens } = entry
  const usage = answer.usage === null ? undefined : { input_tokens, output_tokens }
  const whole = responseOf(answer, body, entry.n, usage)
  if (!body.stream) return sendJson(response, 200, whole)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of answer.events ?? responseEvents(whole, pieces)) {
    if (typeof event === 'number') await setTimeout(event * 1000, undefined, { ref: false })
    else await write(response, `data: ${JSON.stringify(event)}\n\n`)
  }
  response.end()
}

async function sendBreakage(
  response: ServerResponse,
  body: ModelRequestBody,
  { mode, text: said }: Breakage,
  entry: BillEntry,
  responses: boolean,
) {
  if (mode === 'hang') return
  if (mode === 'html200') {
    response.writeHead(200, { 'content-type': 'text/html' })
    return void response.end('<!doctype html><title>Welcome</title><p>It works!')
  }
  const choices = [
    { index: 0, delta: { content: said }, message: { role: 'assistant', content: said }, finish_reason: null },
  ]
  const piece = responses
    ? { type: 'response.output_text.delta', delta: said }
    : { ...completion(body, entry.n), choices: mode === 'empty' ? [] : choices }
  const whole = JSON.stringify(piece)
  const send = body.stream ? openStream(response) : undefined
  if (!send) response.writeHead(200, { 'content-type': 'application/json' })
  if (mode === 'empty') return void response.end(send ? `data: ${whole}\n\ndata: [DONE]\n\n` : whole)
  if (mode === 'badjson') return void response.end(send ? `data: ${whole.slice(0, -9)}\n\n` : whole.slice(0, -9))
  if (mode === 'drip') return sendSlowly(response, send ? `data: ${whole}\n\n` : whole)
  entry.output_tokens = tokens(said.length)
  if (send) await send(JSON.parse(whole))
  else await write(response, whole.slice(0, whole.length / 2))
  if (mode === 'cleancut') response.end()
  if (mode === 'rst') response.socket?.resetAndDestroy()
}

/** Sends one byte a second until the connection closes. */
function sendSlowly(response: ServerResponse, line: string): void {
  let at = 0
  const timer = setInterval(() => response.write(line[at++ % line.length]!), 1000)
  response.on('close', () => clearInterval(timer))
}

function sendRefusal(response: ServerResponse, { status, message, headers, code }: Refusal): void {
  if (response.headersSent) return void response.destroy()
  sendJson(
    response,
    status,
    { type: 'error', error: { message, type: 'error', code: code ?? null, param: null } },
    headers,
  )
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

function openStream(response: ServerResponse): (chunk: unknown) => Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  return chunk => write(response, `data: ${JSON.stringify(chunk)}\n\n`)
}

/** Resolves when the bytes are sent, or the reader is gone. */
function write(response: ServerResponse, bytes: string): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  return new Promise(resolve => response.write(bytes, () => resolve()))
}

function completion({ model }: ModelRequestBody, n: number) {
  return { id: `chatcmpl-${n}`, object: 'chat.completion', created: 0, model }
}

/** Splits text into at most eight pieces, as a stream does. */
function pieces(whole: string): string[] {
  const size = Math.max(1, Math.ceil(whole.length / 8))
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, n) => whole.slice(n * size, (n + 1) * size))
}

function tokens(chars: number): number {
  return Math.ceil(chars / 4)
}

function endOf(response: ServerResponse): Promise<'answered' | 'dropped'> {
  return new Promise(resolve => {
    response.once('close', () => resolve(response.writableFinished ? 'answered' : 'dropped'))
  })
}
