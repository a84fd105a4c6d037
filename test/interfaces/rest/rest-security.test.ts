import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { StaticRoutes } from '#interfaces/rest/contract'
import { definePlugin, z } from '../../../kernel/index.ts'
import { startRestServer } from './rest-server.ts'

/** A module with an agent that can be paused and killed: the target of the attacks. */
function agentModule() {
  const agent = { status: 'idle' }
  const plugin = definePlugin({
    name: 'agent',
    setup(svc) {
      const output = z.object({ status: z.string() })
      svc.operation({
        name: 'agent.get',
        summary: 'The agent',
        input: z.object({}),
        output,
        http: { method: 'GET', path: '/agent' },
        run: () => agent,
      })
      svc.operation({
        name: 'agent.pause',
        summary: 'Pause the agent',
        input: z.object({}),
        output,
        http: { method: 'POST', path: '/agent/pause' },
        run() {
          agent.status = 'paused'
          return agent
        },
      })
      svc.operation({
        name: 'agent.nudge',
        summary: 'Tell the agent',
        input: z.object({ message: z.string() }),
        output,
        http: { method: 'POST', path: '/agent/nudge' },
        run: () => agent,
      })
      svc.operation({
        name: 'agent.kill',
        summary: 'Kill the agent',
        input: z.object({}),
        output: z.null(),
        http: { method: 'DELETE', path: '/agent', status: 204 },
        run() {
          agent.status = 'dead'
          return null
        },
      })
      svc.add(StaticRoutes, { path: '/', contentType: 'text/html; charset=utf-8', body: () => '<!doctype html>' })
    },
  })
  return { agent, plugin }
}

async function startAgentServer(env: Record<string, string> = {}, yaml = '') {
  const { agent, plugin } = agentModule()
  const fixture = await startRestServer({ plugins: [plugin], env, yaml })
  return {
    ...fixture,
    agent,
    pause: (headers: Record<string, string>) => fixture.ask('/agent/pause', { method: 'POST', headers }),
  }
}

