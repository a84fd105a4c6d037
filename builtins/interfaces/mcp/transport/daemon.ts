import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { errorMessage, type Fetch, type OperationCall, type PluginHandle } from '#kernel'
import { Daemon } from '#platform/daemon/contract'

/** Maximum delay of a platform timer. The client decides how long a call may take. */
const NO_LIMIT = 2 ** 31 - 1
/** System errors of a socket on which no process listens. */
const GONE = ['ENOENT', 'ECONNREFUSED']

/**
 * Calls a tool of the project's daemon, at the MCP endpoint of its socket, so that tasks run in the daemon: with its
 * keys, and also after this process has ended. The connection lasts for one call, because the daemon may restart.
 * @returns undefined when no other process is a daemon that answers
 */
export async function callInDaemon(
  svc: PluginHandle,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  { signal, progress, traceparent }: OperationCall,
): Promise<CallToolResult | undefined> {
  const found = await svc.use(Daemon).find()
  if (!found?.alive || found.stalled || found.holder.pid === process.pid) return undefined
  const [{ Client }, { StreamableHTTPClientTransport }, { CallToolResultSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: await fetchOver(resolve(svc.project.svc, found.holder.socket)),
    // A stream of this socket ends early only with the daemon, and another daemon does not have the session.
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 0,
      maxReconnectionDelay: 0,
      reconnectionDelayGrowFactor: 1,
    },
  })
  const client = new Client({ name: 'svc mcp', version: '1' }, { capabilities: {} })
  // The SDK reports a lost connection only here, and leaves the request open.
  const failed = new Promise<never>((_, reject) => {
    client.onerror = reject
  })
  failed.catch(() => {})
  const options = { signal, timeout: NO_LIMIT }
  const onprogress = ({ message = '' }: { message?: string | undefined }) => progress(message)
  const _meta = traceparent === undefined ? {} : { _meta: { traceparent } }
  try {
    await Promise.race([client.connect(transport, options), failed])
    const params = { name: tool, arguments: { ...args }, ..._meta }
    return await Promise.race([
      client.request({ method: 'tools/call', params }, CallToolResultSchema, { ...options, onprogress }),
      failed,
    ])
  } catch (error) {
    if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    if (signal.aborted) throw error
    const text = `The daemon (PID ${found.holder.pid}), which carries out this call, gave no answer: ${errorMessage(error)}. Check its state (daemon_status) and what the call has done before you repeat it.`
    return { isError: true, content: [{ type: 'text', text }] }
  } finally {
    // Also cancels a call that is still open.
    await transport.terminateSession().catch(() => {})
    await client.close()
  }
}

/** Returns a fetch that sends its requests to a Unix socket. */
async function fetchOver(socketPath: string): Promise<Fetch> {
  const { request } = await import('node:http')
  return (input, { method = 'GET', headers, signal, body } = {}) =>
    new Promise((resolve, reject) => {
      const { pathname: path } = new URL(String(input))
      const given = Object.fromEntries(new Headers(headers))
      const sent = request({ socketPath, method, path, headers: given, ...(signal ? { signal } : {}) }, response => {
        const { statusCode: status = 0, headers: received } = response
        const fields = Object.entries(received).map(([name, value]) => [name, String(value)] as [string, string])
        resolve(new Response(Readable.toWeb(response) as ReadableStream, { status, headers: fields }))
      })
      sent.once('error', reject)
      sent.end(body as string | undefined)
    })
}
