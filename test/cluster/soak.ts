/**
 * Kills, freezes and restarts nodes of one database, and the database itself, at random for some minutes, while somebody
 * writes: `npm run soak:cluster -- 30`. It ends with 1 when anything that was acknowledged is lost, or done twice.
 */
import { randomInt } from 'node:crypto'
import { keyedRandom } from '#kernel'
import { inWords, nudgeLatency } from './latency.ts'
import { type Machine, Machines, post, took } from './machines.ts'

const minutes = Number(process.argv[2] ?? 10)
const seed = Number(process.env.SVC_TEST_SEED ?? randomInt(2 ** 31))
const random = keyedRandom(seed)
const PRESETS = 'coder,writer,tester,reviewer,researcher,philosopher,gambler,oracle'
const DOUBLES = `SELECT count(*) FROM (SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done'
  GROUP BY agent_id, cycle_num HAVING count(*) > 1) d`
const OFF_BUDGET = `SELECT spent_micros - (SELECT coalesce(sum(cost_micros), 0) FROM spend
  WHERE spend.budget_window = budget.budget_window) FROM budget`

console.log(`seed ${seed}, ${minutes} minutes`)
const late = await nudgeLatency(Number(process.env.SVC_SOAK_NUDGES ?? 200))
console.log(`a nudge at one machine starts a cycle at another: ${inWords(late)}`)
await using machines = await Machines.open()
const server = await machines.start('serve', '--with-daemon', '--port', '0', '--profiles', PRESETS)
const nodes: Machine[] = [await machines.start('start'), await machines.start('start')]
const agents = await machines.rows<{ agent_id: string }>('SELECT agent_id FROM agents')
const acknowledged: string[] = []
let writing = true
const writer = (async () => {
  for (let n = 0; writing; n++) {
    const { agent_id } = agents[n % agents.length]!
    const answer = await post(server, `/agents/${agent_id}/nudge`, { message: `note ${n}` }).catch(() => ({}))
    if ('nudge_id' in answer) acknowledged.push(String(answer.nudge_id))
    await new Promise(resolve => setTimeout(resolve, 100))
  }
})()

const cycles = () => machines.number("SELECT count(*) FROM events WHERE type = 'cycle_done'")
const goesOn = async () => {
  const before = await cycles().catch(() => 0)
  return took('cycles go on', async () => (await cycles()) > before, 60_000)
}
const faults: Record<string, (which: number) => Promise<void>> = {
  async kill(which) {
    await nodes[which]!.svc.end('SIGKILL')
    nodes[which] = await machines.start('start')
  },
  async freeze(which) {
    const { process } = nodes[which]!.svc
    process.kill('SIGSTOP')
    await new Promise(resolve => setTimeout(resolve, 4_000))
    process.kill('SIGCONT')
  },
  async database() {
    await machines.server.kill()
    await machines.server.start()
  },
}

const until = performance.now() + minutes * 60_000
for (let round = 1; performance.now() < until; round++) {
  const names = Object.keys(faults)
  const name = names[Math.floor(random.number('fault', round) * names.length)]!
  await faults[name]!(Math.floor(random.number('node', round) * nodes.length))
  console.log(
    `${round}: ${name}, cycles again after ${Math.round(await goesOn())} ms, ${acknowledged.length} acknowledged`,
  )
}
writing = false
await writer

const stored = new Set(
  (await machines.rows<{ nudge_id: string }>('SELECT nudge_id FROM nudges')).map(row => row.nudge_id),
)
const lost = acknowledged.filter(id => !stored.has(id))
const [doubles, off] = [await machines.number(DOUBLES), await machines.number(OFF_BUDGET)]
console.log(
  `${await cycles()} cycles; lost ${lost.length} of ${acknowledged.length}, doubled ${doubles}, budget off by ${off}`,
)
if (lost.length + doubles + Math.abs(off) > 0) process.exitCode = 1
