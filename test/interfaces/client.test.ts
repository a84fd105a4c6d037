import { connect, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import agents from '#core/agents/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import { type Client, createClient, SvcError } from '#interfaces/rest/client'
import { stream } from '#lib/stream'
import events from '#observability/events/index'
import { appendEvent, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { ConflictError, definePlugin, operation, z } from '../../kernel/index.ts'
import { until } from '../support/index.ts'
import { startRestServer } from './rest/rest-server.ts'

const WORKER = { 'worker.yaml': 'name: worker\nrole: works\n' }
const MODULES = [store, models, profiles, agents, events]

async function startServer(options: Parameters<typeof startRestServer>[0] = {}) {
  const { mkdir, writeFile } = await import('node:fs/promises')
  const home = await startRestServer({
    plugins: MODULES,
    ...options,
    async before(root) {
      await mkdir(`${root}/profiles`)
      for (const [name, text] of Object.entries(WORKER)) await writeFile(`${root}/profiles/${name}`, text)
    },
  })
  return { ...home, client: createClient({ baseUrl: home.url }) }
}

/** Client whose server gives this answer. */
function answering(answer: () => Response): Client {
  return createClient({ baseUrl: 'http://127.0.0.1:8000', fetch: async () => answer() })
}

/** Response whose connection is cut after this text. */
function halfOf(type: string, text: string): Response {
  const body = new ReadableStream(
    {
      start: controller => controller.enqueue(new TextEncoder().encode(text)),
      pull: controller => controller.error(new TypeError('terminated')),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { 'content-type': type } })
}

/** Proxy to the server whose connections can be cut. */
async function wire(port: number) {
  const sockets = new Set<Socket>()
  const opened = { count: 0 }
  const proxy: Server = createServer(inside => {
    opened.count++
    const outside = connect(port, '127.0.0.1')
    for (const socket of [inside, outside]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    inside.pipe(outside).pipe(inside)
    inside.on('close', () => outside.destroy())
    outside.on('close', () => inside.destroy())
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const { port: at } = proxy.address() as { port: number }
  return {
    url: `http://127.0.0.1:${at}`,
    opened,
    cut() {
      for (const socket of sockets) socket.resetAndDestroy()
      sockets.clear()
    },
  }
}

describe('a call of the client', () => {
  it('is a method of its module, with the types of its operation', async () => {
    const { client } = await startServer()
    const spawned = await client.agents.spawn({ preset: 'worker' })
    expectTypeOf(spawned.agent_id).toBeString()
    expectTypeOf<Parameters<Client['agents']['nudge']>[0]>().toEqualTypeOf<{
      id: string
      message: string
      images?: { data: string; name?: string | undefined }[] | undefined
    }>()
    expect(spawned).toMatchObject({ name: 'worker', role: 'works', status: 'idle' })
    await client.agents.nudge({ id: spawned.agent_id, message: 'a/b?c=ü' })
    expect(await client.agents.list()).toMatchObject([{ agent_id: spawned.agent_id }])
    expect(await client.agents.delete({ id: spawned.agent_id })).toBeNull()
    expect(await client.agents.list({ limit: 10 })).toEqual([])
  })

  it("throws the server's error, with code, status, message and fields", async () => {
    const { client } = await startServer()
    const unknown = await client.agents.get({ id: 'no/body' }).catch(error => error)
    expect(unknown).toBeInstanceOf(SvcError)
    expect(unknown).toMatchObject({ code: 'agent_not_found', status: 404 })
    expect(unknown.message).toMatch(/^No agent has the id or name "no\/body"/)
    const invalid = await client.agents.list({ limit: 5000 }).catch(error => error)
    expect(invalid).toMatchObject({ code: 'invalid_input', status: 422, errors: [{ path: 'limit' }] })
  })

  it('is never sent to another path, whatever it gets as a name', async () => {
    const { client } = await startServer()
    for (const id of ['.', '..', '', undefined as unknown as string]) {
      const error = await client.agents.get({ id }).catch(thrown => thrown)
      expect(error).toMatchObject({ code: 'invalid_input', errors: [{ path: 'id' }] })
    }
  })

  it('is sent with the key of the client', async () => {
    const { url } = await startServer({ env: { SVC_API_KEY: 'a-long-secret-key' } })
    const refused = await createClient({ baseUrl: url })
      .agents.list()
      .catch(error => error)
    expect(refused).toMatchObject({ code: 'unauthorized', status: 401 })
    await expect(
      createClient({ baseUrl: `${url}/`, apiKey: 'a-long-secret-key', user: 'ada' }).agents.list(),
    ).resolves.toEqual([])
  })

  it.each(['127.0.0.1:8000', 'localhost:8000', ''])('is not made for %j, which is no URL', baseUrl => {
    expect(() => createClient({ baseUrl })).toThrow(`a URL such as http://127.0.0.1:8000, not "${baseUrl}"`)
  })

  it('names the address when no server answers', async () => {
    const { client, listening, url } = await startServer()
    await listening.close()
    const error = await client.agents.list().catch(thrown => thrown)
    expect(error).toMatchObject({ code: 'unreachable', status: 503 })
    expect(error.message).toContain(url)
  })

  it('fails when another program answers, and uses nothing of its answer', async () => {
    const page = answering(() => new Response('<title>Sign in</title>', { headers: { 'content-type': 'text/html' } }))
    const begun = page.tasks.stream({ id: 'ada', instruction: 'Hello' }, { idempotencyKey: 'once' })
    for (const asked of [page.agents.list(), page.metrics.get(), page.events.follow().next(), begun.next()]) {
      const error = await asked.catch(thrown => thrown)
      expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('with text/html') })
    }
  })

  it('fails when the answer breaks off or is no problem document', async () => {
    const half = () => halfOf('application/json', '{"agent_id":')
    const broken = await answering(half)
      .agents.get({ id: 'ada' })
      .catch(error => error)
    expect(broken).toMatchObject({ code: 'unreachable', status: 503 })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(answering(half).agents.get({ id: 'ada' }, { signal })).rejects.toThrow('enough')
    for (const body of [null, { code: 502, detail: ['no route'] }]) {
      const elsewhere = answering(() => Response.json(body, { status: 502 }))
      const error = await elsewhere.agents.list().catch(thrown => thrown)
      expect(error).toMatchObject({ code: 'unknown', status: 502, message: 'The server answered with status 502.' })
    }
  })

  it('is aborted by its signal, and gives access to the headers of its answer', async () => {
    const { client } = await startServer()
    await client.agents.spawn({ preset: 'worker' })
    await client.agents.spawn({ preset: 'worker' })
    let total: string | null = null
    const onResponse = ({ headers }: Response) => {
      total = headers.get('x-total-count')
    }
    await client.agents.list({ limit: 1 }, { onResponse })
    expect(total).toBe('2')
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(client.agents.list({}, { signal })).rejects.toThrow('enough')
  })
})

describe('a stream that can be resumed', () => {
  it('goes on after a cut without loss or repetition', async () => {
    const apiKey = 'a-long-secret-key'
    const { kernel, port } = await startServer({ env: { SVC_API_KEY: apiKey } })
    const line = await wire(port)
    const client = createClient({ baseUrl: line.url, apiKey })
    const seen: number[] = []
    const happen = () => kernel.use(Store).apply([appendEvent({ type: 'x', agent_id: null, data: {} })])
    for await (const message of client.events.follow({ after: 0 })) {
      if (message.event === 'message') seen.push(message.data.seq)
      if (seen.length === 9) break
      await happen()
      if (seen.length % 3 === 2) line.cut()
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(line.opened.count).toBeGreaterThan(2)
  })

  it('is closed when its reader leaves', async () => {
    const { client } = await startServer({ yaml: 'server: { max_streams: 1 }' })
    const open = async () => {
      for await (const { event } of client.events.follow()) return event
    }
    for (let n = 0; n < 3; n++) await until(async () => (await open().catch(() => undefined)) === 'open')
  })

  it('is not tried again when it was refused', async () => {
    const { client } = await startServer()
    const following = client.events.follow({ agent_id: 'nobody' })
    await expect(following.next()).rejects.toMatchObject({ code: 'agent_not_found' })
  })

  it('is aborted by its signal', async () => {
    const { client } = await startServer()
    const stop = new AbortController()
    const following = client.events.follow({}, { signal: stop.signal })
    await following.next()
    const next = following.next()
    stop.abort(new Error('enough'))
    await expect(next).rejects.toThrow('enough')
  })

  it('is over when it ends by itself', async () => {
    const { client } = await startServer()
    const all = []
    for await (const message of client.events.follow({ follow: false, after: 0 })) all.push(message.event)
    expect(all).toEqual(['open'])
  })
})

describe('a stream that starts a task', () => {
  const runs: { key: string | undefined; call: 'stream' | 'whole' }[] = []
  /** Replaces the real module: its stream stops in the middle, its whole answer is complete. */
  const tasks = definePlugin({
    name: 'tasks',
    setup(svc) {
      const input = z.object({ id: z.string(), instruction: z.string() })
      const answer = z.object({ status: z.string(), output: z.string() })
      svc.operation(
        stream({
          name: 'tasks.stream',
          summary: 'Run',
          input,
          events: { token: z.object({ text: z.string() }), done: answer },
          http: { method: 'POST', path: '/agents/{id}/tasks/stream' },
          async *run({ instruction }, { idempotency_key }) {
            runs.push({ key: idempotency_key, call: 'stream' })
            if (instruction === 'refuse') throw new ConflictError({ message: 'Not now.' })
            yield { event: 'token', data: { text: 'so ' } }
            yield { event: 'token', data: { text: 'far' } }
            if (instruction === 'finish') yield { event: 'done', data: { status: 'completed', output: 'so far' } }
          },
        }),
      )
      svc.operation(
        operation({
          name: 'tasks.run',
          summary: 'Run',
          input,
          output: answer,
          http: { method: 'POST', path: '/agents/{id}/tasks' },
          run(_, { idempotency_key }) {
            runs.push({ key: idempotency_key, call: 'whole' })
            return { status: 'completed', output: 'so far and to the end' }
          },
        }),
      )
    },
  })
  const recordRuns = async (instruction: string, idempotencyKey?: string) => {
    const { client } = await startServer({ plugins: [...MODULES, tasks] })
    runs.length = 0
    const shown: string[] = []
    const options = idempotencyKey ? { idempotencyKey } : {}
    try {
      for await (const { event, data } of client.tasks.stream({ id: 'a', instruction }, options)) {
        shown.push(event === 'token' ? data.text : event === 'done' ? `${event}: ${data.output}` : event)
      }
    } catch (error) {
      shown.push((error as SvcError).code)
    }
    return shown
  }

  it('delivers its text and its end', async () => {
    expect(await recordRuns('finish')).toEqual(['so ', 'far', 'done: so far'])
  })

  it('asks for the answer under the same key when it stops without its end', async () => {
    expect(await recordRuns('stop', 'once-1')).toEqual(['so ', 'far', 'done: so far and to the end'])
    expect(runs).toEqual([
      { key: 'once-1', call: 'stream' },
      { key: 'once-1', call: 'whole' },
    ])
  })

  it('asks for the answer again when that breaks off too', async () => {
    const answers = [
      halfOf('text/event-stream', 'id: 2\nevent: token\ndata: {"text":"so"}\n\n'),
      halfOf('application/json', '{"status":'),
      Response.json({ status: 'completed', output: 'so far' }),
    ]
    const shown: unknown[] = []
    const client = answering(() => answers.shift()!)
    for await (const { event, data } of client.tasks.stream({ id: 'a', instruction: 'go' }, { idempotencyKey: 'k' })) {
      shown.push(event === 'done' ? data.output : event)
    }
    expect(shown).toEqual(['token', 'so far'])
  })

  it('throws the error of a failed task at once, though its status is that of a cut', async () => {
    let requests = 0
    const error = { code: 'model_error', status: 502, title: 'Model error', detail: 'The model failed.' }
    const client = answering(() => {
      requests++
      if (requests === 1) return halfOf('text/event-stream', 'id: 2\nevent: token\ndata: {"text":"so"}\n\n')
      return Response.json({ status: 'failed', output: '', error })
    })
    const following = client.tasks.stream({ id: 'a', instruction: 'go' }, { idempotencyKey: 'k' })
    await following.next()
    await expect(following.next()).rejects.toMatchObject({ code: 'model_error', cause: { task: { status: 'failed' } } })
    expect(requests).toBe(2)
  })

  it('keeps the text that was shown and reports the cut when it stops without its end and has no key', async () => {
    expect(await recordRuns('stop')).toEqual(['so ', 'far', 'connection_cut'])
    expect(runs).toHaveLength(1)
  })

  it('is not started again when it is refused', async () => {
    expect(await recordRuns('refuse', 'once-2')).toEqual(['conflict'])
    expect(runs).toHaveLength(1)
  })
})

it('the client runs where there is no Node: its file uses nothing of it', async () => {
  const { readFile } = await import('node:fs/promises')
  const text = await readFile(new URL('../../dist/client.js', import.meta.url), 'utf8')
  expect(text).not.toMatch(/node:|\bprocess\.|\brequire\(|\bBuffer\b/)
  expect(text.length).toBeLessThan(60_000)
})
