import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stream } from '#lib/stream'
import { ConflictError, definePlugin, type OperationCall, z } from '../../../kernel/index.ts'
import { HeldClock, until } from '../../support/index.ts'
import { sse } from '../sse.ts'
import { startRestServer } from './rest-server.ts'

/** Event source of a test stream; records how its reader used it. */
class Source {
  calls: OperationCall[] = []
  produced = 0
  closed = 0
  /** Lets a waiting generator go on. */
  go = () => {}
  readonly #plan: string

  constructor(plan = '') {
    this.#plan = plan
  }

  plugin() {
    const source = this
    return definePlugin({
      name: 'ticker',
      setup(svc) {
        svc.operation(
          stream({
            name: 'ticker.tick',
            summary: 'Tick',
            input: z.strictObject({ plan: z.string().default(source.#plan), n: z.number().int().default(3) }),
            events: { token: z.object({ text: z.string() }), done: z.object({ status: z.string() }) },
            http: { method: 'POST', path: '/tick' },
            errors: [ConflictError],
            run: (input, call) => source.run(input, call),
          }),
        )
        svc.operation(
          stream({
            name: 'ticker.watch',
            summary: 'Tick for ever',
            input: z.object({ n: z.coerce.number().int().default(1) }),
            events: { tick: z.object({ n: z.number() }) },
            http: { method: 'GET', path: '/watch' },
            run: ({ n }, call) => source.run({ plan: 'watch', n }, call),
          }),
        )
      },
    })
  }

  async *run({ plan, n }: { plan: string; n: number }, call: OperationCall) {
    this.calls.push(call)
    const text = 'x'.repeat(1000)
    const done = { event: 'done', data: { status: 'completed' } }
    try {
      if (plan === 'refuse') throw new ConflictError({ message: 'Not now.' })
      if (plan === 'watch') for (let i = 0; i < n; i++) yield { id: String(i), event: 'tick', data: { n: i } }
      if (plan === 'forge')
        yield { id: 'a\nb', event: 'token', data: { text: 'hi\revent: done\rdata: {}\n\nevent: done\n\n' } }
      if (plan === '') for (let i = 0; i < n; i++) yield { id: String(i), event: 'token', data: { text: String(i) } }
      if (plan === 'break') yield { event: 'token', data: { text: 'so far' } }
      if (plan === 'break') throw new Error('a secret of the project')
      if (plan === 'cut') yield { event: 'token', data: { text: 'so far' } }
      if (plan === 'cut') return
      if (plan === 'wrong') yield { event: 'token', data: { text: 5 } }
      if (plan === 'stray') yield { event: 'stray', data: {} }
      if (plan === 'flood')
        for (;;) {
          this.produced++
          yield { event: 'token', data: { text } }
        }
      if (plan === 'twice') yield done
      if (plan === 'wait' || plan === 'watch' || plan === 'late') {
        await new Promise<void>(resolve => {
          this.go = resolve
          call.signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
      if (plan === 'stuck') yield { event: 'token', data: { text: 'so far' } }
      if (plan === 'deaf' || plan === 'stuck')
        await new Promise<void>(resolve => {
          this.go = resolve
        })
      if (plan !== 'watch') yield done
    } finally {
      this.closed++
    }
  }
}

const ticking = async (plan = '', options: Parameters<typeof startRestServer>[0] = {}) => {
  const source = new Source(plan)
  const home = await startRestServer({ ...options, plugins: [source.plugin()] })
  return {
    ...home,
    source,
    tick: (body: object = {}, headers: Record<string, string> = {}) =>
      sse(`${home.url}/tick`, { method: 'POST', body, headers }),
  }
}

describe('a stream', () => {
  it('sends each event with id, name and one line of data, and exactly one last event', async () => {
    const { tick, source } = await ticking()
    const client = await tick({ n: 2 })
    expect(client.status).toBe(200)
    await client.end()
    expect(client.text).toBe(
      'id: 0\nevent: token\ndata: {"text":"0"}\n\nid: 1\nevent: token\ndata: {"text":"1"}\n\n' +
        'event: done\ndata: {"status":"completed"}\n\n',
    )
    await until(() => source.closed === 1)
  })

  it('carries the same headers as every answer, and is not cached', async () => {
    const { tick } = await ticking('', { yaml: 'server:\n  cors_origins: [https://page.example]\n' })
    const { response } = await tick({}, { origin: 'https://page.example' })
    expect(response.headers).toMatchObject({
      'content-type': expect.stringMatching(/^text\/event-stream/),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'access-control-allow-origin': 'https://page.example',
      'x-request-id': expect.stringMatching(/^req-/),
    })
  })

  it('does not let text of a model forge an event', async () => {
    const { tick } = await ticking('forge')
    const messages = await (await tick()).end()
    expect(messages.map(({ event }) => event)).toEqual(['token', 'done'])
    expect(messages[0]).toMatchObject({ id: 'ab', data: { text: 'hi\revent: done\rdata: {}\n\nevent: done\n\n' } })
  })

  it('answers with an ordinary problem document when it is refused before its first event', async () => {
    const { ask } = await ticking('refuse')
    const answer = await ask('/tick', { method: 'POST', body: {} })
    expect([answer.status, answer.headers['content-type']]).toEqual([409, 'application/problem+json'])
    expect(answer.json).toMatchObject({ code: 'conflict', detail: 'Not now.' })
  })

  it('answers a bad request with an ordinary problem document, and does not start', async () => {
    const { ask, source } = await ticking()
    expect((await ask('/tick', { method: 'POST', body: { n: 'x' } })).json.code).toBe('invalid_input')
    expect(source.calls).toEqual([])
  })

  it('ends with one error that reveals nothing internal when it fails later', async () => {
    const { tick, log } = await ticking('break')
    const client = await tick()
    const messages = await client.end()
    expect(messages.map(({ event }) => event)).toEqual(['token', 'error'])
    expect(messages[1]!.data).toMatchObject({ code: 'internal_error', status: 500, request_id: expect.any(String) })
    expect(client.text).not.toContain('secret')
    expect(log.join('')).toContain('a secret of the project')
  })

  it('ends with the error stream_cut when its source stops without a last event', async () => {
    const { tick } = await ticking('cut')
    expect((await (await tick()).end()).map(({ event, data }) => [event, data.code])).toEqual([
      ['token', undefined],
      ['error', 'stream_cut'],
    ])
  })

  it('sends nothing after its last event', async () => {
    const { tick, source } = await ticking('twice')
    expect((await (await tick()).end()).map(({ event }) => event)).toEqual(['done'])
    expect(source.closed).toBe(1)
  })

  it('answers 500 instead of sending an event that it did not declare', async () => {
    const { ask } = await ticking('stray')
    expect((await ask('/tick', { method: 'POST', body: {} })).status).toBe(500)
  })

  it('names the event in the log when its data does not match its schema', async () => {
    const { ask, log } = await ticking('wrong')
    expect((await ask('/tick', { method: 'POST', body: {} })).status).toBe(500)
    expect(log.join('')).toContain(
      'the stream\'s event \\"token\\" has invalid data: text: must be a string, not a number',
    )
  })

  it('takes its last seen event, its idempotency key and its tenant from the headers', async () => {
    const { tick, source } = await ticking()
    await (await tick({}, { 'last-event-id': '17', 'idempotency-key': 'once-1', 'x-svc-user': 'ada' })).end()
    expect(source.calls[0]).toMatchObject({
      last_event_id: '17',
      idempotency_key: 'once-1',
      tenant: 'ada',
      via: 'rest',
    })
  })

  it.each([
    ['idempotency-key', ''],
    ['idempotency-key', 'two words'],
    ['idempotency-key', 'x'.repeat(201)],
    ['last-event-id', 'é'],
    ['last-event-id', 'x'.repeat(201)],
  ])('refuses the header %s: %s', async (name, value) => {
    const { ask } = await ticking()
    const answer = await ask('/tick', {
      method: 'POST',
      body: {},
      headers: { [name]: Buffer.from(value).toString('latin1') },
    })
    expect([answer.status, answer.json.code]).toEqual([400, 'malformed_request'])
    expect(answer.json.detail).toMatch(/1 to 200 visible ASCII characters/)
  })

  it('sends a keep-alive comment every 15 s, also before its first event', async () => {
    const clock = new HeldClock()
    const { url, source } = await ticking('late', { clock })
    const opening = sse(`${url}/tick`, { method: 'POST', body: {} })
    await until(() => source.calls.length === 1)
    await clock.advance(15_000)
    const client = await opening
    await until(() => client.comments === 1)
    await clock.advance(15_000)
    await until(() => client.comments === 2)
    expect(client.messages).toEqual([])
    source.go()
    expect((await client.end()).map(({ event }) => event)).toEqual(['done'])
  })

  it('answers HEAD with the headers alone, and does not start', async () => {
    const { ask, source } = await ticking()
    const answer = await ask('/watch', { method: 'HEAD' })
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([200, '', 'text/event-stream'])
    expect(source.calls).toEqual([])
  })

  it('is served to an HTTP/1.0 client too, without chunks', async () => {
    const { raw, port } = await ticking()
    const text = await raw(
      `POST /tick HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"n":1}`,
    )
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(text.toLowerCase()).not.toContain('transfer-encoding')
    expect(text.split('\r\n\r\n')[1]).toBe(
      'id: 0\nevent: token\ndata: {"text":"0"}\n\nevent: done\ndata: {"status":"completed"}\n\n',
    )
  })
})

describe('a reader that disconnects', () => {
  it.each(['wait', 'deaf', 'flood'])('ends its source, while the source does this: %s', async plan => {
    const { url, source } = await ticking(plan)
    const opening = sse(`${url}/tick`, { method: 'POST', body: {} })
    opening.catch(() => {})
    await until(() => source.calls.length === 1)
    if (plan === 'flood') (await opening).cut()
    else {
      // There is no answer yet, so the test can only reset the connection.
      const { port } = new URL(url)
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(
        `POST /tick HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
      )
      await until(() => source.calls.length === 2)
      socket.resetAndDestroy()
    }
    await until(() => source.calls.at(-1)!.signal.aborted)
    if (plan === 'deaf') source.go()
    await until(() => source.closed >= 1)
  })

  it('ends its source also when it only closed its own side of the connection', async () => {
    const { port, source } = await ticking('watch')
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('data', part => {
      text += part
    })
    socket.write(`GET /watch HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    await until(() => text.includes('event: tick'))
    socket.end()
    await until(() => source.closed === 1)
    expect(source.calls[0]!.signal.aborted).toBe(true)
  })
})

describe('limits of streams', () => {
  it('a slow reader holds back the source, and is disconnected after stream_stall_s without reading', async () => {
    const clock = new HeldClock()
    const { port, source } = await ticking('flood', { clock, yaml: 'server:\n  stream_stall_s: 30\n' })
    const socket = connect(port, '127.0.0.1')
    let closed = false
    socket.on('close', () => {
      closed = true
    })
    socket.on('error', () => {})
    socket.pause()
    socket.write(
      `POST /tick HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    )
    let before = -1
    // The system's own buffers take some megabytes first; then the source is held back.
    await until(async () => {
      const still = source.produced > 0 && source.produced === before
      before = source.produced
      await new Promise(resolve => setTimeout(resolve, 50))
      return still
    })
    expect(source.produced).toBeLessThan(20_000)
    expect(source.closed).toBe(0)
    await clock.advance(30_000)
    await until(() => source.closed === 1)
    expect(source.calls[0]!.signal.aborted).toBe(true)
    socket.resume()
    await until(() => closed)
  })

  it('a stream above server.max_streams is refused with Retry-After, until another one ends', async () => {
    const { url, ask } = await ticking('watch', { yaml: 'server:\n  max_streams: 2\n' })
    const [one] = await Promise.all([sse(`${url}/watch`), sse(`${url}/watch`)])
    const refused = await ask('/watch')
    expect([refused.status, refused.json.code, Number(refused.headers['retry-after']) > 0]).toEqual([
      503,
      'too_many_streams',
      true,
    ])
    one.cut()
    await until(async () => {
      const next = await sse(`${url}/watch`)
      return next.status === 200
    })
  })
})

describe('a stream when the server stops', () => {
  it.each(['wait', 'deaf', 'watch'])('ends with the reason, while the source does this: %s', async plan => {
    const { url, kernel, source } = await ticking(plan)
    const opening = plan === 'watch' ? [sse(`${url}/watch`)] : [sse(`${url}/tick`, { method: 'POST', body: {} })]
    await until(() => source.calls.length === 1)
    await kernel.close()
    const [client] = await Promise.all(opening)
    if (plan === 'watch')
      expect((await client!.end()).at(-1)).toMatchObject({ event: 'error', data: { code: 'server_stopping' } })
    else expect(client!.status).toBe(503)
    expect(source.calls[0]!.signal.reason).toMatchObject({ code: 'server_stopping' })
    source.go()
  })

  it('ends with an error when its source does not end by itself', async () => {
    const { url, kernel } = await ticking('stuck')
    const client = await sse(`${url}/tick`, { method: 'POST', body: {} })
    await client.has(1)
    await kernel.close()
    expect((await client.end()).map(({ event, data }) => [event, data.code])).toEqual([
      ['token', undefined],
      ['error', 'server_stopping'],
    ])
  })
})
