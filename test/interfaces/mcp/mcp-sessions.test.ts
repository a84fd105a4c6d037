import { describe, expect, it } from 'vitest'
import mcp from '#interfaces/mcp/index'
import { definePlugin, z } from '../../../kernel/index.ts'
import { HeldClock, until } from '../../support/index.ts'
import { type Answer, startRestServer } from '../rest/rest-server.ts'
import { connectClient, overHttp } from './mcp-client.ts'

const hello = definePlugin({
  name: 'hello',
  setup(svc) {
    const input = z.object({})
    svc.operation({
      name: 'who.asks',
      summary: 'Return the caller',
      input,
      output: z.string(),
      mcp: true,
      run: (_input, { tenant, via }) => `${tenant} over ${via}`,
    })
    svc.operation({
      name: 'tell.much',
      summary: 'Return more than any buffer holds',
      input,
      output: z.string(),
      mcp: true,
      run: () => 'x'.repeat(MUCH),
    })
    svc.operation({
      name: 'wait.on',
      summary: 'Waits until no one wants it any more',
      input,
      output: z.null(),
      mcp: true,
      async run(_input, { signal }) {
        waiting++
        await new Promise(done => signal.addEventListener('abort', done, { once: true }))
        aborted++
        return null
      },
    })
  },
})
const MUCH = 12 * 1024 * 1024
let waiting = 0
let aborted = 0

const PLUGINS = [mcp, hello]
const TAKES = { accept: 'application/json, text/event-stream' }
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'who_asks', arguments: {} } }

type RestServer = Awaited<ReturnType<typeof startRestServer>>
const post = ({ ask }: RestServer, body: unknown, headers: Record<string, string> = {}) =>
  ask('/mcp', { method: 'POST', body, headers: { ...TAKES, ...headers } })
/** Returns the messages of a streamed answer. */
const messages = ({ text }: Answer) =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!) as Record<string, unknown>)
const begin = async (home: RestServer, headers: Record<string, string> = {}) => {
  const { headers: answer } = await post(home, INITIALIZE, headers)
  return String(answer['mcp-session-id'])
}

