import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { errorMessage, InvalidInputError, type PluginHandle } from '#kernel'
import {
  type Address,
  CannotListenError,
  type Listening,
  PortInUseError,
  type ServerConfig,
  ServerStoppingError,
  WideBindError,
} from '../contract.ts'
import { refusal } from '../request/problem.ts'
import type { Streams } from '../stream/stream.ts'
import type { Apps } from './apps.ts'
import { type ListenerKind, resolveHost } from './hosts.ts'
import { MAKE_A_KEY, weaknessOf } from './keys.ts'
import type { Capacity } from './open-files.ts'

/** Time for running requests to be answered once the server closes, in milliseconds; then they are asked to end. */
const CLOSE_GRACE_MS = 500
const LAST_WORDS_MS = 250
/** Maximum length of a socket path; the system truncates longer ones silently. */
const LONGEST_SOCKET_PATH = 107
/** Time an idle connection is kept, in milliseconds: longer than proxies and clients keep theirs, usually 60 s. */
const KEEP_ALIVE_MS = 75_000
/** Number of times that Node checks for slow requests within their time limit. */
const LOOKS = 5
const LOOK_MS = 1_000

export interface ListenerParts {
  svc: PluginHandle
  config: ServerConfig
  capacity: Capacity
  apps: Apps
  streams: Streams
  listeners: WeakMap<Socket, ListenerKind>
}

/** Serves the current app at an address. @throws see `Rest.listen` */
export async function listen(parts: ListenerParts, address: Address): Promise<Listening> {
  await parts.apps.current()
  return 'socket' in address ? listenSocket(parts, address.socket) : listenTcp(parts, address.host, address.port)
}

async function listenTcp(parts: ListenerParts, host: string, port: number): Promise<Listening> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    const issues = [{ path: 'port', message: 'must be a whole number from 0 to 65535' }]
    throw new InvalidInputError({ what: 'The address', issues }, { errors: issues })
  }
  const { address, wide, shared } = await resolveHost(host)
  if (wide && !parts.config.api_key) {
    if (parts.svc.ports.env.SVC_API_ALLOW_INSECURE !== '1') throw new WideBindError({ host, shared })
    parts.svc.log.warn({}, `SVC_API_ALLOW_INSECURE: anyone who reaches ${address} may use the API without a key`)
  }
  const weakness = shared ? weaknessOf(parts.config.api_key) : undefined
  if (weakness)
    parts.svc.log.warn({}, `${weakness}. ${address} can be reached from other machines. Set a new key: ${MAKE_A_KEY}`)
  const kind = {
    local: false,
    port,
    names: [host, address],
    accepted: new Set<string>(),
    inFlight: new Set<AbortController>(),
  }
  const { server, close } = createListener(parts, kind)
  await listenOn(server, { host: address, port })
  kind.port = (server.address() as AddressInfo).port
  // A listener on all addresses is shown with one that can be opened.
  const shown = ['0.0.0.0', '::'].includes(address) ? '127.0.0.1' : host === 'localhost' ? host : address
  return {
    url: `http://${shown.includes(':') ? `[${shown}]` : shown}:${kind.port}`,
    tcp: { host, port: kind.port },
    close,
  }
}

/** Creates the socket in a private folder and moves it, so that others can never use it in between. */
async function listenSocket(parts: ListenerParts, path: string): Promise<Listening> {
  const { files } = parts.svc.ports
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH) {
    const problem = `the path has more than ${LONGEST_SOCKET_PATH} bytes; move the project to a folder with a shorter path`
    throw new CannotListenError({ address: path, problem })
  }
  if (await answers(path)) throw new CannotListenError({ address: path, problem: 'another process listens there' })
  const kind = { local: true, port: 0, names: [], accepted: new Set<string>(), inFlight: new Set<AbortController>() }
  const { server, close } = createListener(parts, kind)
  const folder = await files.mkdtemp(join(dirname(path), '.s')).catch(error => {
    throw new CannotListenError({ address: path, problem: errorMessage(error) })
  })
  try {
    const made = join(folder, 's')
    await listenOn(server, { path: made })
    await files.chmod(made, 0o600)
    await files.rename(made, path).catch(error => {
      throw new CannotListenError({ address: path, problem: `${errorMessage(error)}; remove what is there` })
    })
  } catch (error) {
    await close()
    throw error
  } finally {
    await files.rm(folder, { recursive: true, force: true })
  }
  const { ino } = await files.stat(path)
  return {
    url: `unix:${path}`,
    async close() {
      const there = await files.stat(path).catch(() => undefined)
      if (there?.ino === ino) await files.rm(path, { force: true })
      await close()
    },
  }
}

