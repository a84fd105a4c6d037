import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { definePlugin, z } from '#kernel'
import { stream } from '#lib/stream'
import { openKernel } from '../../../embed/compose.ts'
import { tempDir } from '../../support/index.ts'
import { type Row, row } from '../row.ts'

const EVERY_MS = 20
const token = () => ({ at: String(process.hrtime.bigint()), text: ' token' })

const teller = definePlugin({
  name: 'teller',
  setup(svc) {
    svc.operation(
      stream({
        name: 'teller.tell',
        summary: 'Fifty tokens a second',
        input: z.object({}),
        events: { token: z.object({ at: z.string(), text: z.string() }) },
        http: { method: 'GET', path: '/tell' },
        async *run(_, { signal }) {
          for (let n = 0; !signal.aborted; n++) {
            yield { id: String(n), event: 'token', data: token() }
            await svc.clock.sleep(EVERY_MS, signal)
          }
        },
      }),
    )
  },
})

/** Measures how late tokens arrive, and the cost of each. */
export async function streams(): Promise<Row[]> {
  const { ours, bare, added_p99 } = await measureStreams(200, 3)
  const what = 'token of 200 streams with 50 a second each'
  return [
    row({
      what: `${what}, processor time, beside a bare server`,
      figure: ours.cpu_us,
      unit: 'µs',
      baseline: bare.cpu_us,
      ratio: ours.cpu_us / bare.cpu_us,
    }),
    row({
      what: `${what}: later than from a bare server on the wall, p99`,
      figure: added_p99,
      unit: 'ms',
      baseline: bare.p99,
      aim: { atMost: 5 },
      unclear: bare.p99 > 10 ? `the bare server’s are up to ${bare.p99.toFixed(0)} ms late on this machine` : undefined,
    }),
  ]
}

/**
 * Measures the age of tokens on arrival, in milliseconds: of streams with fifty tokens a second each, beside a bare
 * server that writes the same text with one timer per stream. This one process serves all streams of a kind.
 */
async function measureStreams(streams: number, seconds: number) {
  await using dir = await tempDir()
  await using kernel = await openKernel({
    root: dir.path,
    roles: ['server'],
    builtins: [rest, teller],
    log: { level: 'warn' },
  })
  const { url } = await kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const plain = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let n = 0
    const write = () => response.write(`id: ${n++}\nevent: token\ndata: ${JSON.stringify(token())}\n\n`)
    const timer = setInterval(write, EVERY_MS)
    response.on('close', () => clearInterval(timer))
  }).listen(0, '127.0.0.1')
  await once(plain, 'listening')
  const bare = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`
  const child = fork(fileURLToPath(new URL('./readers.ts', import.meta.url)))
  const tokens = (seconds * 1000) / EVERY_MS
  const measure = async (from: string) => {
    const before = process.cpuUsage()
    child.send({ url: from, streams, tokens })
    const [delays] = (await once(child, 'message')) as [number[]]
    const { user, system } = process.cpuUsage(before)
    const sorted = delays.sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]!
    return { p50: at(0.5), p99: at(0.99), cpu_us: (user + system) / delays.length }
  }
  await measure(bare)
  const figures = { bare: await measure(bare), ours: await measure(`${url}/tell`) }
  child.kill()
  plain.close()
  return { ...figures, added_p99: figures.ours.p99 - figures.bare.p99 }
}
