import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { StaticRoutes } from '#interfaces/rest/contract'
import { Page } from '#lib/list'
import { defineError, definePlugin, Operations, type PluginHandle, z } from '../../../kernel/index.ts'
import { startRestServer } from './rest-server.ts'

const CupboardLockedError = defineError({
  code: 'cupboard_locked',
  status: 409,
  title: 'Cupboard locked',
  message: (p: { cup: string }) => `The cup ${p.cup} is behind a locked door.`,
})
const BusyError = defineError({ code: 'kitchen_busy', status: 503, title: 'Busy', message: () => 'Try again.' })

const Cup = z.object({ cup_id: z.string(), size: z.number() })
type Cup = z.infer<typeof Cup>

/** A kitchen with one operation of each kind. */
function kitchen() {
  const cups: Cup[] = Array.from({ length: 25 }, (_, n) => ({ cup_id: `cup-${n}`, size: n }))
  const held = { svc: undefined as unknown as PluginHandle, signals: [] as AbortSignal[], received: [] as unknown[] }
  const plugin = definePlugin({
    name: 'kitchen',
    setup(svc) {
      held.svc = svc
      svc.operation({
        name: 'cups.list',
        summary: 'All cups',
        input: Page,
        output: z.array(Cup),
        http: { method: 'GET', path: '/cups' },
        count: () => cups.length,
        run: ({ limit, offset }) => cups.slice(offset, limit && offset + limit),
      })
      svc.operation({
        name: 'cups.make',
        summary: 'Make a cup',
        input: z.strictObject({
          size: z.number().min(1),
          colour: z.string().min(1).optional(),
          note: z.unknown().optional(),
        }),
        output: Cup,
        http: { method: 'POST', path: '/cups', status: 201, location: ({ cup_id }: Cup) => `/cups/${cup_id}` },
        run: ({ size }) => ({ cup_id: 'cup-new', size, secret: 'not in the schema' }),
      })
      svc.operation({
        name: 'cups.get',
        summary: 'One cup',
        input: z.object({
          cup_id: z.string(),
          clean: z.boolean().default(false),
          tags: z.array(z.string()).optional(),
        }),
        output: z.record(z.string(), z.unknown()),
        http: { method: 'GET', path: '/cups/{cup_id}' },
        render: ({ cup_id }) => `The cup ${cup_id}.`,
        run: input => input,
      })
      svc.operation({
        name: 'cups.fill',
        summary: 'Fill a cup',
        input: z.object({ cup_id: z.string(), with: z.string().optional() }),
        output: z.object({ cup_id: z.string(), tenant: z.string(), with: z.string().optional() }),
        http: { method: 'POST', path: '/cups/{cup_id}/fill' },
        run: ({ cup_id, with: drink }, { tenant }) => ({ cup_id, tenant, with: drink }),
      })
      svc.operation({
        name: 'cups.rename',
        summary: 'Call a cup something else',
        input: z.object({ cup_id: z.string(), name: z.string() }),
        output: Cup,
        http: { method: 'POST', path: '/cups/{cup_id}/name', location: ({ cup_id }: Cup) => `/cups/${cup_id}` },
        run: ({ name }) => ({ cup_id: name, size: 1 }),
      })
      svc.operation({
        name: 'cups.break',
        summary: 'Break a cup',
        input: z.object({ cup_id: z.string() }),
        output: z.null(),
        http: { method: 'DELETE', path: '/cups/{cup_id}', status: 204 },
        errors: [CupboardLockedError],
        run({ cup_id }) {
          if (cup_id === 'locked') throw new CupboardLockedError({ cup: cup_id })
          return null
        },
      })
      svc.operation({
        name: 'kitchen.crash',
        summary: 'Fail without saying why',
        input: z.object({}),
        output: z.null(),
        http: { method: 'GET', path: '/crash' },
        run() {
          throw new Error('SELECT secret FROM /etc/passwd')
        },
      })
      svc.operation({
        name: 'kitchen.rebuilt',
        summary: 'Need a part of the earlier build',
        input: z.object({}),
        output: z.null(),
        http: { method: 'GET', path: '/rebuilt' },
        run: () => import(join(process.cwd(), 'dist', 'part-gone.js')),
      })
      svc.operation({
        name: 'kitchen.busy',
        summary: 'Be busy',
        input: z.object({}),
        output: z.null(),
        http: { method: 'GET', path: '/busy' },
        run() {
          throw new BusyError(undefined, { retryAfter: 7 })
        },
      })
      svc.operation({
        name: 'kitchen.wait',
        summary: 'Wait until the client goes',
        input: z.object({}),
        output: z.null(),
        http: { method: 'GET', path: '/wait' },
        async run(_input, { signal }) {
          held.signals.push(signal)
          await svc.clock.sleep(60_000, signal)
          return null
        },
      })
      svc.operation({
        name: 'kitchen.text',
        summary: 'A text',
        input: z.object({}),
        output: z.string(),
        http: { method: 'GET', path: '/text', produces: 'text/plain; charset=utf-8' },
        run: () => 'plain',
      })
      svc.operation({
        name: 'kitchen.beat',
        summary: 'Needs the daemon',
        input: z.object({}),
        output: z.null(),
        http: { method: 'POST', path: '/beat' },
        reach: 'daemon',
        run: () => null,
      })
    },
  })
  return { plugin, held }
}

