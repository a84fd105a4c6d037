import type { IncomingMessage } from 'node:http'
import { join, resolve } from 'node:path'
import type { EventSourceMessage } from 'eventsource-parser'
import { type Clock, errorMessage, SvcError } from '#kernel'
import { routeRequest } from '#lib/route-request'
import type { StreamEvent } from '#lib/stream'
import type { Context } from '../context.ts'
import { type CommandTree, DaemonAnswerError, type OperationRef } from '../contract.ts'

/** Interval of the check that the answering daemon is not stalled, in milliseconds. */
const LOOK_MS = 1_000

/** What is printed around an answer on a terminal. */
export interface Surroundings {
  /** Number of rows that a list leaves out. */
  hidden?: number | undefined
  /** Line printed above the answer; empty when there is none. */
  notice?: string | undefined
}

/**
 * Sends an operation to the project's daemon, over its socket. Aborting the signal disconnects the client.
 * @param accept `text/plain` asks for the output as its command prints it
 * @returns undefined when no daemon answers, when the daemon has stalled, or when the operation has no route
 * @throws SvcError, the one that the operation threw in the daemon
 */
export async function askDaemon(
  root: string,
  operation: OperationRef,
  input: Readonly<Record<string, unknown>>,
  { program, ports, tree }: Pick<Context, 'program' | 'ports' | 'tree'>,
  signal?: AbortSignal,
  accept = '*/*',
): Promise<{ output: unknown; around?: Surroundings } | undefined> {
  const { http } = operation
  if (!http) return undefined
  const svc = join(root, '.svc')
  const found = await program.findDaemon(ports, svc)
  if (!found?.alive || found.stalled) return undefined
  const isStalled = async () => (await program.findDaemon(ports, svc))?.stalled === true
  const answer = await runUntilDaemon(isStalled, ports.clock, signal, ending =>
    send(resolve(svc, found.holder.socket), { method: http.method, accept, ...routeRequest(http, input) }, ending),
  ).catch(async error => {
    if (signal?.aborted || !(await isStalled())) throw error
    if (http.method === 'GET') return undefined
    throw new DaemonAnswerError({
      problem: 'its event loop has been blocked for 10 s; it may still carry out the request',
    })
  })
  if (!answer) return undefined
  if (answer.events) return { output: eventsOf(answer.events, tree.exits) }
  if (answer.status < 300) return { output: answer.status === 204 ? null : bodyOf(answer), around: answer.around ?? {} }
  throw errorOf(answer, tree.exits)
}

/** Runs work that the signal can abort, or a check that is repeated until it returns true. */
async function runUntilDaemon<T>(
  findDaemon: () => Promise<boolean>,
  clock: Clock,
  signal: AbortSignal | undefined,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const [over, ending] = [new AbortController(), new AbortController()]
  const look = async () => {
    await clock.sleep(LOOK_MS, over.signal)
    if (over.signal.aborted) return
    if (await findDaemon()) ending.abort()
    else await look()
  }
  void look()
  try {
    return await work(signal ? AbortSignal.any([signal, ending.signal]) : ending.signal)
  } finally {
    over.abort()
  }
}

interface Answer {
  status: number
  json: boolean
  text: string
  around?: Surroundings
  /** The response as a stream, when the answer is one. */
  events?: IncomingMessage
}

async function send(
  socketPath: string,
  { method, accept, target, body }: { method: string; accept: string } & ReturnType<typeof routeRequest>,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const [{ request }, { connect }] = await Promise.all([import('node:http'), import('node:net')])
  return new Promise((resolve, reject) => {
    const headers = { host: 'localhost', accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
    // Node's agent would compile a pattern of IPv6 addresses, which takes a tenth of a short command.
    const createConnection = () => connect(socketPath)
    const sent = request({ createConnection, method, path: target, headers, signal }, response => {
      const { statusCode: status = 0, headers } = response
      if (headers['content-type']?.startsWith('text/event-stream')) {
        resolve({ status, json: false, text: '', events: response })
        return
      }
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.once('error', onError)
      response.once('end', () => {
        const json = /\bjson\b/.test(headers['content-type'] ?? '')
        const around = { hidden: Number(headers['x-hidden-count'] ?? 0), notice: String(headers['x-notice'] ?? '') }
        resolve({ status, json, text: Buffer.concat(parts).toString('utf8'), around })
      })
    })
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined)
      else reject(new DaemonAnswerError({ problem: error.message }))
    }
    sent.once('error', onError)
    sent.end(body)
  })
}

function bodyOf({ json, text }: Answer): unknown {
  if (!json) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new DaemonAnswerError({ problem: 'the response is not valid JSON' })
  }
}

/**
 * Yields the events of a stream. Throws the error of an `error` event as in the daemon, except that of a failed task.
 */
async function* eventsOf(response: IncomingMessage, exits: CommandTree['exits']): AsyncGenerator<StreamEvent> {
  const { createParser } = await import('eventsource-parser')
  const come: EventSourceMessage[] = []
  const parser = createParser({ onEvent: event => come.push(event) })
  response.setEncoding('utf8')
  try {
    for await (const text of response) {
      parser.feed(text)
      for (const { id, event = 'message', data } of come.splice(0)) {
        const parsed = JSON.parse(data)
        if (event === 'error' && !parsed.task) throw errorOf({ status: 0, json: true, text: data }, exits)
        yield { event, data: parsed, ...(id === undefined ? {} : { id }) }
      }
    }
  } catch (error) {
    if (error instanceof SvcError) throw error
    throw new DaemonAnswerError({ problem: errorMessage(error) })
  }
}

/** Restores the error from a problem document. */
function errorOf(answer: Answer, exits: CommandTree['exits']): SvcError {
  const problem = bodyOf(answer) as Partial<{ detail: string; code: string; title: string; errors: SvcError['errors'] }>
  const { detail, code = 'error', title, errors = [] } = problem
  return new SvcError(detail ?? `status ${answer.status}`, {
    code,
    status: answer.status,
    exit: exits[code] ?? 1,
    errors,
    ...(title === undefined ? {} : { title }),
  })
}
