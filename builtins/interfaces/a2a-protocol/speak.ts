import type { ServerResponse } from 'node:http'
import type { ProtocolExchange } from '#interfaces/rest/contract'
import { describeIssues, errorMessage, issuesOf, type PluginHandle } from '#kernel'
import { secretMasker } from '#lib/secrets'
import { VERSIONS, versionIn } from './address.ts'
import { errorAnswer, RpcError, rpcErrorOf } from './errors.ts'
import type { Peer } from './peer.ts'
import { Request } from './wire.ts'

/** Time after which a client that reads nothing is disconnected, in milliseconds. */
const STALL_MS = 30_000
/** Interval of comments that keep proxies from closing an idle stream, in milliseconds. */
const COMMENT_MS = 15_000

type Json = Record<string, unknown>

/** Creates the JSON-RPC handler of the server's listener. It responds with JSON, or with server-sent events. */
export function speaker(svc: PluginHandle, peer: Peer): (exchange: ProtocolExchange) => Promise<void> {
  const mask = secretMasker(svc)
  const toMaskedJson = (value: unknown) => mask(JSON.stringify(value))

  return async exchange => {
    const { response, call } = exchange
    const stop = new AbortController()
    const signal = AbortSignal.any([call.signal, stop.signal])
    let id: string | number | null = null
    try {
      id = idOf(exchange.body)
      const answer = peer.answer({ ...parseRequest(exchange), call: { ...call, signal } })
      if (answer instanceof Promise) return send(response, toMaskedJson({ jsonrpc: '2.0', id, result: await answer }))
      // An invalid request gets its error before the stream begins.
      const first = await answer.next()
      exchange.stream(() => stop.abort())
      await writeStream(svc, response, withFirst(first, answer), result => toMaskedJson({ jsonrpc: '2.0', id, result }))
    } catch (error) {
      const known = toMaskedJson(errorAnswer(id, shownRpcError(svc, error, call.request_id)))
      if (!response.headersSent) return send(response, known)
      response.end(`data: ${known}\n\n`)
    } finally {
      stop.abort()
    }
  }
}

/**
 * Parses a request.
 * @throws RpcError if it is invalid, or in an unsupported version of the protocol
 */
function parseRequest({ body, params, request }: ProtocolExchange) {
  const { data, error } = Request.safeParse(body)
  if (error) throw new RpcError('invalid_request', `The request is not valid: ${describeIssues(issuesOf(error))}`)
  const version = versionIn(request)
  if (!VERSIONS.includes(version))
    throw new RpcError(
      'version_not_supported',
      `This protocol version is not supported: ${version}; the supported ones are ${VERSIONS.join(' and ')}.`,
    )
  return { method: data.method, params: data.params, agent: params.id }
}

function idOf(body: unknown): string | number | null {
  return Request.pick({ id: true }).safeParse(body).data?.id ?? null
}

function shownRpcError(svc: PluginHandle, error: unknown, request_id: string): RpcError {
  const known = rpcErrorOf(error)
  if (known) return known
  svc.log.error({ request_id, err: error }, `a request of an external agent failed: ${errorMessage(error)}`)
  return new RpcError('internal', 'Internal error; the log of this service has the details.')
}

function send(response: ServerResponse, json: string): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(json)
}

async function* withFirst(first: IteratorResult<Json>, rest: AsyncGenerator<Json>): AsyncGenerator<Json> {
  if (!first.done) yield first.value
  yield* rest
}

/** Writes results as fast as the client reads them. */
async function writeStream(
  svc: PluginHandle,
  response: ServerResponse,
  results: AsyncGenerator<Json>,
  toMaskedJson: (result: Json) => string,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const over = new AbortController()
  const comments = async () => {
    for (;;) {
      await svc.clock.sleep(COMMENT_MS, over.signal)
      if (over.signal.aborted) return
      response.write(': still here\n\n')
    }
  }
  void comments()
  try {
    for await (const result of results) {
      if (response.destroyed) return
      if (!response.write(`data: ${toMaskedJson(result)}\n\n`)) await waitForDrain(svc, response)
    }
    response.end()
  } finally {
    over.abort()
  }
}

/** Waits until the client has read the written data or has disconnected. Disconnects a client that stalls. */
async function waitForDrain({ clock }: PluginHandle, response: ServerResponse): Promise<void> {
  const settled = new AbortController()
  const settle = () => settled.abort()
  response.once('drain', settle).once('close', settle)
  await clock.sleep(STALL_MS, settled.signal)
  response.off('drain', settle).off('close', settle)
  if (!settled.signal.aborted) response.destroy()
}