async function startKitchenServer() {
  const { plugin, held } = kitchen()
  return { ...(await startRestServer({ plugins: [plugin] })), held }
}

describe('an operation over HTTP', () => {
  it('answers with its output, limited to its schema, with its status and location', async () => {
    const { ask } = await startKitchenServer()
    const made = await ask('/cups', { method: 'POST', body: { size: 3 } })
    expect(made.status).toBe(201)
    expect(made.headers.location).toBe('/cups/cup-new')
    expect(made.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(made.json).toEqual({ cup_id: 'cup-new', size: 3 })
  })

  it('percent-encodes any name in its location', async () => {
    const { ask } = await startKitchenServer()
    const { headers, json } = await ask('/cups/7/name', { method: 'POST', body: { name: 'grün\r\n💚 %41' } })
    expect(json.cup_id).toBe('grün\r\n💚 %41')
    expect(headers.location).toBe('/cups/gr%C3%BCn%0D%0A%F0%9F%92%9A%20%41')
  })

  it('takes path, query and body as one input', async () => {
    const { ask } = await startKitchenServer()
    const got = await ask('/cups/a%20b?clean=true&tags=x&tags=y')
    expect(got.json).toEqual({ cup_id: 'a b', clean: true, tags: ['x', 'y'] })
    const filled = await ask('/cups/7/fill', { method: 'POST', body: { with: 'tea' } })
    expect(filled.json).toEqual({ cup_id: '7', tenant: 'default', with: 'tea' })
  })

  it('needs no body when its input requires none', async () => {
    const { ask } = await startKitchenServer()
    expect((await ask('/cups/7/fill', { method: 'POST' })).status).toBe(200)
  })

  it.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain'])(
    'needs no body when its input requires none, also of clients that say %s with every request',
    async type => {
      const { ask } = await startKitchenServer()
      const headers = { 'content-type': type }
      const filled = await ask('/cups/7/fill', {
        method: 'POST',
        body: '',
        headers: { ...headers, 'content-length': '0' },
      })
      expect(filled.status).toBe(200)
      expect((await ask('/cups/7', { method: 'DELETE', headers })).status).toBe(204)
    },
  )

  it('takes an empty body in chunks for no body', async () => {
    const { url, ask } = await startKitchenServer()
    const headers = { 'content-type': 'application/json' }
    const body = new ReadableStream({ start: stream => stream.close() })
    const filled = await fetch(`${url}/cups/7/fill`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    expect(filled.status).toBe(200)
    const lacking = await ask('/cups', { method: 'POST', headers: { ...headers, 'transfer-encoding': 'chunked' } })
    expect(lacking.json).toMatchObject({ status: 422, code: 'invalid_input' })
  })

  it('answers 204 without a body', async () => {
    const { ask } = await startKitchenServer()
    const broken = await ask('/cups/7', { method: 'DELETE' })
    expect([broken.status, broken.text]).toEqual([204, ''])
  })

  it('answers with its declared media type', async () => {
    const { ask } = await startKitchenServer()
    const text = await ask('/text')
    expect([text.headers['content-type'], text.text]).toEqual(['text/plain; charset=utf-8', 'plain'])
  })

  it('returns a page of a list with the total and a link to the next page', async () => {
    const { ask } = await startKitchenServer()
    const first = await ask('/cups?limit=10')
    expect(first.json).toHaveLength(10)
    expect(first.headers['x-total-count']).toBe('25')
    expect(first.headers.link).toBe('</cups?limit=10&offset=10>; rel="next"')
    const last = await ask('/cups?limit=10&offset=20')
    expect(last.json).toHaveLength(5)
    expect(last.headers.link).toBeUndefined()
    const all = await ask('/cups')
    expect(all.json).toHaveLength(25)
    expect((await ask('/cups?limit=5&offset=99')).json).toEqual([])
  })

  it('answers HEAD like GET, without the body', async () => {
    const { ask } = await startKitchenServer()
    const head = await ask('/cups', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('answers a client that accepts only plain text with what the command prints', async () => {
    const { ask } = await startKitchenServer()
    const headers = { accept: 'text/plain' }
    const shown = await ask('/cups/blue', { headers })
    expect([shown.headers['content-type'], shown.text]).toEqual(['text/plain; charset=utf-8', 'The cup blue.'])
    expect((await ask('/cups?limit=1', { headers })).json).toHaveLength(1)
    expect((await ask('/cups/blue', { headers: { accept: '*/*' } })).json).toMatchObject({ cup_id: 'blue' })
  })

  it('answers 304 without a body to a client that names the version it has', async () => {
    const { ask } = await startKitchenServer()
    const first = await ask('/cups')
    const again = await ask('/cups', { headers: { 'if-none-match': String(first.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
    expect((await ask('/cups', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    expect((await ask('/cups', { headers: { 'if-none-match': '*' } })).status).toBe(304)
  })

  it('gets its signal aborted when the client disconnects', async () => {
    const { held, port } = await startKitchenServer()
    const client = new AbortController()
    const asked = fetch(`http://127.0.0.1:${port}/wait`, { signal: client.signal }).catch(() => 'gone')
    await expect.poll(() => held.signals.length).toBe(1)
    client.abort()
    expect(await asked).toBe('gone')
    await expect.poll(() => held.signals[0]?.aborted).toBe(true)
  })

  it('answers 503 when it needs the daemon and none runs', async () => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/beat', { method: 'POST' })
    expect(answer.status).toBe(503)
    expect(answer.json.code).toBe('daemon_not_running')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('runs for the tenant named in X-Svc-User, and refuses a name that is not valid', async () => {
    const { ask } = await startKitchenServer()
    const as = (user: string) => ask('/cups/7/fill', { method: 'POST', headers: { 'x-svc-user': user } })
    expect((await as('alice@example.org')).json.tenant).toBe('alice@example.org')
    expect((await as('')).json.tenant).toBe('default')
    for (const bad of ['../..', 'a b', 'x'.repeat(129), 'x'.repeat(10_000)]) {
      expect((await as(bad)).status, bad.slice(0, 20)).toBe(400)
    }
  })
})

describe('an error over HTTP', () => {
  it('is a problem document with a code, a message and the request id', async () => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/cups/locked', { method: 'DELETE' })
    expect(answer.status).toBe(409)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.json).toEqual({
      type: 'urn:svc:problem:cupboard_locked',
      title: 'Cupboard locked',
      status: 409,
      detail: 'The cup locked is behind a locked door.',
      code: 'cupboard_locked',
      request_id: answer.headers['x-request-id'],
    })
  })

  it('names every invalid field', async () => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/cups', { method: 'POST', body: { size: 0, handle: 1 } })
    expect(answer.status).toBe(422)
    expect(answer.json.errors.map((issue: { path: string }) => issue.path).sort()).toEqual(['handle', 'size'])
  })

  it('is logged, and hidden from the client, when it is internal', async () => {
    const { ask, log } = await startKitchenServer()
    const answer = await ask('/crash')
    expect(answer.status).toBe(500)
    expect(answer.json.code).toBe('internal_error')
    expect(answer.json.detail).toContain(`its log has the details under ${answer.json.request_id}.`)
    expect(answer.text).not.toMatch(/SELECT|passwd|rest\.test|at /)
    const line = log.map(each => JSON.parse(each)).find(each => each.request_id === answer.json.request_id)
    expect(line.msg).toContain('SELECT secret')
  })

  it('says what to do when the program on disk was replaced', async () => {
    const { ask } = await startKitchenServer()
    const { json, status } = await ask('/rebuilt')
    expect({ status, ...json }).toMatchObject({
      status: 500,
      code: 'program_changed',
      detail: expect.stringContaining('restart the service with: svc restart'),
    })
  })

  it('says in Retry-After when to try again', async () => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/busy')
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '7'])
  })

  it('is 404 for an unknown path, and 405 with the allowed methods for a wrong method', async () => {
    const { ask } = await startKitchenServer()
    const unknown = await ask('/saucers', { method: 'POST', body: 'text', headers: { 'content-type': 'text/plain' } })
    expect([unknown.status, unknown.json.code]).toEqual([404, 'not_found'])
    const wrong = await ask('/cups/7', { method: 'PUT', body: {} })
    expect([wrong.status, wrong.json.code, wrong.headers.allow]).toEqual([
      405,
      'method_not_allowed',
      'DELETE, GET, HEAD',
    ])
    expect((await ask('/cups/7/fill')).headers.allow).toBe('POST')
    expect((await ask('/cups', { method: 'OPTIONS' })).status).toBe(405)
    expect((await ask('/cups', { method: 'PROPFIND' })).status).toBe(405)
  })

  it('carries the request id, as every answer does', async () => {
    const { ask } = await startKitchenServer()
    const ids = await Promise.all(
      ['/cups', '/saucers', '/crash', '/%ff', '/cups/%00'].map(async path => (await ask(path)).headers['x-request-id']),
    )
    for (const id of ids) expect(id).toMatch(/^req-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

const POST = 'POST /cups HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'

describe('invalid input over HTTP', () => {
  it.each([
    ['not JSON', '{"size":', 400],
    ['a number that is none', '{"size":NaN}', 400],
    ['nothing, said to be JSON', '', 422],
    ['a byte order mark', '\ufeff{"size":1}', 400],
    ['null', 'null', 400],
    ['a list', '[]', 400],
    ['a text', '"x"', 400],
    ['a number', '7', 400],
    ['a prototype', '{"size":1,"__proto__":{"admin":true}}', 400],
    ['a prototype, escaped', '{"size":1,"\\u005f_proto__":{"admin":true}}', 400],
    ['a prototype below', '{"size":{"__proto__":{}}}', 400],
    ['a constructor with a prototype', '{"constructor":{"prototype":{"admin":true}}}', 400],
    ['100,000 levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400],
    ['100,000 levels in a field', `{"size":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    ['a wrong type', '{"size":"3"}', 422],
    ['one byte more than 1 MiB', JSON.stringify({ size: 1, colour: 'x'.repeat(1024 * 1024 - 21) }), 413],
  ])('is refused as a body: %s', async (_what, body, status) => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/cups', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it('is refused with what is wrong in the body and where', async () => {
    const { ask } = await startKitchenServer()
    const detail = async (body: string) => {
      const headers = { 'content-type': 'application/json' }
      return (await ask('/cups', { method: 'POST', body, headers })).json.detail
    }
    expect(await detail('{"size":1,}')).toMatch(/^The body is not JSON in UTF-8: .* at position 10.*\.$/)
    expect(await detail('{"size":1,"colour":[]}')).toBe(
      'The request is not valid: colour: must be a string, not an array.',
    )
    expect(await detail('{"size":1,"note":{"weights":[1,1e309]}}')).toBe(
      'The request is not valid: note.weights.1: is a number that is too large to be stored.',
    )
  })

  it('does not include a body of exactly 1 MiB', async () => {
    const { ask } = await startKitchenServer()
    const body = JSON.stringify({ size: 1, colour: 'x'.repeat(1024 * 1024 - 22) })
    expect(Buffer.byteLength(body)).toBe(1024 * 1024)
    expect((await ask('/cups', { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status).toBe(
      201,
    )
  })

  it('is refused as a body that is not UTF-8', async () => {
    const { ask } = await startKitchenServer()
    const body = Buffer.concat([Buffer.from('{"colour":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","size":1}')])
    const answer = await ask('/cups', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(answer.status).toBe(400)
  })

  it.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'application/json\ta',
    'application/json garbage',
    undefined,
  ])('is refused with 415 for the media type %s', async type => {
    const { ask } = await startKitchenServer()
    const headers: Record<string, string> = type ? { 'content-type': type } : {}
    const answer = await ask('/cups', { method: 'POST', body: '{"size":1}', headers })
    expect([answer.status, answer.json.code]).toEqual([415, 'unsupported_media_type'])
  })

  it('does not include a charset beside the media type', async () => {
    const { ask } = await startKitchenServer()
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    expect((await ask('/cups', { method: 'POST', body: '{"size":1}', headers })).status).toBe(201)
  })

  it.each([
    'limit=0',
    'limit=-1',
    'limit=1001',
    'limit=1e3',
    'limit=0x10',
    'limit=',
    'limit=abc',
    'limit=1&limit=2',
    'offset=-1',
    'offset=9007199254740993',
  ])('is refused by name in the paging parameters: ?%s', async query => {
    const { ask } = await startKitchenServer()
    const answer = await ask(`/cups?${query}`)
    expect(answer.status).toBe(422)
    expect(answer.json.errors[0].path).toBe(query.split('=')[0])
  })

  it('is refused by name as an unknown query parameter, also in a POST request', async () => {
    const { ask } = await startKitchenServer()
    for (const asked of [
      ask('/cups?limt=3'),
      ask('/cups?__proto__=3'),
      ask('/cups/7/fill?limt=3', { method: 'POST' }),
    ]) {
      const answer = await asked
      expect(answer.status).toBe(422)
      expect(answer.json.errors[0].message).toBe('is not a known query parameter')
    }
    expect((await ask('/cups/7?clean=maybe')).json.errors[0]).toEqual({
      path: 'clean',
      message: 'must be true or false',
    })
  })

  it('cannot replace a value that the path gives', async () => {
    const { ask } = await startKitchenServer()
    expect((await ask('/cups/7/fill', { method: 'POST', body: { cup_id: '8' } })).status).toBe(422)
    expect((await ask('/cups/7?cup_id=8')).status).toBe(422)
  })

  it('is refused by name as an unknown field of the body', async () => {
    const { ask } = await startKitchenServer()
    const answer = await ask('/cups/7', { method: 'DELETE', body: { gently: true } })
    expect([answer.status, answer.json.errors[0].path]).toEqual([422, 'gently'])
    expect((await ask('/cups/7', { method: 'DELETE', body: {} })).status).toBe(204)
  })

  it('is refused with 400 as a malformed path, and an encoded slash is only text', async () => {
    const { ask } = await startKitchenServer()
    expect((await ask('/cups/%00')).status).toBe(400)
    expect((await ask('/cups/%ff')).status).toBe(400)
    expect((await ask('/cups/..%2f..%2fetc')).json).toMatchObject({ cup_id: '../../etc' })
  })

  it.each([
    ['no Host', 'GET /cups HTTP/1.1\r\n\r\n'],
    ['no Host in HTTP/1.0', 'GET /cups HTTP/1.0\r\n\r\n'],
    ['two Hosts', 'GET /cups HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'],
    ['two lengths', 'POST /cups HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}'],
    [
      'a length and chunks',
      'POST /cups HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no HTTP', 'hello\r\n\r\n'],
    ['a head without end', `GET /cups HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ${'x'.repeat(20_000)}`],
    ['more than its length', `${POST}Content-Length: 5\r\n\r\n{"size":1}`],
    ['chunks of no length', `${POST}Transfer-Encoding: chunked\r\n\r\nA\r\n{"size":1}\r\nzz\r\n`],
  ])('is answered with 400 and the end of the connection for a request with %s', async (_what, bytes) => {
    const { raw } = await startKitchenServer()
    const text = await raw(bytes)
    expect(text).toMatch(/^HTTP\/1.1 400 /)
    expect(text).toMatch(/content-type: application\/problem\+json/i)
  })

  it('is refused only after earlier complete requests on the connection are answered', async () => {
    const { raw } = await startKitchenServer()
    const made = `${POST}Content-Length: 10\r\n\r\n{"size":1}`
    for (const bytes of ['garbage\r\n\r\n', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`]) {
      const text = await raw(`${made}${bytes}`)
      expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(match => match[1])).toEqual(['201', '400'])
    }
  })

  it('does not include an unknown value of the Expect header', async () => {
    const { ask } = await startKitchenServer()
    expect((await ask('/cups', { headers: { expect: 'miracles' } })).status).toBe(200)
  })

  it('is answered in order with other requests on the same connection', async () => {
    const { raw } = await startKitchenServer()
    const text = await raw(
      'GET /text HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /saucers HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    )
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(match => match[1])).toEqual(['200', '404'])
  })

  it('ends the connection when it arrives too slowly', async () => {
    const { raw } = await startRestServer({ yaml: 'server:\n  request_timeout: 0.2\n' })
    expect(
      await raw(
        'POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      ),
    ).toMatch(/^$|408/)
    expect(await raw('GET /healthz HTTP/1.1\r\nHost: 127')).toMatch(/^$|408/)
  })
})

describe('the set of routes', () => {
  const extra = (name: string, path: string, text: string) => ({
    name,
    summary: name,
    input: z.object({}),
    output: z.string(),
    http: { method: 'GET' as const, path },
    run: () => text,
  })

  it("grows and shrinks with a plugin's scope, on the same port", async () => {
    const { kernel, ask } = await startKitchenServer()
    expect((await ask('/weather')).status).toBe(404)
    const undo = kernel.points.add(Operations, extra('weather.today', '/weather', 'rain') as never, 'weather')
    expect((await ask('/weather')).json).toBe('rain')
    await undo()
    expect((await ask('/weather')).status).toBe(404)
    const again = kernel.points.add(Operations, extra('weather.today', '/weather', 'sun') as never, 'weather')
    expect((await ask('/weather')).json).toBe('sun')
    await again()
  })

  it('may change while a request is being answered', async () => {
    const { kernel, ask, held, port } = await startKitchenServer()
    const waiting = fetch(`http://127.0.0.1:${port}/wait`)
    await expect.poll(() => held.signals.length).toBe(1)
    kernel.points.add(Operations, extra('weather.today', '/weather', 'rain') as never, 'weather')
    expect((await ask('/weather')).json).toBe('rain')
    expect(held.signals[0]?.aborted).toBe(false)
    await kernel.close()
    await waiting.catch(() => {})
  })

  it('refuses an operation at the path of a page', async () => {
    const { kernel, ask } = await startKitchenServer()
    kernel.points.add(StaticRoutes, { path: '/menu', contentType: 'text/plain', body: async () => 'tea' }, 'kitchen')
    const greedy = () => kernel.points.add(Operations, extra('menu.other', '/menu', 'mine') as never, 'greedy')
    expect(greedy).toThrow('to operations with GET /menu, but "/menu" of "kitchen" already has it')
    expect((await ask('/menu')).text).toBe('tea')
  })
})

describe('health and the OpenAPI document', () => {
  it('health is degraded without a database', async () => {
    const { ask } = await startRestServer()
    const answer = await ask('/healthz')
    expect(answer.status).toBe(503)
    expect(answer.json).toEqual({ status: 'degraded', database: false })
  })

  it('the document describes routes with their schemas, and every reference in it resolves', async () => {
    const { ask } = await startKitchenServer()
    const { json } = await ask('/openapi.json')
    expect(json.openapi).toBe('3.1.0')
    expect(json.info.version).toMatch(/^\d+\.\d+\.\d+/)
    expect(Object.keys(json.paths['/cups/{cup_id}']).sort()).toEqual(['delete', 'get'])
    const make = json.paths['/cups'].post
    expect(make.requestBody.content['application/json'].schema.required).toEqual(['size'])
    expect(make.responses['201'].content['application/json'].schema.properties).toHaveProperty('cup_id')
    expect(json.paths['/cups'].get.parameters.map((each: { name?: string }) => each.name)).toContain('limit')
    for (const [, pointer] of JSON.stringify(json).matchAll(/"\$ref":"#([^"]+)"/g)) {
      const there = pointer!
        .split('/')
        .slice(1)
        .reduce((at, key) => at?.[key], json)
      expect(there, pointer).toBeDefined()
    }
  })
})