function createListener({ svc, config, capacity, apps, streams, listeners }: ListenerParts, kind: ListenerKind) {
  const limit_ms = Math.ceil(config.request_timeout * 1000)
  const server = createServer({
    requestTimeout: limit_ms,
    headersTimeout: limit_ms,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.max(LOOK_MS, Math.ceil(limit_ms / LOOKS)),
    // The gate refuses requests without a host, with the usual error body.
    requireHostHeader: false,
  })
  server.maxConnections = capacity.connections
  /** Number of unanswered requests of each connection, and the last one. */
  const answering = new Map<Socket, { count: number; last: IncomingMessage }>()
  /** Answers to connections that sent no valid HTTP. */
  const refused = new Map<Socket, string>()
  let closing: Promise<void> | undefined

  server.on('connection', socket => listeners.set(socket, kind))
  // Earlier complete requests are answered first, so that their callers learn the result.
  const refuse = (socket: Socket) => {
    const refusal = refused.get(socket)
    const pending = answering.get(socket)
    if (refusal === undefined || (pending && (pending.count > 1 || pending.last.complete))) return
    refused.delete(socket)
    if (socket.writable) socket.write(refusal)
    socket.destroySoon()
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const count = (answering.get(socket)?.count ?? 0) + 1
    answering.set(socket, { count, last: request })
    response.once('close', () => {
      const pending = answering.get(socket)!
      pending.count--
      if (pending.count === 0) answering.delete(socket)
      refuse(socket)
      if (closing && answering.size === 0) server.closeAllConnections()
    })
    const app = apps.current()
    if (!(app instanceof Promise)) app.routing(request, response)
    else
      app.then(
        made => made.routing(request, response),
        error => {
          svc.log.error({}, `the REST app could not be built: ${errorMessage(error)}`)
          socket.destroy()
        },
      )
  }
  server.on('request', answer)
  // Other expectations may be ignored (RFC 9110, 10.1.1); Node would refuse them with its own message.
  server.on('checkExpectation', answer)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    refused.set(socket, refusal(error.code, svc.ports.ids.make('req', 12)))
    refuse(socket)
  })

  const shut = async () => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()))
    streams.stop(kind)
    if (answering.size === 0) server.closeAllConnections()
    const tell = svc.clock.after(LAST_WORDS_MS, () => {
      for (const each of kind.inFlight) each.abort(new ServerStoppingError())
    })
    const cancel = svc.clock.after(CLOSE_GRACE_MS, () => server.closeAllConnections())
    await closed
    tell()
    cancel()
  }
  const close = () => {
    closing ??= shut()
    return closing
  }
  return { server, close }
}

/** Waits until the server listens. @throws PortInUseError, CannotListenError */
function listenOn(server: Server, at: { host: string; port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', (error: NodeJS.ErrnoException) => {
      const address = 'path' in at ? at.path : `${at.host}:${at.port}`
      if ('port' in at && error.code === 'EADDRINUSE') reject(new PortInUseError({ port: at.port }))
      else reject(new CannotListenError({ address, problem: problemOf(error) }))
    })
    server.listen(at)
  })
}

function problemOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'EACCES') return 'the system does not permit it; choose a port from 1024 on'
  if (error.code === 'EADDRNOTAVAIL') return 'this machine does not have that address'
  return errorMessage(error)
}

/** Returns whether a process listens on a unix socket; a socket file may be left over. */
function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path, () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
