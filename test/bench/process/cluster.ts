import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import cluster from '#platform/cluster/index'
import { SchedulerToken } from '#platform/heartbeat/contract'
import { project } from '../../cli/project.ts'
import { inWords, nudgeLatency } from '../../cluster/latency.ts'
import { RunningSvc } from '../../support/cli.ts'
import { type PostgresServer, postgresServer, testDatabase } from '../../support/postgres.ts'
import { openBenchKernel } from '../agents/cycles.ts'
import { median, percentile } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'
import type { NodeReport } from './cluster-node.ts'

const NUDGES = 200
const NODES = [1, 2, 4, 8]
const SLOTS = 8
const THINKS_MS = 200
const WARM_MS = 3_000
/**
 * Number of warm-up cycles: the code of a service that runs for days is compiled, which takes a node a few thousand
 * cycles.
 */
const WARM_CYCLES = 5_000
const WINDOW_MS = 8_000
const MILLION = 1_000_000
const ASKED = 30
const IDLE_MS = 10_000
/** Time after which the work that a start leaves behind is done, in milliseconds. */
const SETTLED_MS = 5_000

/**
 * Measures several machines on one PostgreSQL: the delay of a nudge, the growth with nodes, the cost of idle agents.
 */
export async function several(): Promise<Row[]> {
  const nudged = await nudge()
  // Durable: commits wait for the disk.
  const server = await postgresServer({ durable: true })
  try {
    return [...nudged, ...(await growth(server)), ...(await crowd(server))]
  } finally {
    await server.stop()
  }
}

async function nudge(): Promise<Row[]> {
  const { late, bare } = await nudgeLatency(NUDGES)
  const [figure, baseline] = [percentile(late, 0.99), percentile(bare, 0.99)]
  return [
    row({
      what: 'nudge at one machine to the start of the cycle at another on the wall, p99, beside a bare notice and claim',
      figure,
      unit: 'ms',
      baseline,
      ratio: figure / baseline,
      aim: { atMost: 50 },
      unclear: baseline > 10 ? `the bare chain takes up to ${baseline.toFixed(0)} ms on this machine` : undefined,
      note: `${inWords(late)}; bare: ${inWords(bare)}`,
    }),
  ]
}

interface Node {
  process: ChildProcess
  /** @param word a number sets for how many milliseconds its cycles wait from now on */
  say(word: 'start' | 'stop' | 'tell' | number): Promise<NodeReport>
  [Symbol.asyncDispose](): Promise<void>
}

