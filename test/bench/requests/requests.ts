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
import store from '#platform/store/index'
import { openKernel } from '../../../embed/compose.ts'
import { tempDir } from '../../support/index.ts'
import { populate } from '../population.ts'
import { type Row, row } from '../row.ts'

/** What requests cost, beside a bare Fastify route that answers the same bytes. */
export async function requests(): Promise<Row[]> {
  const rows: Row[] = []
  for (const [path, alive, count] of [
    ['/healthz', 10, 500],
    ['/agents?limit=100', 10_000, 100],
  ] as const) {
    const { ours, bare, ratio } = await measureHttp(path, alive, count)
    rows.push(
      row({
        what: `GET ${path}, ${alive} agents, processor time, beside a bare Fastify route with the same bytes`,
        ...{ figure: ours / 1000, unit: 'ms', baseline: bare / 1000, ratio: 1 / ratio },
      }),
    )
  }
  return rows
}

/** Rounds of ours and bare in turn: what else the machine does hits both. */
const ROUNDS = 10

/**
 * Requests in `svc`, by number of agents, beside requests to a bare Fastify route that answers the same bytes from memory: the
 * processor time of the serving process for one, in microseconds, and the ratio of the rates that follow from it.
 */
export async function measureHttp(path: string, alive: number, count: number) {
  await using dir = await tempDir()
  const builtins = [store, models, profiles, agents, rest]
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
  // What else the machine does only ever adds.
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
