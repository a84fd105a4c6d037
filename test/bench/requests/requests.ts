import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fastify } from 'fastify'
import agents from '#core/agents/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import metrics from '#observability/metrics/index'
import store from '#platform/store/index'
import { openKernel } from '../../../embed/compose.ts'
import { tempDir } from '../../support/index.ts'
import { populate } from '../population.ts'
import { type Row, row } from '../row.ts'

/** Measures the cost of requests, beside a bare Fastify route that returns the same bytes. */
export async function requests(): Promise<Row[]> {
  const rows: Row[] = []
  for (const [path, alive, count] of [
    ['/healthz', 10, 500],
    ['/agents?limit=100', 10_000, 100],
    ['/metrics', 10_000, 100],
  ] as const) {
    const { ours, bare, ratio } = await measureHttp(path, alive, count)
    rows.push(
      row({
        what: `GET ${path}, ${alive} agents, processor time, beside a bare Fastify route with the same bytes`,
        figure: ours / 1000,
        unit: 'ms',
        baseline: bare / 1000,
        ratio: 1 / ratio,
      }),
    )
  }
  return rows
}

/** Number of rounds, of ours and bare in turn, so that other load on the machine affects both. */
const ROUNDS = 10

/**
 * Measures requests to `svc`, by number of agents, beside a bare Fastify route that returns the same bytes from memory:
 * the processor time of the serving process for one, in microseconds, and the ratio of the resulting rates.
 */
async function measureHttp(path: string, alive: number, count: number) {
  await using dir = await tempDir()
  const builtins = [store, models, profiles, agents, metrics, rest]
  await using kernel = await openKernel({ root: dir.path, roles: ['server'], builtins, log: { level: 'warn' } })
  populate(join(dir.path, '.svc/svc.db'), { agents: alive })
  const { url } = await kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const bytes = Buffer.from(await (await fetch(url + path)).arrayBuffer())
  const plain = fastify()
  plain.get('/', (_request, reply) => reply.type('application/json; charset=utf-8').send(bytes))
  const bare = await plain.listen({ host: '127.0.0.1', port: 0 })
  const child = fork(fileURLToPath(new URL('./blast.ts', import.meta.url)))
  const rounds: { ours: number; bare: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ ours: await costOf(child, url + path, count), bare: await costOf(child, bare, count) })
  }
  child.kill()
  await plain.close()
  // Other load on the machine can only add time.
  const ours = Math.min(...rounds.map(round => round.ours))
  const least = Math.min(...rounds.map(round => round.bare))
  return { bytes: bytes.length, ours, bare: least, ratio: least / ours }
}

async function costOf(child: ChildProcess, url: string, count: number): Promise<number> {
  const before = process.cpuUsage()
  child.send({ url, count })
  await once(child, 'message')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}
