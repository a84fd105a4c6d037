/**
 * A client of the REST API, with types derived from the operations. Runs in Node and in browsers, and imports nothing
 * specific to either.
 */

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { defineError, InvalidInputError, SvcError } from '../../../kernel/errors.ts'
import { isHttpUrl } from '../../lib/http-url.ts'
import { routeRequest } from '../../lib/route-request.ts'
import { OPERATIONS, type Operations } from './client-operations.ts'

export { SvcError } from '../../../kernel/errors.ts'

export interface ClientOptions {
  /** Base URL of the server, such as `http://127.0.0.1:8000`. */
  baseUrl: string
  /** Key for the header `X-Svc-Key`, where the server requires one. */
  apiKey?: string | undefined
  /** User for whom requests are made: the header `X-Svc-User`. */
  user?: string | undefined
  /** Implementation of `fetch`; by default that of the platform. */
  fetch?: typeof fetch | undefined
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Identifies a repeated request: with the same key a task that was cut off is found, not started again. */
  idempotencyKey?: string | undefined
  /** ID of the event after which a stream resumes. */
  lastEventId?: string | undefined
  /** Called with each response before its body is read; a list has `X-Total-Count` and `Link`. */
  onResponse?: ((response: Response) => void) | undefined
}

type Name = keyof Operations
type Camel<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S
type Module<N extends Name> = N extends `${infer R}.${string}` ? R : never
type Verb<N extends Name> = N extends `${string}.${infer V}` ? V : never

/** A message of a stream: the event's name, its data, and the id after which to resume. */
export type EventOf<E> = { [K in keyof E]: { event: K; data: E[K]; id?: string } }[keyof E]

type Arguments<I> =
  Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]
type Method<O> = O extends { input: infer I; events: infer E }
  ? (...args: Arguments<I>) => AsyncGenerator<EventOf<Omit<E, 'error'>>, void, undefined>
  : O extends { input: infer I; output: infer R }
    ? (...args: Arguments<I>) => Promise<R>
    : never

/** Operations by module: `client.agents.spawn({ preset: 'coder' })`, `client.tasks.stream({ … })`. */
export type Client = {
  readonly [R in Module<Name> as Camel<R>]: {
    readonly [N in Name as Module<N> extends R ? Camel<Verb<N>> : never]: Method<Operations[N]>
  }
}

export const UnreachableError = defineError({
  code: 'unreachable',
  status: 503,
  title: 'Service unreachable',
  message: (p: { url: string; problem: string }) => `${p.url} cannot be reached: ${p.problem}.`,
})
/** A stream was cut off, so its outcome is unknown. Events received so far are valid. */
export const ConnectionCutError = defineError({
  code: 'connection_cut',
  status: 502,
  title: 'Connection interrupted',
  message: () =>
    'The connection was cut before the end of the stream; set an idempotencyKey so that the client can recover the answer.',
})

/** Codes of tasks that were cancelled: their streams end with `done`. */
const CANCELLED = ['task_cancelled', 'task_stopped']

/** First delay before a stream that was cut is opened again, in milliseconds; it doubles each time. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** Maximum number of attempts to find the answer of an earlier call again. */
const TRIES = 6

/**
 * Creates a client of the REST API at `baseUrl`. Its methods throw an SvcError with the code, status and message of the
 * server's problem document. A stream is an async iterator; leaving it early closes it. A stream that can resume after
 * an event is opened again when it was cut; one that started a task asks for the answer when the call had an
 * `idempotencyKey`. The stream of a failed task throws its error, with the problem and the `task` as `cause`.
 * @throws TypeError when `baseUrl` is no HTTP URL
 */
export function createClient(options: ClientOptions): Client {
  if (!isHttpUrl(options.baseUrl))
    throw new TypeError(`baseUrl must be a URL such as http://127.0.0.1:8000, not "${options.baseUrl}"`)
  const modules: Record<string, Record<string, unknown>> = {}
  for (const [name, operation] of Object.entries(OPERATIONS) as [Name, Route][]) {
    const at = name.indexOf('.')
    const module = camel(name.slice(0, at))
    modules[module] ??= {}
    modules[module][camel(name.slice(at + 1))] = operation.stream
      ? (input: Input = {}, call: CallOptions = {}) => follow(options, operation, input, call)
      : (input: Input = {}, call: CallOptions = {}) => ask(options, operation, input, call)
  }
  return modules as Client
}

type Input = Readonly<Record<string, unknown>>
interface Route {
  method: string
  path: string
  /** Whether the stream ends with a last event, or goes on until the client leaves it. */
  stream?: 'ends' | 'goes on'
  /** Media type of a text answer; JSON by default. */
  produces?: string
}
interface Message {
  event: string
  data: unknown
  id?: string
}

