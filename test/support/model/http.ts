import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of a test, on the loopback address. */
export interface HttpServer extends AsyncDisposable {
  readonly server: Server
  /** Address and port. */
  readonly host: string
  readonly url: string
  /** Stops the server and closes its connections. */
  close(): Promise<void>
}

/** Starts an HTTP server. @param port a free one by default */
export async function httpServer(listener: RequestListener, port = 0): Promise<HttpServer> {
  const server = createServer(listener).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { server, host, url: `http://${host}`, close, [Symbol.asyncDispose]: close }
}

/** Returns the options of a `fetch` that sends JSON. */
export function sendJson(body: unknown, method = 'POST', headers: Record<string, string> = {}): RequestInit {
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}
