import { isAbsolute, join } from 'node:path'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { cleanLine, cut } from '../clean.ts'
import type { McpServerSettings } from '../config.ts'
import { ToolResult } from '../result.ts'
import { environmentOf, headersOf, redactorFor } from './environment.ts'
import { httpTransports, isTransportRefused, statusOf } from './http.ts'
import { ProcessTransport } from './stdio.ts'

/** Maximum delay of a platform timer. Disables the SDK's time limit, because our own clock limits requests. */
const NO_LIMIT = 2 ** 31 - 1
/** The code of the SDK's own error for requests that have lost their connection. */
export const CONNECTION_CLOSED = -32000
/** Time limit for telling an HTTP server that the session ends, in milliseconds. */
const LEAVE_MS = 1_000
/** Maximum number of lines of a process's error output that are logged. */
const MOST_LINES = 200

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

/** A connection to a server, from the handshake to its end. */
export interface Session {
  says_it_is: string
  pid: number | undefined
  /** Returns one page of the server's tools. */
  page(cursor: string | undefined, signal: AbortSignal): Promise<z.output<typeof Page>>
  /** @throws the server's error response; the abort reason of the signal, after notifying the server */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>
  /** Resolves with the reason when the session has ended. */
  ended: Promise<string>
  close(): Promise<void>
}

/**
 * Starts a server's process, or connects to its URL, and performs the handshake.
 * @param listChanged called when the server reports changed tools
 */
export async function openSession(
  svc: PluginHandle,
  name: string,
  settings: McpServerSettings,
  { signal, listChanged }: { signal: AbortSignal; listChanged: () => void },
): Promise<Session> {
  const [{ Client }, { JSONRPCMessageSchema, ToolListChangedNotificationSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const ways = settings.url
    ? await httpTransports(settings.url, headersOf(settings, svc.ports.env), svc.ports.fetch)
    : [() => processOf(svc, name, settings, text => JSONRPCMessageSchema.parse(JSON.parse(text)))]
  for (const [n, way] of ways.entries()) {
    const transport: Transport = way()
    const client = new Client({ name: 'svc', version: '1' }, { capabilities: {} })
    client.setNotificationHandler(ToolListChangedNotificationSchema, listChanged)
    client.onerror = error => svc.log.debug({}, `MCP server ${name}: ${cut(cleanLine(error.message), 500)}`)
    const ended = new Promise<string>(resolve => {
      client.onclose = () => resolve((transport as { reason?: string }).reason ?? 'the connection was closed')
    })
    try {
      await client.connect(transport, { signal, timeout: NO_LIMIT })
    } catch (error) {
      await transport.close()
      if (n < ways.length - 1 && isTransportRefused(error)) continue
      throw signal.aborted ? signal.reason : new Error(faultOf(error, transport))
    }
    const { name: own = '', version = '' } = client.getServerVersion() ?? {}
    // Uses plain requests, because the client's `callTool` would validate results against schemas from the server.
    const options = (signal: AbortSignal) => ({ signal, timeout: NO_LIMIT })
    return {
      says_it_is: cut(cleanLine(`${own} ${version}`), 100),
      pid: (transport as { pid?: number }).pid,
      page: (cursor, signal) =>
        client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, Page, options(signal)),
      call: (tool, args, signal) =>
        client.request({ method: 'tools/call', params: { name: tool, arguments: args } }, ToolResult, options(signal)),
      ended,
      async close() {
        const left = new AbortController()
        await Promise.race([leave(transport), svc.clock.sleep(LEAVE_MS, left.signal)])
        left.abort()
        await client.close()
      },
    }
  }
  throw new Error('there is no way to reach it')
}

/** Terminates the session of an HTTP server. Errors are ignored, because not all servers support this. */
async function leave(transport: Transport): Promise<void> {
  await (transport as { terminateSession?(): Promise<void> }).terminateSession?.().catch(() => {})
}

function processOf(
  { ports, log, project }: PluginHandle,
  name: string,
  settings: McpServerSettings,
  parse: (text: string) => ReturnType<typeof import('@modelcontextprotocol/sdk/types.js').JSONRPCMessageSchema.parse>,
): ProcessTransport {
  const { command = '', args, cwd = '.' } = settings
  const hide = redactorFor(settings, ports.env)
  let lines = 0
  const logLine = (line: string) => {
    if (++lines > MOST_LINES) return
    const text = cleanLine(hide(line))
    if (text !== '') log.info({}, `MCP server ${name}: ${text}`)
    if (lines === MOST_LINES) log.info({}, `MCP server ${name}: further error output is not logged`)
  }
  const at = isAbsolute(cwd) ? cwd : join(project.root, cwd)
  return new ProcessTransport(
    { command, args, cwd: at, env: environmentOf(settings, ports.env), onErrorLine: logLine, parse },
    ports,
  )
}

/** Returns the reason of a failure; for a lost connection, the reason that the transport knows. */
function faultOf(error: unknown, transport: Transport): string {
  const { reason } = transport as { reason?: string }
  return reason && (error as { code?: unknown }).code === CONNECTION_CLOSED ? reason : explainError(error)
}

/** Returns an error with its cause, such as an HTTP status or a refused connection, cleaned and on one line. */
export function explainError(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: string; message?: string } | undefined) : undefined
  const message = errorMessage(error)
  const reason = cause?.code ?? cause?.message
  const below = statusOf(error) ?? (reason && message.includes(reason) ? undefined : reason)
  const advice = below === 401 ? 'name a variable with a valid token or key in headers_env; ' : ''
  return cut(cleanLine(below ? `${below}: ${advice}${message}` : message), 500)
}
