/**
 * Kills, freezes and disconnects nodes of one database, and crashes the database itself, at random for some minutes
 * under writes: `npm run soak:cluster -- 30`. Exits with 1 when anything acknowledged is lost or done twice, when
 * anything is committed without its lease, when a limit is exceeded, or when anything takes longer than promised.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { keyedRandom } from '#lib/keyed-random'
import build from '../support/vitest/build.ts'
import type { Line } from './cable.ts'
import { inWords, nudgeLatency } from './latency.ts'
import { type HeldLease, LEASE_S, type Machine, Machines, post, took } from './machines.ts'
import { lineTo } from './namespace.ts'

const minutes = Number(process.argv[2] ?? 10)
if (!(minutes > 0)) throw new Error(`"${process.argv[2]}" is no number of minutes: npm run soak:cluster -- 30`)
const seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))
const random = keyedRandom(seed)
const PRESETS = 'coder,writer,tester,reviewer,researcher,philosopher,gambler,oracle'
/** Token limit that all nodes together must not exceed. */
const TOKENS = 60_000
const DOUBLES = `SELECT count(*) FROM (SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done'
  GROUP BY agent_id, cycle_num HAVING count(*) > 1) d`
const OFF_BUDGET = `SELECT abs(spent_micros - (SELECT coalesce(sum(cost_micros), 0) FROM spend
    WHERE spend.budget_window = budget.budget_window))
  + abs(spent_tokens - (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend
    WHERE spend.budget_window = budget.budget_window)) FROM budget`
const USED = `SELECT spent_tokens + (SELECT coalesce(sum(tokens), 0) FROM budget_reservations) FROM budget`
const LEAKED = `SELECT (SELECT count(*) FROM budget_reservations) + (SELECT count(*) FROM leases WHERE owner IS NOT NULL)`

const problems: string[] = []
const report = (problem: string) => {
  problems.push(problem)
  console.log(`! ${problem}`)
}
const ms = (value: number) => `${Math.round(value)} ms`

console.log(`seed ${seed}, ${minutes} minutes`)
await build()
const { late, bare } = await nudgeLatency(Number(process.env.SVC_SOAK_NUDGES ?? 200))
console.log(`a nudge at one machine starts a cycle at another: ${inWords(late)}`)
console.log(`a bare notice that starts a bare claim: ${inWords(bare)}`)
await chaos()
await spendAgainstLimit()
console.log(problems.length === 0 ? 'all as promised' : problems.join('\n'))
process.exit(problems.length === 0 ? 0 : 1)

interface Node {
  machine: Machine
  line: Line
}