async function ask(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<unknown> {
  const answer = await send(options, route, input, call)
  const text = await answer.text().catch(error => throwUnreachable(error, options, call))
  if (text === '') return null
  return route.produces ? text : JSON.parse(text)
}

/**
 * Sends a request.
 * @throws SvcError: UnreachableError, also where another program answers; or what the server answered
 */
async function send(options: ClientOptions, route: Route, input: Input, call: CallOptions): Promise<Response> {
  const { target, body } = routeRequest(route, input, checkParameter)
  const headers = new Headers()
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (options.apiKey) headers.set('x-svc-key', options.apiKey)
  if (options.user) headers.set('x-svc-user', options.user)
  if (call.idempotencyKey) headers.set('idempotency-key', call.idempotencyKey)
  if (call.lastEventId) headers.set('last-event-id', call.lastEventId)
  const { fetch = globalThis.fetch } = options
  const request = { method: route.method, headers, body: body ?? null, ...(call.signal ? { signal: call.signal } : {}) }
  const answer = await fetch(`${options.baseUrl.replace(/\/+$/, '')}${target}`, request).catch(error =>
    throwUnreachable(error, options, call),
  )
  if (!answer.ok) throw errorOf(await answer.json().catch(() => null), answer)
  const { stream, produces = stream ? 'text/event-stream' : 'application/json' } = route
  const media = answer.headers.get('content-type')
  // Browsers give a response without content an empty body.
  if (answer.status !== 204 && answer.body && !media?.startsWith(produces)) {
    throw new UnreachableError({ url: options.baseUrl, problem: `another program answers there, with ${media}` })
  }
  call.onResponse?.(answer)
  return answer
}

/**
 * Throws the error of a request that got no answer or only a part of one.
 * @throws the abort reason of the signal; UnreachableError
 */
function throwUnreachable(error: unknown, { baseUrl }: ClientOptions, { signal }: CallOptions): never {
  signal?.throwIfAborted()
  throw new UnreachableError({ url: baseUrl, problem: problemOf(error) }, { cause: error })
}

/** @throws InvalidInputError for a missing path parameter, and for `.` and `..`, which URLs resolve to another path */
function checkParameter(name: string, value: unknown): void {
  if (value !== '' && value !== '.' && value !== '..') return
  const issues = [{ path: name, message: value === '' ? 'is missing' : `"${value}" is not a valid name` }]
  throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
}

async function* follow(
  options: ClientOptions,
  route: Route,
  input: Input,
  call: CallOptions,
): AsyncGenerator<Message, void, undefined> {
  const left = new AbortController()
  const leave = () => left.abort(call.signal?.reason)
  call.signal?.addEventListener('abort', leave, { once: true })
  call.signal?.throwIfAborted()
  let lastEventId = call.lastEventId
  let failed = false
  try {
    for (let pause = 0; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const seen = lastEventId === undefined ? {} : { lastEventId }
        const answer = await send(options, route, input, { ...call, ...seen, signal: left.signal })
        pause = FIRST_PAUSE_MS
        for await (const message of messagesOf(answer)) {
          if (message.event === 'error') {
            failed = Object.hasOwn(Object(message.data), 'task')
            throw errorOf(message.data)
          }
          lastEventId = message.id ?? lastEventId
          yield message
          if (message.event === 'done') return
        }
        if (route.stream === 'goes on') return
        throw new ConnectionCutError()
      } catch (error) {
        call.signal?.throwIfAborted()
        // Retries only a connection that existed and was cut, not one that was never made, nor a failed task.
        if (failed || pause === 0 || !isCut(error)) throw error
        if (route.method !== 'GET') {
          yield { event: 'done', data: await requestWithoutStream(options, route, input, call) }
          return
        }
        await sleep(pause, call.signal)
      }
    }
  } finally {
    call.signal?.removeEventListener('abort', leave)
    left.abort()
  }
}

/**
 * Asks for the answer of a call whose stream was cut, without a stream.
 * @throws ConnectionCutError without an idempotencyKey; the error of a task that failed
 */
async function requestWithoutStream(
  options: ClientOptions,
  { path }: Route,
  input: Input,
  call: CallOptions,
): Promise<unknown> {
  const whole = Object.values<Route>(OPERATIONS).find(
    route => !route.stream && route.method === 'POST' && `${route.path}/stream` === path,
  )
  if (!whole || !call.idempotencyKey) throw new ConnectionCutError()
  const task = await retryCuts(() => ask(options, whole, input, call), call.signal)
  const { error } = Object(task) as { error?: { code: string } | null }
  if (error && !CANCELLED.includes(error.code)) throw errorOf({ ...error, task })
  return task
}

/** Repeats a request whose connection was cut, after growing pauses. */
async function retryCuts<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let tries = 1, pause = FIRST_PAUSE_MS; ; tries++, pause *= 2) {
    try {
      return await request()
    } catch (error) {
      if (tries === TRIES || !isCut(error)) throw error
      await sleep(pause, signal)
    }
  }
}

/**
 * Yields the messages of a stream.
 * @throws ConnectionCutError when the stream breaks off
 */
async function* messagesOf({ body }: Response): AsyncGenerator<Message> {
  const come: EventSourceMessage[] = []
  const parser = createParser({ onEvent: message => come.push(message) })
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(error => {
        throw new ConnectionCutError(undefined, { cause: error })
      })
      if (done) return
      parser.feed(value)
      for (const { id, event = 'message', data } of come.splice(0)) {
        yield { event, data: JSON.parse(data), ...(id === undefined ? {} : { id }) }
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Returns whether an error is a cut connection, after which a retry may succeed. */
function isCut(error: unknown): boolean {
  return error instanceof SvcError && (error.status === 502 || error.status === 503)
}

/** Restores the error from a problem document. Other answers, such as a proxy's, are described by their status. */
function errorOf(problem: unknown, answer?: Response): SvcError {
  const document = Object(problem) as Partial<Record<'code' | 'title' | 'detail', string>> & {
    status?: number
    errors?: SvcError['errors']
  }
  const { code, status, title, detail, errors } = typeof document.code === 'string' ? document : {}
  const known = status ?? answer?.status ?? 500
  const retryAfter = Number(answer?.headers.get('retry-after'))
  return new SvcError(detail ?? `The server answered with status ${known}.`, {
    code: code ?? 'unknown',
    status: known,
    ...(title === undefined ? {} : { title }),
    ...(errors === undefined ? {} : { errors }),
    ...(retryAfter > 0 ? { retryAfter } : {}),
    cause: problem,
  })
}

function problemOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : message
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(finish, ms)
    function finish() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    signal?.addEventListener('abort', finish, { once: true })
  })
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