async function nodeOf(root: string): Promise<Node> {
  const child = fork(fileURLToPath(new URL('./cluster-node.ts', import.meta.url)), [root])
  await once(child, 'message')
  return {
    process: child,
    async say(word) {
      const answer = once(child, 'message')
      child.send(word)
      return ((await answer) as [NodeReport])[0]
    },
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/**
 * Measures cycles of 200 ms on a growing number of nodes with eight slots, and the processor time of one on nodes and
 * database together.
 */
export async function growth(server: PostgresServer): Promise<Row[]> {
  const database = await testDatabase(server.url)
  await using dir = await project()
  const roots = NODES.at(-1)!
  await dir.write(
    Object.fromEntries(
      Array.from({ length: roots }, (_, n) => [`${n}/.svc/config.yaml`, `store: { url: '${database.url}' }\n`]),
    ),
  )
  await addAgents(database.url, 4 * SLOTS * roots, 'worker', 0)
  const nodes: Node[] = []
  try {
    for (let n = 0; n < roots; n++) nodes.push(await nodeOf(join(dir.path, String(n))))
    const at = async (count: number) => {
      const some = nodes.slice(0, count)
      for (const node of some) await node.say('start')
      await sleep(WARM_MS)
      const measureNodes = async () => {
        const reports = await Promise.all(some.map(node => node.say('tell')))
        const cycles = reports.reduce((sum, each) => sum + each.cycles, 0)
        const cpu = reports.reduce((sum, each) => sum + each.cpu, 0) + (await cpuOfTree(server.pid))
        return { cycles, cpu, at: performance.now() }
      }
      const before = await measureNodes()
      const [after, busy] = await busyDuring(() => sleep(WINDOW_MS).then(measureNodes))
      await Promise.all(some.map(node => node.say('stop')))
      const cycles = after.cycles - before.cycles
      const rate = (cycles * 1000) / (after.at - before.at)
      return { nodes: count, rate, cost: (after.cpu - before.cpu) / cycles, busy }
    }
    for (const node of nodes) {
      let { cycles } = await node.say('start')
      for (; cycles < WARM_CYCLES; { cycles } = await node.say('tell')) await sleep(200)
      await node.say('stop')
    }
    const instant = await at(1)
    for (const node of nodes) await node.say(THINKS_MS)
    const found: Awaited<ReturnType<typeof at>>[] = []
    for (const count of NODES) found.push(await at(count))
    const [one] = found
    const alone = row({
      what: 'processor time of a durable cycle that waits for nothing, node and database together',
      figure: instant.cost,
      unit: 'ms',
      aim: { atMost: 1.5 },
      note: `${instant.rate.toFixed(0)} a second`,
    })
    const grown = found.flatMap(({ nodes, rate, cost, busy }) => [
      row({
        what: `${THINKS_MS} ms cycles on ${nodes} ${nodes === 1 ? 'node' : 'nodes'} of ${SLOTS} slots, beside ${nodes} times one node`,
        figure: rate,
        unit: '/s',
        baseline: one!.rate * nodes,
        ratio: rate / (one!.rate * nodes),
        aim: { of: 'ratio', atLeast: 0.95 },
        unclear: full(busy),
        note: `processors ${(busy * 100).toFixed(0)} % busy, all that runs here counted; ${((100 * rate * (THINKS_MS / 1000)) / (SLOTS * nodes)).toFixed(0)} % of what cycles of no other cost would be`,
      }),
      row({
        what: `processor time of a durable cycle, nodes and database together, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`,
        figure: cost,
        unit: 'ms',
        aim: { atMost: 1.5 },
        unclear: full(busy),
      }),
    ])
    return [alone, ...grown]
  } finally {
    for (const node of nodes) await node[Symbol.asyncDispose]()
    await database.drop()
  }
}

/** Returns why a figure is unclear if the processors were busy: each piece of work takes longer then. */
function full(busy: number): string | undefined {
  return busy > 0.9 ? `the machine's processors were ${(busy * 100).toFixed(0)} % busy` : undefined
}

/** Measures a million agents that have nothing to do. */
async function crowd(server: PostgresServer): Promise<Row[]> {
  const database = await testDatabase(server.url)
  await using dir = await project({ '.svc/config.yaml': 'daemon: { heartbeat: 86400 }\n' })
  const client = new pg.Client(database.url)
  await client.connect()
  const size = async (tables: readonly string[]) => {
    const sum = tables.map(table => `pg_total_relation_size('${table}')`).join(' + ')
    return Number((await client.query(`SELECT ${sum} AS bytes`)).rows[0].bytes) / MILLION
  }
  const options = { cwd: dir.path, program: await program(), env: { SVC_STORE_URL: database.url } }
  const service = async <T>(work: (url: string, used: () => Promise<number>) => Promise<T>) => {
    await using running = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--json'], options)
    const [, url] = await running.waitForOutput(/"url":"(http[^"]+)"/)
    await running.waitForOutput(/"event":"ready"/)
    const all = async () => (await cpuOfTree(running.pid)) + (await cpuOfTree(server.pid))
    // Awaited here: a promise that is returned as it is would outlive the service.
    return await work(url!, async () => {
      await sleep(SETTLED_MS)
      const before = await all()
      await sleep(IDLE_MS)
      return ((await all()) - before) / (IDLE_MS / 1000)
    })
  }
  try {
    const none = await service((_, used) => used())
    await addAgents(database.url, MILLION, 'coder', 3_600_000)
    for (const table of ['agents', 'leases']) await client.query(`VACUUM ANALYZE ${table}`)
    const [whole, lease] = [await size(['agents', 'leases']), await size(['leases'])]
    const [empty, busy] = await busyDuring(() => emptyClaim(database.url))
    const { idle, requests } = await service(async (url, used) => {
      const timeRequests = async (path: string) => {
        const [times, busy] = await busyDuring(() => timeUrl(url + path))
        const what = `1,000,000 agents: GET ${path} on the wall, median`
        return row({ what, ...times, unit: 'ms', aim: { atMost: 50 }, unclear: full(busy) })
      }
      const requests = [
        await timeRequests('/agents?limit=100'),
        await timeRequests('/metrics'),
        await timeRequests('/status?limit=100'),
      ]
      return { requests, idle: await used() }
    })
    return [
      row({
        what: '1,000,000 idle agents: bytes of the lease of each, which is all that is looked at, with its indices',
        figure: lease,
        unit: 'B',
        aim: { atMost: 250 },
      }),
      row({
        what: '1,000,000 idle agents: bytes of each in all tables that it has a row in from the beginning, with their indices',
        figure: whole,
        unit: 'B',
        note: 'agents and leases; its records come on top',
      }),
      row({
        what: '1,000,000 idle agents: a claim that finds nothing on the wall, median',
        figure: median(empty),
        unit: 'ms',
        aim: { atMost: 1 },
        unclear: full(busy),
        note: `p99 ${percentile(empty, 0.99).toFixed(2)} ms`,
      }),
      row({
        what: '1,000,000 idle agents: processor time a second of a service and the database, beside the same without agents',
        figure: idle,
        unit: 'ms',
        baseline: none,
        ratio: idle / none,
        aim: { of: 'ratio', atMost: 1.5 },
      }),
      ...requests,
    ]
  } finally {
    await client.end()
    await database.drop()
  }
}

async function emptyClaim(url: string): Promise<number[]> {
  await using dir = await project({ '.svc/config.yaml': `store: { url: '${url}' }\ndaemon: { heartbeat: 86400 }\n` })
  const kernel = await openBenchKernel(dir.path, [cluster])
  const scheduler = kernel.use(SchedulerToken)
  // Claims the heartbeat first: it belongs to no agent.
  await scheduler.claim(0)
  const times: number[] = []
  for (let n = 0; n < 300; n++) {
    const began = performance.now()
    const claimed = await scheduler.claim(SLOTS)
    if (n >= 100) times.push(performance.now() - began)
    if (claimed.length > 0) throw new Error('an agent was due')
  }
  await kernel.close()
  return times
}

async function timeUrl(url: string): Promise<{ figure: number; note: string }> {
  const times: number[] = []
  for (let n = 0; n < ASKED; n++) {
    const began = performance.now()
    // A connection that was idle may be closed at this moment.
    const answer = await fetch(url, { headers: { connection: 'close' } })
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
    await answer.arrayBuffer()
    times.push(performance.now() - began)
    // Longer than an answer is cached.
    await sleep(600)
  }
  return { figure: median(times), note: `p99 ${percentile(times, 0.99).toFixed(0)} ms` }
}

/** Inserts agents that become due one after the other, from an offset in milliseconds. */
export async function addAgents(url: string, agents: number, name: string, from: number): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  const id = `'${name}-' || lpad(to_hex(i), 8, '0')`
  const due = from === 0 ? '0' : `CAST(extract(epoch FROM now()) * 1000 AS BIGINT) + ${from} + i`
  const each = `FROM generate_series(1, ${agents}) i`
  await client.query(`INSERT INTO agents (agent_id, name, role, preset, spawned_at)
    SELECT ${id}, '${name}', 'writes and repairs code', '${name}', 1700000000000 + i ${each}`)
  await client.query(`INSERT INTO leases (id, agent_id, run_at) SELECT ${id}, ${id}, ${due} ${each}`)
  await client.end()
}

/** Returns the processor time of a process and its descendants, including those that have ended, in milliseconds. */
async function cpuOfTree(root: number): Promise<number> {
  const children = new Map<number, number[]>()
  const used = new Map<number, number>()
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const text = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const parent = Number(fields[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    used.set(Number(name), fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0) * 10)
  }
  const sum = (pid: number): number =>
    (children.get(pid) ?? []).reduce((all, child) => all + sum(child), used.get(pid) ?? 0)
  return sum(root)
}

/** @returns the result of the work, and the share of the processors' time that all processes used meanwhile */
async function busyDuring<T>(work: () => Promise<T>): Promise<[T, number]> {
  const [idle, began] = [await idleTime(), performance.now()]
  const result = await work()
  const time = (performance.now() - began) * availableParallelism()
  return [result, 1 - ((await idleTime()) - idle) / time]
}

/** Returns the time in which processors had nothing to do, summed over all processors, in milliseconds. */
async function idleTime(): Promise<number> {
  const [, , , , idle = 0] = (await readFile('/proc/stat', 'latin1')).split(/\s+/, 6).map(Number)
  return idle * 10
}