describe("a page in the operator's browser, while no API key is set", () => {
  it.each([
    ['of another site', { origin: 'https://evil.example' }],
    ['of a sandboxed frame', { origin: 'null' }],
    ['of another site, marked by the browser', { 'sec-fetch-site': 'cross-site' }],
    ['of a sibling site', { 'sec-fetch-site': 'same-site' }],
    ['of another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['whose origin only begins like ours', { origin: 'http://127.0.0.1.evil.example' }],
    ['whose origin is no URL', { origin: 'evil' }],
    ['that says that it is ours, from elsewhere', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
  ])('cannot change anything: a page %s', async (_what, headers: Record<string, string>) => {
    const { agent, ask, pause } = await startAgentServer()
    const answer = await pause(headers)
    expect([answer.status, answer.json.code]).toEqual([403, 'forbidden_origin'])
    expect((await ask('/agent', { method: 'DELETE', headers })).status).toBe(403)
    expect(agent.status).toBe('idle')
  })

  it('is refused with 415 for each content type that a form can send', async () => {
    const { ask } = await startAgentServer()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const answer = await ask('/agent/nudge', {
        method: 'POST',
        body: '{"message":"x"}',
        headers: { 'content-type': type },
      })
      expect(answer.status, type).toBe(415)
    }
  })

  it.each([
    'evil.example',
    'evil.example:PORT',
    'localhost.evil.example:PORT',
    'evil@127.0.0.1:PORT',
    '127.0.0.1:1',
    'localhost:1',
    'localhost.:PORT',
    '192.168.1.10:PORT',
    '127.0.0.1#.evil.example',
    '[::1',
  ])('reads and changes nothing under a host name that was rebound to this machine: %s', async name => {
    const { agent, ask, port } = await startAgentServer()
    const host = name.replace('PORT', String(port))
    for (const headers of [{ host }, { host, origin: `http://${host}` }, { host, 'sec-fetch-site': 'same-origin' }]) {
      for (const [method, path] of [
        ['GET', '/agent'],
        ['POST', '/agent/pause'],
        ['GET', '/'],
        ['GET', '/nothing'],
      ]) {
        const answer = await ask(path!, { method, headers })
        expect([answer.status, answer.json.code], `${method} ${path}`).toEqual([403, 'forbidden_host'])
      }
    }
    expect(agent.status).toBe('idle')
  })

  it('cannot read across origins, because no CORS header is ever sent', async () => {
    const { ask } = await startAgentServer()
    const headers = {
      origin: 'https://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    }
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const answer = await ask('/agent', { method, headers })
      expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([])
    }
  })
})

describe('curl, a script and our own page', () => {
  it('are accepted while no key is set, under each name of this machine', async () => {
    const { agent, ask, pause, port } = await startAgentServer()
    expect((await pause({})).status).toBe(200)
    expect(agent.status).toBe('paused')
    const own = `127.0.0.1:${port}`
    expect((await pause({ origin: `http://${own}`, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
    expect((await pause({ 'sec-fetch-site': 'none' })).status).toBe(200)
    for (const host of ['localhost', `localhost:${port}`, `LocalHost:${port}`, '127.0.0.1', '[::1]', `[::1]:${port}`]) {
      expect((await ask('/agent', { headers: { host } })).status, host).toBe(200)
    }
  })

  it('are accepted under a name that is listed in server.allowed_hosts', async () => {
    const { ask } = await startAgentServer({}, 'server:\n  allowed_hosts: [svc.example, "tunnel.example:9000"]\n')
    for (const host of ['svc.example', 'SVC.example:80', 'tunnel.example:9000']) {
      expect((await ask('/agent', { headers: { host } })).status, host).toBe(200)
    }
    expect((await ask('/agent', { headers: { host: 'tunnel.example:9001' } })).status).toBe(403)
  })

  it('are accepted under any literal address with SVC_API_ALLOW_INSECURE, but under no other name', async () => {
    const { ask, port } = await startAgentServer({ SVC_API_ALLOW_INSECURE: '1' })
    expect((await ask('/agent', { headers: { host: `192.168.1.10:${port}` } })).status).toBe(200)
    expect((await ask('/agent', { headers: { host: `evil.example:${port}` } })).status).toBe(403)
  })
})

describe('an origin listed in server.cors_origins', () => {
  const yaml = 'server:\n  cors_origins: [https://board.example]\n'

  it('passes the preflight request and may make changes, without credentials', async () => {
    const { ask, pause } = await startAgentServer({}, yaml)
    const origin = 'https://board.example'
    const before = await ask('/agent/pause', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    })
    expect(before.status).toBe(204)
    expect(before.headers['access-control-allow-origin']).toBe(origin)
    expect(before.headers['access-control-allow-headers']).toContain('X-Svc-Key')
    const answer = await pause({ origin, 'sec-fetch-site': 'cross-site' })
    expect([answer.status, answer.headers['access-control-allow-origin'], answer.headers.vary]).toEqual([
      200,
      origin,
      'Origin',
    ])
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  })

  it('is matched exactly', async () => {
    const { ask, pause } = await startAgentServer({}, yaml)
    for (const origin of [
      'https://board.example.evil.example',
      'http://board.example',
      'https://BOARD.example',
      'null',
    ]) {
      const answer = await ask('/agent', { headers: { origin } })
      expect(answer.headers['access-control-allow-origin'], origin).toBeUndefined()
      expect(answer.headers.vary).toBe('Origin')
      expect((await pause({ origin })).status, origin).toBe(403)
    }
  })

  it('passes the preflight request without the key', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: 'open sesame' }, yaml)
    const headers = { origin: 'https://board.example', 'access-control-request-method': 'POST' }
    expect((await ask('/agent/pause', { method: 'OPTIONS', headers })).status).toBe(204)
  })

  it.each(['"*"', 'board.example', 'https://board.example/', 'https://board.example/path'])(
    'cannot be written as %s',
    async entry => {
      await expect(startAgentServer({}, `server:\n  cors_origins: [${entry}]\n`)).rejects.toThrow(
        /cors_origins.*must be an origin/,
      )
    },
  )
})

describe('an API key that is set', () => {
  const key = 'correct horse battery staple'

  it('is required everywhere except for the page, the OpenAPI document and health', async () => {
    const { agent, ask, pause } = await startAgentServer({ SVC_API_KEY: key })
    expect((await ask('/agent')).status).toBe(401)
    expect((await pause({})).status).toBe(401)
    expect((await ask('/nothing')).status).toBe(401)
    expect(agent.status).toBe('idle')
    for (const open of ['/', '/openapi.json']) expect((await ask(open)).status, open).toBe(200)
    expect((await ask('/healthz')).json).toEqual({ status: 'degraded', database: false })
    expect((await ask('/agent', { headers: { 'x-svc-key': key } })).json).toEqual({ status: 'idle' })
    expect((await ask('/nothing', { headers: { 'x-svc-key': key } })).status).toBe(404)
  })

  it.each([
    '//agent',
    '/%61gent',
    '/agent/',
    '/AGENT',
    '/agent?x',
    '/./agent',
    '/healthz/../agent',
    '/docs/../agent',
    '/healthz/agent',
    '/healthz%2f..%2fagent',
    '/healthz;/agent',
    '/agent%00',
    '/agent#/healthz',
    'http://127.0.0.1/agent',
    '/openapi.json/../agent',
    '/\\agent',
  ])('cannot be bypassed by another spelling of a path: %s', async path => {
    const { ask, port } = await startAgentServer({ SVC_API_KEY: key })
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      const { status, text } = await ask(path, { method })
      expect([400, 401, 404], `${method} ${status}`).toContain(status)
      expect(text).not.toContain('idle')
    }
    const bytes = await new Promise<string>(resolve => {
      let text = ''
      const socket = connect(port, '127.0.0.1', () =>
        socket.end(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      )
      socket.on('data', part => {
        text += part
      })
      socket.on('close', () => resolve(text))
    })
    expect(bytes).not.toContain('idle')
  })

  it('gets the same answer when it is missing as when it is wrong, whatever its length', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: key })
    const without = ({ json, ...answer }: Awaited<ReturnType<typeof ask>>) => {
      const { request_id, ...same } = json
      const { date, 'x-request-id': _, ...headers } = answer.headers
      return { status: answer.status, headers, same }
    }
    const missing = without(await ask('/agent'))
    expect(missing.status).toBe(401)
    for (const wrong of ['', 'x', key.slice(1), `${key}x`, key.toUpperCase(), 'x'.repeat(8000)]) {
      expect(without(await ask('/agent', { headers: { 'x-svc-key': wrong } })), wrong.slice(0, 40)).toEqual(missing)
    }
  })

  it('is asked for by the name of its header, also of a request that sends Authorization', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: key })
    const { json } = await ask('/agent', { headers: { authorization: `Bearer ${key}` } })
    expect(json.detail).toBe(
      'The header X-Svc-Key is missing or wrong. Send the key in it; the header Authorization is not read.',
    )
    const both = await ask('/agent', { headers: { authorization: 'Basic YTpi', 'x-svc-key': key } })
    expect(both.status).toBe(200)
  })

  it("lets the Host header be a proxy's name", async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: key })
    const headers = { host: 'svc.example', 'x-svc-key': key }
    expect((await ask('/agent', { headers })).status).toBe(200)
    const post = (origin: string) => ask('/agent/pause', { method: 'POST', headers: { ...headers, origin } })
    expect((await post('https://svc.example')).status).toBe(200)
    expect((await post('https://evil.example')).status).toBe(403)
  })

  it('slows down guessing from one address, and not from others', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: key })
    const guesses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => ask('/agent', { headers: { 'x-svc-key': `guess ${n}` } })),
    )
    const count = (status: number) => guesses.filter(guess => guess.status === status).length
    expect(count(401) + count(429)).toBe(200)
    expect(count(429)).toBeGreaterThan(100)
    expect(guesses.find(guess => guess.status === 429)?.headers['retry-after']).toBe('1')
    const elsewhere = await ask('/agent', { localAddress: '127.0.0.2', headers: { 'x-svc-key': key } })
    expect(elsewhere.status).toBe(200)
    await expect
      .poll(async () => (await ask('/agent', { headers: { 'x-svc-key': key } })).status, { timeout: 3000 })
      .toBe(200)
  })

  it('does not count a request without a key as a guess', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: key })
    for (let n = 0; n < 15; n++) expect((await ask('/agent')).status).toBe(401)
    expect((await ask('/agent', { headers: { 'x-svc-key': key } })).status).toBe(200)
  })

  it('may contain characters beyond ASCII, sent as UTF-8', async () => {
    const { raw } = await startAgentServer({ SVC_API_KEY: 'schlüssel-鍵' })
    const text = await raw('GET /agent HTTP/1.1\r\nHost: x\r\nX-Svc-Key: schlüssel-鍵\r\nConnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1.1 200 /)
  })

  it('counts as no key when it consists of blanks', async () => {
    const { ask } = await startAgentServer({ SVC_API_KEY: '   ' })
    expect((await ask('/agent')).status).toBe(200)
  })

  it('appears in no log line and not in the effective configuration', async () => {
    const { ask, log, kernel } = await startAgentServer({ SVC_API_KEY: key })
    await ask('/agent', { headers: { 'x-svc-key': key } })
    await ask('/agent', { headers: { 'x-svc-key': `${key}x` } })
    kernel.log.error({}, `the key is ${key}`)
    expect(log.join('')).not.toContain(key)
    expect(JSON.stringify(kernel.config.tree('effective'))).not.toContain(key)
  })
})

describe('every answer', () => {
  it('forbids caching, content sniffing, referrers and framing', async () => {
    const { ask } = await startAgentServer()
    for (const path of ['/agent', '/nothing', '/']) {
      const { headers } = await ask(path)
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(headers['x-powered-by']).toBeUndefined()
    }
  })
})
