import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Address, Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { openKernel } from '../../../embed/compose.ts'
import type { Clock, Kernel, PluginDefinition } from '../../../kernel/index.ts'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is its own business.
  json: any
}

export interface Ask extends Omit<RequestOptions, 'headers'> {
  headers?: Record<string, string | string[]>
  /** Sent as JSON, unless it is a string already. */
  body?: unknown
}

/** Starts a kernel with the REST module in a temporary folder and listens; all of it is cleaned up after the test. */
export async function startRestServer(
  options: {
    plugins?: readonly PluginDefinition[]
    env?: Record<string, string>
    at?: Address
    /** The project's configuration file. */
    yaml?: string
    /** Writes further files into the project before it is opened. */
    before?: (root: string) => Promise<void>
    /** Default: the system clock. */
    clock?: Clock
  } = {},
) {
  const root = await mkdtemp(join(tmpdir(), 'svc-rest-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  if (options.yaml) {
    await mkdir(join(root, '.svc'))
    await writeFile(join(root, '.svc/config.yaml'), options.yaml)
  }
  await options.before?.(root)
  const log: string[] = []
  const kernel = await openKernel({
    pluginFiles: 'all',
    root,
    roles: ['server'],
    builtins: [rest, ...(options.plugins ?? [])],
    ports: { env: options.env ?? {}, ...(options.clock ? { clock: options.clock } : {}) },
    log: { write: line => log.push(line) },
  })
  onTestFinished(() => kernel.close())
  const server = await listen(kernel, options.at)
  return {
    kernel,
    root,
    log,
    ...server,
    /** Sends raw bytes and returns all that is received until the server closes the connection. */
    raw: (bytes: string) => raw(server.port, bytes),
  }
}

/** Makes a kernel listen, on a free port by default. */
export async function listen(kernel: Pick<Kernel, 'use'>, at: Address = { host: '127.0.0.1', port: 0 }) {
  const listening = await kernel.use(Rest).listen(at)
  const { url } = listening
  const { hostname, port } = new URL(url)
  return {
    listening,
    url,
    port: Number(port),
    /** Sends one request on its own connection. */
    ask: (path: string, asked: Ask = {}) => ask({ hostname, port, path, ...asked }),
    /** Sends a body by POST, and without one a GET. */
    send: (path: string, body?: unknown, headers: Record<string, string> = {}) =>
      ask({ hostname, port, path, method: body === undefined ? 'GET' : 'POST', body, headers }),
  }
}

export function ask({ body, headers = {}, ...options }: Ask): Promise<Answer> {
  const bytes = body === undefined ? undefined : typeof body === 'string' ? Buffer.from(body) : asJson(body)
  const json = typeof body === 'object' && !Buffer.isBuffer(body) ? { 'content-type': 'application/json' } : {}
  const length = bytes ? { 'content-length': String(bytes.length) } : {}
  return new Promise((resolve, reject) => {
    const sent = request({ agent: false, ...options, headers: { ...json, ...length, ...headers } }, received => {
      const parts: Buffer[] = []
      received.on('data', part => parts.push(part))
      received.on('error', reject)
      received.on('end', () => {
        const text = Buffer.concat(parts).toString()
        const isJson = received.headers['content-type']?.includes('json') && text !== ''
        const { statusCode: status = 0, headers } = received
        resolve({ status, headers, text, json: isJson ? JSON.parse(text) : undefined })
      })
    })
    sent.on('error', reject)
    sent.end(bytes)
  })
}

function asJson(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
}

function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.on('data', part => {
      text += part
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
}
