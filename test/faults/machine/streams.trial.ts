import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { definePlugin, z } from '#kernel'
import { isStream, type StreamEvent, stream } from '#lib/stream'
import { FAST, project } from '../../cli/project.ts'
import { startRestServer } from '../../interfaces/rest/rest-server.ts'
import { sse } from '../../interfaces/sse.ts'
import { drop, outcomeLines, source } from '../../reload/sources.ts'
import { RunningSvc, svc, testHost, until } from '../../support/index.ts'

const URL_LINE = /^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m

/** Plugin with a stream that goes on until it is cancelled. */
const endless = () => {
  const alive = new Set<AbortSignal>()
  const plugin = definePlugin({
    name: 'endless',
    setup(svc) {
      svc.operation(
        stream({
          name: 'endless.tell',
          summary: 'Tell for ever',
          input: z.object({}),
          events: { token: z.object({ text: z.string() }) },
          http: { method: 'GET', path: '/endless' },
          async *run(_, { signal }) {
            alive.add(signal)
            try {
              yield { event: 'token', data: { text: 'hello' } }
              await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
            } finally {
              alive.delete(signal)
            }
          },
        }),
      )
    },
  })
  return { plugin, alive }
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`GET /endless HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  onTestFinished(() => void socket.destroy())
  return socket
}

describe('a process with open streams', () => {
  it('stops at SIGTERM, and sends each stream the reason', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0'], { cwd: dir.path })
    const [, url] = await server.waitForOutput(URL_LINE)
    const clients = await Promise.all(Array.from({ length: 100 }, () => sse(`${url}/events`)))
    expect(await server.end('SIGTERM')).toBe(0)
    for (const client of clients) {
      expect((await client.end()).at(-1)).toMatchObject({ event: 'error', data: { code: 'server_stopping' } })
    }
  })

  it('holds a thousand streams, refuses more, and releases them when their clients vanish', async () => {
    const { plugin, alive } = endless()
    const yaml = 'server:\n  max_streams: 1000\n  max_connections: 1100\n'
    const { port, ask } = await startRestServer({ plugins: [plugin], yaml })
    const sockets = Array.from({ length: 1000 }, () => open(port))
    await until(() => alive.size === 1000)
    const refused = await ask('/endless')
    expect([refused.status, refused.json.code]).toEqual([503, 'too_many_streams'])
    // Measures CPU time, since other tests use the other core.
    const began = process.cpuUsage()
    for (const socket of sockets) socket.resetAndDestroy()
    await until(() => alive.size === 0)
    const { user, system } = process.cpuUsage(began)
    expect((user + system) / 1000).toBeLessThan(1_000)
    expect((await sse(`http://127.0.0.1:${port}/endless`)).status).toBe(200)
  })
})

describe('a stream of a plugin', () => {
  const teller = (word: string) =>
    source(
      'teller',
      `svc.operation(stream({ name: 'teller.tell', summary: 'Tell', input: z.object({}), http: { method: 'GET', path: '/tell' },
        events: { token: z.object({ text: z.string() }) },
        async *run(_, call) {
          yield { event: 'token', data: { text: '${word}' } }
          await new Promise(resolve => call.signal.addEventListener('abort', resolve))
        } }))`,
    ).replace('import { ', 'import { stream, ')
  const begin = async (home: Awaited<ReturnType<typeof testHost>>) => {
    const output = await home.kernel.invoke('teller.tell')
    if (!isStream(output)) throw new Error('no stream')
    const events = output[Symbol.asyncIterator]()
    const { value } = (await events.next()) as { value: StreamEvent }
    return { events, text: (value.data as { text: string }).text }
  }

  it('goes on for 30 s in the version that it began in when its plugin is replaced, then ends with an error', async () => {
    await using home = await testHost({ plugins: { 'teller.ts': teller('one') } })
    const old = await begin(home)
    expect(old.text).toBe('one')
    expect(outcomeLines(await drop(home, { 'teller.ts': teller('two') }))).toEqual(['teller: reloaded'])
    expect((await begin(home)).text).toBe('two')
    let ended: unknown
    old.events.next().catch(error => {
      ended = error
    })
    await home.clock.advance(29_000)
    expect(ended).toBeUndefined()
    await home.clock.advance(2_000)
    await until(() => ended)
    expect(ended).toMatchObject({ code: 'plugin_gone' })
  })

  it('that its reader leaves keeps no old version of its plugin alive', async () => {
    await using home = await testHost({ plugins: { 'teller.ts': teller('one') } })
    const { events } = await begin(home)
    await events.return?.()
    await drop(home, { 'teller.ts': teller('two') })
    expect(home.kernel.host.list().filter(({ name }) => name === 'teller')).toHaveLength(1)
    expect((await begin(home)).text).toBe('two')
  })
})

describe('svc events', () => {
  it('prints events without a daemon, and follows those of a daemon with --follow', async () => {
    await using dir = await project(FAST)
    const spawned = await svc(['spawn', 'coder', '--json'], { cwd: dir.path })
    const { agent_id } = JSON.parse(spawned.stdout) as { agent_id: string }
    const printed = await svc(['events'], { cwd: dir.path })
    expect([printed.code, printed.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`${agent_id} +spawned from coder`)),
    ])
    const [first, second] = (await svc(['events', '--json'], { cwd: dir.path })).stdout.trim().split('\n')
    expect([JSON.parse(first!).event, JSON.parse(second!).data.type]).toEqual(['open', 'agent_spawned'])

    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/PID/)
    // A busy agent soon has more events than the last twenty.
    const words = ['events', '--follow', '--agent-id', agent_id, '--after', '0']
    await using following = new RunningSvc(words, { cwd: dir.path })
    await following.waitForOutput(/spawned from coder/)
    expect((await svc(['pause', agent_id], { cwd: dir.path })).code).toBe(0)
    await following.waitForOutput(/paused/)
    expect(await following.end('SIGINT')).not.toBe(1)
  })
})
