import { Machines, post, took } from './machines.ts'

/** Agents that do nothing by themselves while it is measured. */
const QUIET = `daemon: { heartbeat: 600, min_rest: 0, max_concurrent_agents: 8, budget_usd: 1000 }
model: { sim_delay: 0 }
`

/**
 * How long it is from a nudge that is written at a server without a daemon until the node of another folder claims the agent,
 * both by the database's clock, in milliseconds, the quickest first.
 */
export async function nudgeLatency(nudges: number): Promise<number[]> {
  await using machines = await Machines.open(QUIET)
  const server = await machines.start('serve', '--port', '0')
  await machines.start('start', '--profiles', 'coder,writer,tester,reviewer')
  const calm = () =>
    machines.number(
      "SELECT count(*) FROM leases WHERE kind = 'agent' AND (owner IS NOT NULL OR woken = 1 OR claimed_at IS NULL)",
    )
  const agents = await machines.rows<{ agent_id: string }>('SELECT agent_id FROM agents')
  const late: number[] = []
  for (let n = 0; n < nudges; n++) {
    const { agent_id } = agents[n % agents.length]!
    await took('the agents rest', async () => (await calm()) === 0)
    const lease = `FROM leases WHERE agent_id = '${agent_id}'`
    const epoch = await machines.number(`SELECT epoch ${lease}`)
    await post(server, `/agents/${agent_id}/nudge`, { message: `note ${n}` })
    await took('it is claimed', async () => (await machines.number(`SELECT epoch ${lease}`)) > epoch)
    const sql = `SELECT claimed_at - (SELECT max(at) FROM events WHERE type = 'nudge_received' AND agent_id = '${agent_id}') ${lease}`
    late.push(await machines.number(sql))
  }
  return late.sort((a, b) => a - b)
}

export function inWords(late: readonly number[]): string {
  const at = (part: number) => late[Math.min(late.length - 1, Math.floor(late.length * part))]
  return `${at(0.5)} ms in the middle, ${at(0.99)} ms p99, ${at(1)} ms at most, of ${late.length}`
}
