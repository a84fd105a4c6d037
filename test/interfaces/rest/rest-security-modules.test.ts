import { readdir, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { modelServer, RunningSvc, refuse, tempDir, text } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'
import Database from '../../support/sqlite.ts'
import { until } from '../../support/until.ts'
import { svc } from '../../support/vitest/warm.ts'
import { startServer } from '../start-server.ts'
import { entriesOf, type OpenApiDocument } from './document.ts'
import type { Ask } from './rest-server.ts'

const KEYS = { SVC_API_KEY: 'canary-server-key-7f3a', OPENAI_API_KEY: 'sk-canary-provider-key-91bd' }

/** Returns every file below a folder, as text. */
async function filesBelow(folder: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(paths.map(async path => ({ path, text: await readFile(path, 'latin1') })))
}

describe('a secret', () => {
  it('of the server or of a provider appears in no answer, no log line and no file, whatever fails', async () => {
    // Provider that returns the key in its errors, as some do, and a working answer every second time.
    const provider = await modelServer({
      script: (_request, n) => (n % 2 === 0 ? text('Done.') : refuse(401, `Incorrect API key: ${KEYS.OPENAI_API_KEY}`)),
    })
    onTestFinished(() => provider.close())
    const crash = `import { z } from 'svc'
    export default { name: 'crash', setup(svc) {
      svc.operation({ name: 'crash.now', summary: 'Crash', input: z.object({}), output: z.null(),
        http: { method: 'GET', path: '/crash' }, run() { throw new Error(svc.ports.env.SVC_API_KEY + svc.ports.env.OPENAI_API_KEY) } })
    } }`
    const home = await startServer({
      roles: ['server', 'daemon'],
      config: { daemon: { heartbeat: 0.1 } },
      env: { ...KEYS, OPENAI_BASE_URL: provider.url, OPENAI_MODEL: 'scripted' },
      plugins: { 'crash.mjs': crash },
    })
    const { ask, log, root } = home
    const headers = { 'x-svc-key': KEYS.SVC_API_KEY }
    const spawned = (await ask('/agents', { method: 'POST', headers, body: { preset: 'worker' } })).json
    await ask(`/agents/${spawned.agent_id}/tasks`, { method: 'POST', headers, body: { instruction: 'Say something.' } })
    await ask('/sessions', { method: 'POST', headers, body: { agent_id: spawned.agent_id, session_key: 'k' } })
    await ask('/config', { method: 'PATCH', headers, body: { daemon: { heartbeat: 0.2 } } })
    await provider.request(6)
    expect((await ask('/crash', { headers })).status).toBe(500)

    const document: OpenApiDocument = (await ask('/openapi.json')).json
    const outputs: { what: string; text: string }[] = []
    for (const { method, path, responses } of entriesOf(document)) {
      if (method !== 'get' || responses['200']?.content?.['text/event-stream']) continue
      const answer = await ask(path.replace('{id}', spawned.agent_id).replace(/\{\w+\}/g, 'x'), { headers })
      outputs.push({ what: path, text: answer.text + JSON.stringify(answer.headers) })
    }
    expect(outputs.length).toBeGreaterThan(15)
    await home.kernel.close()
    outputs.push({ what: 'the log', text: log.map(line => JSON.stringify(line)).join('\n') })
    for (const { path, text } of await filesBelow(root))
      if (!path.endsWith('crash.mjs')) outputs.push({ what: path, text })
    for (const secret of Object.values(KEYS)) {
      expect(outputs.filter(({ text }) => text.includes(secret)).map(({ what }) => what)).toEqual([])
    }
  })
})

describe('a secret in stored text', () => {
  it.each([
    ['', KEYS.OPENAI_API_KEY],
    [', also where another begins it', `${KEYS.OPENAI_API_KEY}-more`],
  ])('is masked in text as well as in JSON%s', async (_, secret) => {
    const { ask } = await startServer({ env: { ...KEYS, ACME_TOKEN: `${KEYS.OPENAI_API_KEY}-more` } })
    const headers = { 'x-svc-key': KEYS.SVC_API_KEY }
    const { agent_id } = (await ask('/agents', { method: 'POST', headers, body: { preset: 'worker' } })).json
    const role = `Keeper of "${secret}"`
    const changed = await ask(`/agents/${agent_id}`, { method: 'PATCH', headers, body: { role } })
    expect(changed.json.role).toBe('Keeper of "***"')
    expect((await ask(`/agents/${agent_id}/biography`, { headers })).text).toContain('Keeper of "***"')
  })
})

describe('tenants', () => {
  it('cannot see each other’s sessions, by id or in lists', async () => {
    const { ask } = await startServer()
    const as = (user: string) => ({ 'x-svc-user': user })
    const { agent_id } = (await ask('/agents', { method: 'POST', body: { preset: 'worker' } })).json
    const opened = await ask('/sessions', {
      method: 'POST',
      headers: as('alice'),
      body: { agent_id, session_key: 'k' },
    })
    const path = `/sessions/${opened.json.session_id}`
    expect((await ask(path, { headers: as('alice') })).status).toBe(200)
    for (const user of ['bob', 'default', 'Alice']) {
      expect((await ask(path, { headers: as(user) })).status, user).toBe(404)
      expect((await ask(path, { method: 'DELETE', headers: as(user) })).status, user).toBe(404)
      expect((await ask('/sessions', { headers: as(user) })).json, user).toEqual([])
      expect((await ask(`${path}/transcript`, { headers: as(user) })).status, user).toBe(404)
    }
    expect((await ask(path, { headers: as('alice') })).json.status).toBe('running')
  })

  it.each(['../../x', 'a b', 'a/b', '__proto__;', 'x'.repeat(129), 'x'.repeat(10_000), 'é'])(
    'cannot have the name %.20s',
    async user => {
      const { ask } = await startServer()
      const answer = await ask('/sessions', { headers: { 'x-svc-user': Buffer.from(user).toString('latin1') } })
      expect([answer.status, answer.json.code]).toEqual([400, 'malformed_request'])
    },
  )

  it('can have the names of properties that every object has', async () => {
    const { ask } = await startServer()
    for (const user of ['__proto__', 'constructor', 'toString', '..']) {
      const answer = await ask('/sessions', { headers: { 'x-svc-user': user } })
      expect([answer.status, answer.json], user).toEqual([200, []])
    }
  })
})

it('an id in a path never leads to a file', async () => {
  const home = await startServer({ env: { SVC_API_KEY: KEYS.SVC_API_KEY } })
  await home.write({ '.svc/secret.yaml': 'canary: file\n', 'logs/secret.json': '{"canary":"file"}\n' })
  const document: OpenApiDocument = (await home.ask('/openapi.json')).json
  const paths = entriesOf(document).filter(({ method, path }) => method === 'get' && path.includes('{'))
  expect(paths.length).toBeGreaterThan(5)
  const ids = [
    '..%2f..%2f.svc%2fsecret.yaml',
    '..%2fsecret',
    '..%2fsecret.json',
    '%2e%2e%2fsecret.json',
    '..',
    '.',
    '..%5c..%5csecret.yaml',
    'x%00.json',
    '%ff',
    '%c0%ae%c0%ae%2fsecret',
    `${home.root}/logs/secret.json`.replaceAll('/', '%2f'),
  ]
  for (const { path, responses } of paths) {
    if (responses['200']?.content?.['text/event-stream']) continue
    for (const id of ids) {
      const { status, text } = await home.ask(path.replace(/\{\w+\}/, id).replace(/\{\w+\}/g, 'x'), {
        headers: { 'x-svc-key': KEYS.SVC_API_KEY },
      })
      expect([400, 404, 422], `${path} ${id} ${status}`).toContain(status)
      expect(text, `${path} ${id}`).not.toContain('canary: file')
    }
  }
})

describe('large or slow requests', () => {
  it('with ten thousand query parameters or a body of 75,000 keys are refused', async () => {
    const { ask } = await startServer()
    const query = Array.from({ length: 2_500 }, (_, n) => `q${n}=`).join('&')
    const began = performance.now()
    expect((await ask(`/agents?${query}`)).status).toBeGreaterThanOrEqual(400)
    expect((await ask(`/agents?${'x=1&'.repeat(10_000)}`)).status).toBeGreaterThanOrEqual(400)
    const keys = Array.from({ length: 75_000 }, (_, n) => `"k${n}":0`).join(',')
    const headers = { 'content-type': 'application/json' }
    const answer = await ask('/agents', { method: 'POST', body: `{"preset":"worker",${keys}}`, headers })
    expect(answer.status).toBe(422)
    expect(Buffer.byteLength(answer.text)).toBeLessThan(100_000)
    expect(performance.now() - began).toBeLessThan(20_000)
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('with a body that never ends are given up, and others are answered meanwhile', async () => {
    const home = await startServer({ config: { server: { request_timeout: 0.5 } } })
    const { ask, port } = home
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let output = ''
    socket.on('data', part => {
      output += part
    })
    const ended = new Promise(resolve => socket.on('close', resolve))
    const head = [
      'POST /agents HTTP/1.1',
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n1\r\n{\r\n`)
    expect((await ask('/healthz')).status).toBe(200)
    await ended
    expect(output).toMatch(/^$|^HTTP\/1\.1 408 /)
    // It is the client's mistake, so the log has no error.
    await until(() => home.logged('ended before the body was complete').length > 0)
    expect(home.log.filter(({ level }) => level >= 50)).toEqual([])
  })
})

it('a hostile header, name or message never breaks a line of the log', async () => {
  await using dir = await tempDir()
  await svc(['init', '--quiet'], { cwd: dir.path })
  await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\n' })
  await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder'], {
    cwd: dir.path,
  })
  const port = Number((await server.waitForOutput(/http:\/\/127\.0\.0\.1:(\d+)\/$/m))[1])
  const raw = (bytes: string) =>
    new Promise<void>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.end(Buffer.from(bytes, 'latin1')))
      socket
        .resume()
        .on('close', () => resolve())
        .on('error', () => {})
    })
  const hostile = 'a\x1b[2J\x1b]0;x\x07\x9b31m\u0085'
  const head = `Host: 127.0.0.1:${port}\r\nConnection: close`
  for (const line of [
    `User-Agent: ${hostile}`,
    `X-Svc-User: ${hostile}`,
    `X-Svc-Key: ${hostile}`,
    `Origin: ${hostile}`,
  ]) {
    await raw(`GET /agents HTTP/1.1\r\n${head}\r\n${line}\r\n\r\n`)
  }
  await raw(`GET /%1b%5b2J%0d%0a{"level":60} HTTP/1.1\r\n${head}\r\n\r\n`)
  await raw(`GET /agents/%1b%5b2J%0a HTTP/1.1\r\n${head}\r\n\r\n`)
  const post = (path: string, body: unknown, method = 'POST') =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await post('/agents/coder/nudge', { message: `${hostile}\r\n{"level":60,"msg":"forged"}` })).status).toBe(202)
  expect((await post('/agents/coder', { role: hostile }, 'PATCH')).status).toBe(200)
  await server.end('SIGTERM')
  const logs = (await filesBelow(dir.path)).filter(({ path }) => path.endsWith('.log'))
  expect(logs.length).toBeGreaterThan(0)
  for (const { path, text } of logs) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(text, path).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f]/)
    for (const line of text.split('\n').filter(Boolean)) {
      expect(Object.keys(JSON.parse(line)), line).toEqual(expect.arrayContaining(['level', 'msg']))
      expect(JSON.parse(line).msg).not.toBe('forged')
    }
  }
})

it('files in .svc are accessible to their owner only', async () => {
  await using dir = await tempDir()
  await svc(['init', '--quiet'], { cwd: dir.path })
  await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder'], {
    cwd: dir.path,
  })
  const url = (await server.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)\/$/m))[1]
  const patched = await fetch(`${url}/config`, sendJson({ daemon: { heartbeat: 5 } }, 'PATCH'))
  expect(patched.status).toBe(200)
  const mode = async (path: string) => ((await stat(join(dir.path, path))).mode & 0o777).toString(8)
  expect(await Promise.all(['.svc', '.svc/config.yaml', '.svc/svc.db'].map(mode))).toEqual(['700', '600', '600'])
  const open = (await readdir(join(dir.path, '.svc'), { recursive: true, withFileTypes: true })).filter(each =>
    each.isFile(),
  )
  for (const { parentPath, name } of open) {
    // Schemas for editors and the author's own plugins contain no secrets.
    if (/schema|types|plugins/.test(parentPath)) continue
    // Files under temporary names are renamed while this reads.
    const stats = await stat(join(parentPath, name)).catch(() => undefined)
    if (stats) expect((stats.mode & 0o077).toString(8), join(parentPath, name)).toBe('0')
  }
  await server.end('SIGTERM')
})

it('a failure reveals no path of this machine, no SQL and no stack', async () => {
  const home = await startServer()
  const { agent_id } = (await home.ask('/agents', { method: 'POST', body: { preset: 'worker' } })).json
  const database = new Database(home.kernel.project.database)
  for (const table of ['agents', 'goals', 'sessions', 'approvals'])
    database.exec(`ALTER TABLE ${table} RENAME TO x_${table}`)
  database.close()
  await home.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: [1\n', 'profiles/broken.yaml': 'name: [broken\n' })
  const asked: [string, Ask][] = [
    ...['/agents', `/agents/${agent_id}`, '/sessions', '/approvals', '/status', '/runs/none', '/nothing'].map(
      (path): [string, Ask] => [path, {}],
    ),
    [`/agents/${agent_id}/tasks`, { method: 'POST', body: { instruction: 'Fail.' } }],
    ['/agents', { method: 'POST', body: { preset: 'broken' } }],
    ['/agents', { method: 'POST', body: { preset: 'worker' } }],
    ['/config', { method: 'PATCH', body: { daemon: { heartbeat: 5 } } }],
  ]
  const statuses = new Set<number>()
  for (const [path, how] of asked) {
    const { status, text, json } = await home.ask(path, how)
    statuses.add(status)
    expect(status, path).toBeGreaterThanOrEqual(400)
    expect(json.request_id, path).toMatch(/^req-/)
    expect(text, path).not.toContain(home.root)
    expect(text, path).not.toMatch(/\bat .+:\d+:\d+|SELECT|INSERT|SQLITE|no such table|"[^"]*\/(tmp|home|usr|root)\//)
  }
  expect([...statuses]).toContain(500)
  expect(home.logged('no such table').length).toBeGreaterThan(0)
})

it('a suspended plugin is reported without what it threw', async () => {
  const crash = `import { z } from 'svc'
  export default { name: 'crash', setup(svc) {
    svc.operation({ name: 'crash.now', summary: 'Crash', input: z.object({}), output: z.null(),
      http: { method: 'GET', path: '/crash' }, run() { throw new Error('SELECT card FROM guests') } })
  } }`
  const { ask, root } = await startServer({ plugins: { 'crash.mjs': crash } })
  let answer = await ask('/crash')
  while (answer.status === 500) answer = await ask('/crash')
  expect([answer.status, answer.json.code]).toEqual([503, 'plugin_suspended'])
  expect(answer.text).not.toContain(root)
  expect(answer.text).not.toContain('SELECT')
  expect((await ask('/plugins')).text).toContain('SELECT')
})

it('a write for an agent that is deleted meanwhile is refused as such, and never fails on the server', async () => {
  const { ask } = await startServer()
  const asked = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const { agent_id } = (await ask('/agents', { method: 'POST', body: { preset: 'worker' } })).json
      const at = `/agents/${agent_id}`
      const [, ...answers] = await Promise.all([
        ask(at, { method: 'DELETE' }),
        ask(`${at}/nudge`, { method: 'POST', body: { message: 'Hello.' } }),
        ask(`${at}/pause`, { method: 'POST' }),
        ask(at, { method: 'PATCH', body: { role: 'another' } }),
        ask('/sessions', { method: 'POST', body: { agent_id, session_key: agent_id } }),
        ask(`${at}/tasks`, { method: 'POST', body: { instruction: 'Say something.', max_steps: 1 } }),
      ])
      return answers
    }),
  )
  const odd = asked.flat().filter(({ status }) => status >= 300 && status !== 404 && status !== 409)
  expect(odd.map(({ text }) => text)).toEqual([])
})