describe('access to MCP over HTTP', () => {
  it('requires the key where there is one', async () => {
    const { url } = await startRestServer({ plugins: PLUGINS, env: { SVC_API_KEY: 'a key of this server' } })
    await expect(connectClient(overHttp(url))).rejects.toThrow('401')
    const { call } = await connectClient(overHttp(url, { 'x-svc-key': 'a key of this server' }))
    expect((await call('who_asks')).text).toBe('default over mcp')
  })

  it('is refused to pages of other origins, for other host names and methods, and with bodies other than JSON', async () => {
    const home = await startRestServer({ plugins: PLUGINS })
    expect((await post(home, INITIALIZE, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await post(home, INITIALIZE, { host: 'evil.example' })).status).toBe(403)
    expect((await home.ask('/mcp', { method: 'PUT' })).status).toBe(405)
    for (const [body, code] of Object.entries({ '{': -32700, '[1]': -32600 })) {
      const { status, json } = await post(home, body, { 'content-type': 'application/json' })
      expect([status, json]).toEqual([400, { jsonrpc: '2.0', id: null, error: { code, message: expect.any(String) } }])
    }
    expect((await post(home, INITIALIZE, { accept: 'application/json' })).status).toBe(406)
  })

  it('is allowed to listed origins, which may send and read the session and version headers', async () => {
    const origin = 'https://app.example'
    const home = await startRestServer({ plugins: PLUGINS, yaml: `server: { cors_origins: ['${origin}'] }` })
    const asks = { origin, 'access-control-request-method': 'POST' }
    const before = await home.ask('/mcp', { method: 'OPTIONS', headers: asks })
    expect(before.headers['access-control-allow-headers']).toMatch(/Mcp-Protocol-Version.*Mcp-Session-Id/)
    const { headers } = await post(home, INITIALIZE, { origin })
    expect(headers['access-control-expose-headers']).toContain('Mcp-Session-Id')
  })
})

describe('an MCP session over HTTP', () => {
  it('has an id that cannot be guessed, belongs to its tenant, and ends when it is deleted', async () => {
    const home = await startRestServer({ plugins: PLUGINS })
    const id = await begin(home, { 'x-svc-user': 'alice' })
    expect(id).toMatch(/^mcp-[0-9a-f]{32}$/)
    const hers = { 'x-svc-user': 'alice', 'mcp-session-id': id }
    const [answer] = messages(await post(home, CALL, hers))
    expect(answer).toMatchObject({ id: 1, result: { structuredContent: { result: 'alice over mcp' } } })
    expect((await post(home, CALL, { 'mcp-session-id': id })).status).toBe(404)
    expect((await post(home, CALL)).json).toMatchObject({
      error: { message: expect.stringContaining('Mcp-Session-Id') },
    })
    expect((await home.ask('/mcp', { method: 'DELETE', headers: hers })).status).toBe(200)
    expect((await post(home, CALL, hers)).status).toBe(404)
  })

  it('answers wrong parameters and unknown methods with the error codes of JSON-RPC', async () => {
    const home = await startRestServer({ plugins: PLUGINS })
    const headers = { 'mcp-session-id': await begin(home) }
    const code = async (method: string, params: unknown) =>
      messages(await post(home, { jsonrpc: '2.0', id: 5, method, params }, headers)).map(
        each => (each.error as { code: number }).code,
      )
    expect(await code('tools/call', { name: 7 })).toEqual([-32602])
    expect(await code('resources/read', {})).toEqual([-32602])
    expect(await code('no/such', {})).toEqual([-32601])
  })

  it('expires after a long silence, but not while its client has a stream open', async () => {
    const clock = new HeldClock()
    const home = await startRestServer({ plugins: PLUGINS, clock, yaml: 'mcp: { session_idle_s: 60 }' })
    const left = { 'mcp-session-id': await begin(home) }
    const following = { 'mcp-session-id': await begin(home) }
    const stop = new AbortController()
    const stream = await fetch(`${home.url}/mcp`, { headers: { ...TAKES, ...following }, signal: stop.signal })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    await clock.advance(59_000)
    expect(messages(await post(home, CALL, left))).toHaveLength(1)
    await clock.advance(59_000)
    expect((await home.ask('/mcp', { method: 'POST', body: CALL, headers: { ...TAKES, ...left } })).status).toBe(200)
    await clock.advance(61_000)
    expect((await post(home, CALL, left)).status).toBe(404)
    expect(messages(await post(home, CALL, following))).toHaveLength(1)
    stop.abort()
  })

  it('makes way for a new one at the limit if it is unused, but not if it is used', async () => {
    const home = await startRestServer({ plugins: PLUGINS, yaml: 'mcp: { max_sessions: 1 }' })
    const first = await begin(home)
    const second = await begin(home)
    expect((await post(home, CALL, { 'mcp-session-id': first })).status).toBe(404)
    const stop = new AbortController()
    await fetch(`${home.url}/mcp`, { headers: { ...TAKES, 'mcp-session-id': second }, signal: stop.signal })
    const refused = await post(home, INITIALIZE)
    expect(refused.json).toMatchObject({ status: 503, code: 'too_many_mcp_sessions' })
    expect(refused.headers['retry-after']).toBe('5')
    stop.abort()
  })

  it('counts its streams with all others, and aborts its calls when it ends', async () => {
    const home = await startRestServer({ plugins: PLUGINS, yaml: 'server: { max_streams: 1 }' })
    const headers = { 'mcp-session-id': await begin(home) }
    const waits = { ...CALL, params: { name: 'wait_on', arguments: {} } }
    const running = post(home, waits, headers)
    await until(async () => (await post(home, CALL, headers)).status === 503)
    expect((await post(home, CALL, headers)).json).toMatchObject({ code: 'too_many_streams' })
    const before = aborted
    await home.ask('/mcp', { method: 'DELETE', headers })
    await running
    await until(() => aborted > before)
  })

  it('ends with the server', async () => {
    const home = await startRestServer({ plugins: PLUGINS })
    const headers = { ...TAKES, 'mcp-session-id': await begin(home) }
    const stream = await fetch(`${home.url}/mcp`, { headers })
    const before = { waiting, aborted }
    const running = post(home, { ...CALL, params: { name: 'wait_on', arguments: {} } }, headers).catch(() => {})
    await until(() => waiting > before.waiting)
    await home.listening.close()
    expect(await stream.text()).not.toContain('error')
    await running
    await until(() => aborted > before.aborted)
  })

  it('disconnects a client that reads nothing', async () => {
    const clock = new HeldClock()
    const home = await startRestServer({ plugins: PLUGINS, clock })
    const headers = { ...TAKES, 'content-type': 'application/json', 'mcp-session-id': await begin(home) }
    const body = JSON.stringify({ ...CALL, params: { name: 'tell_much', arguments: {} } })
    const response = await fetch(`${home.url}/mcp`, { method: 'POST', headers, body })
    for (let looks = 0; looks < 3; looks++) await clock.advance(31_000)
    await expect(response.text()).rejects.toThrow()
  })

  it('sends a client that was cut off what it missed', async () => {
    const home = await startRestServer({ plugins: PLUGINS })
    const headers = { 'mcp-session-id': await begin(home) }
    const answer = await post(home, CALL, { ...headers, 'mcp-protocol-version': '2025-11-25' })
    const [first] = [...answer.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id!)
    const stop = new AbortController()
    const again = await fetch(`${home.url}/mcp`, {
      headers: { ...TAKES, ...headers, 'last-event-id': first! },
      signal: stop.signal,
    })
    const { value } = await again.body!.pipeThrough(new TextDecoderStream()).getReader().read()
    expect(value).toContain('default over mcp')
    stop.abort()
  })
})