async function chaos(): Promise<void> {
  await using machines = await Machines.open()
  const servers = [
    await machines.start('serve', '--with-daemon', '--port', '0', '--profiles', PRESETS),
    await machines.start('serve', '--port', '0'),
  ]
  const startNode = async (): Promise<Node> => {
    const line = await lineTo(machines.url)
    return { machine: await machines.startWith({ line }, 'start'), line }
  }
  const nodes = [await startNode(), await startNode()]
  const agents = await machines.rows<{ agent_id: string }>('SELECT agent_id FROM agents')
  const acknowledged: string[] = []
  let writing = true
  const writer = (async () => {
    for (let n = 0; writing; n++) {
      const { agent_id } = agents[n % agents.length]!
      const answer = await post(servers[n % 2]!, `/agents/${agent_id}/nudge`, { message: `note ${n}` }).catch(
        () => ({}),
      )
      if ('nudge_id' in answer) acknowledged.push(String(answer.nudge_id))
      await sleep(100)
    }
  })()
  const cycles = () => machines.number("SELECT count(*) FROM events WHERE type = 'cycle_done'")
  const elsewhere = (held: readonly HeldLease[]) =>
    took(
      'others drive what it held',
      async () => {
        const rows = await machines.rows<HeldLease>('SELECT id, epoch::int FROM leases')
        return held.every(({ id, epoch }) => rows.some(row => row.id === id && row.epoch > epoch))
      },
      120_000,
    ).catch(async error => {
      const tables = [
        'SELECT * FROM leases',
        'SELECT * FROM svc_nodes',
        'SELECT agent_id, paused_at, died_at FROM agents',
      ]
      for (const sql of tables) console.log(held, await machines.rows(sql))
      throw error
    })
  const stopInCycle = async ({ machine }: Node): Promise<HeldLease[]> => {
    for (;;) {
      await took('it holds agents', async () => (await machines.heldBy(machine)).length > 0, 120_000)
      machine.svc.process.kill('SIGSTOP')
      const held = await machines.heldBy(machine)
      if (held.length > 0) return held
      machine.svc.process.kill('SIGCONT')
    }
  }
  const newest = () => machines.number('SELECT max(seq) FROM events')
  let taken = 0
  let stale = 0
  /** Counts cycles that were reported as done after others had taken them over. */
  const noneStale = async (held: readonly HeldLease[], since: number) => {
    taken += held.length
    for (const { id, cycle_num } of held)
      stale += await machines.number(
        `SELECT count(*) FROM events WHERE type = 'cycle_done' AND agent_id = '${id}' AND cycle_num = ${cycle_num} AND seq > ${since}`,
      )
  }
  const faults: Record<string, (node: Node, which: number) => Promise<string>> = {
    async kill(node, which) {
      const held = await stopInCycle(node)
      await node.machine.svc.end('SIGKILL')
      const after = await elsewhere(held)
      if (after > LEASE_S * 1000 + 2_000) report(`what a killed node held was driven elsewhere after ${ms(after)}`)
      node.line.close()
      nodes[which] = await startNode()
      return `its ${held.length} agents elsewhere after ${ms(after)}`
    },
    async freeze(node) {
      const held = await stopInCycle(node)
      const after = await elsewhere(held)
      const since = await newest()
      node.machine.svc.process.kill('SIGCONT')
      await took('it drives agents again', async () => (await machines.heldBy(node.machine)).length > 0, 120_000)
      await noneStale(held, since)
      return `its ${held.length} agents elsewhere after ${ms(after)}`
    },
    async cut(node) {
      const held = await stopInCycle(node)
      node.line.cut()
      node.machine.svc.process.kill('SIGCONT')
      const after = await elsewhere(held)
      const since = await newest()
      node.line.mend()
      const again = await took(
        'it drives agents again',
        async () => (await machines.heldBy(node.machine)).length > 0,
        120_000,
      )
      await noneStale(held, since)
      return `its ${held.length} agents elsewhere after ${ms(after)}, back ${ms(again)} after it was mended`
    },
    async database() {
      await machines.server.kill()
      await machines.server.start()
      const before = await cycles()
      const after = await took('cycles go on', async () => (await cycles()) > before, 60_000)
      if (after > 3_000) report(`cycles went on ${ms(after)} after the database was back`)
      return `cycles again after ${ms(after)}`
    },
  }

  const until = performance.now() + minutes * 60_000
  const names = Object.keys(faults)
  for (let round = 1; performance.now() < until; round++) {
    // Each fault once in order, then at random.
    const name = names[round - 1] ?? names[Math.floor(random.number('fault', round) * names.length)]!
    const which = Math.floor(random.number('node', round) * nodes.length)
    console.log(`${round}: ${name}: ${await faults[name]!(nodes[which]!, which)}; ${acknowledged.length} acknowledged`)
  }
  writing = false
  await writer
  const stored = new Set(
    (await machines.rows<{ nudge_id: string }>('SELECT nudge_id FROM nudges')).map(row => row.nudge_id),
  )
  const lost = acknowledged.filter(id => !stored.has(id)).length
  // The possible cost of calls of nodes that are gone is booked once others drive their agents.
  const living = [...nodes.map(({ machine }) => machine), ...servers]
  const theirs = living.map(({ svc }) => `owner NOT LIKE 'holder-${svc.pid}-%'`).join(' AND ')
  const slices = `SELECT count(*) FROM budget_reservations WHERE ${theirs}`
  await took('no slice is left of nodes that are gone', async () => (await machines.number(slices)) === 0).catch(
    ({ message }) => report(message),
  )
  for (const { svc } of living) await svc.end('SIGTERM')
  const rests = [await machines.number(DOUBLES), await machines.number(OFF_BUDGET), await machines.number(LEAKED)]
  const [doubles, off, leaked] = rests as [number, number, number]
  console.log(
    `${await cycles()} cycles; lost ${lost} of ${acknowledged.length}, doubled ${doubles}, stale ${stale} of ${taken}, budget off by ${off}, held at rest ${leaked}`,
  )
  for (const [what, count] of Object.entries({ lost, doubles, stale, off, leaked }))
    if (count > 0) report(`${what}: ${count}`)
  for (const { line } of nodes) line.close()
}

/** Lets three nodes spend until the limit is reached, and kills one of them on the way. */
async function spendAgainstLimit(): Promise<void> {
  await using machines = await Machines.open(`daemon: { heartbeat: 0.2, min_rest: 0, budget_tokens: ${TOKENS} }
model: { sim_delay: 0.1 }
cluster: { lease: ${LEASE_S} }
`)
  const first = await machines.start('start', '--profiles', PRESETS)
  const nodes = [first, await machines.start('start'), await machines.start('start')]
  let most = 0
  let looks = 0
  const look = async () => {
    most = Math.max(most, await machines.number(USED))
    looks++
    return most
  }
  const until = performance.now() + 120_000
  let killed = false
  for (let before = -1; performance.now() < until; ) {
    const used = await look()
    if (!killed && used > TOKENS / 2) {
      await nodes[1]!.svc.end('SIGKILL')
      killed = true
    }
    if (looks % 200 === 0) {
      // No node can spend any more.
      if (killed && used === before) break
      before = used
    }
    await sleep(20)
  }
  if (most > TOKENS) report(`${most} of ${TOKENS} tokens were spent or reserved`)
  for (const node of [first, nodes[2]!]) await node.svc.end('SIGTERM')
  const off = await machines.number(OFF_BUDGET)
  if (off > 0) report(`the budget is off by ${off}`)
  const spent = await machines.number('SELECT spent_tokens FROM budget')
  console.log(
    `limit ${TOKENS} tokens: at most ${most} spent or reserved in ${looks} looks, ${spent} spent at the end, off by ${off}`,
  )
}
