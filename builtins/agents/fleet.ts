import type { PluginHandle } from '#kernel'
import { isoTime, Store, usdOf } from '../store/contract.ts'
import type { AgentStatus, FleetMember } from './contract.ts'
import { type FleetRow, listFleet } from './repository.ts'

/** Long lists are read in pieces of this length. */
const PIECE = 1_000

/** All agents with what one wants to know of each at a glance, oldest first; in a few reads however many there are. */
export function fleet(svc: PluginHandle): Promise<FleetMember[]> {
  const store = svc.use(Store)
  return store.unchanged('fleet', async () => {
    const members: FleetMember[] = []
    for (let after = { created_at: Number.MIN_SAFE_INTEGER, n: 0 }; ; ) {
      const rows = await listFleet(store, svc.clock.ms(), after, PIECE)
      members.push(...rows.map(memberOf))
      const last = rows.at(-1)
      if (!last || rows.length < PIECE) return members
      after = last
      await svc.clock.yield()
    }
  })
}

function memberOf(row: FleetRow): FleetMember {
  const { agent_id, name, role, model, status, goal, steps, cost_micros, tokens, cycle_count, spawned_by } = row
  return {
    ...{ agent_id, name, role, model, status, goal, steps, tokens, cycle_count, spawned_by },
    cost_usd: usdOf(cost_micros),
    held: heldOf(row),
    last_active: row.last_active === null ? null : isoTime(row.last_active),
    next_run_at: runs(status) && row.run_at !== null && row.run_at < 8.64e15 ? isoTime(row.run_at) : null,
  }
}

const runs = (status: AgentStatus) => status === 'idle' || status === 'waiting'

/** What keeps it from its work, of what stands in its row; `svc why` knows more. */
function heldOf({ status, failures, error, waiting_for, held_by, approvals }: FleetRow): string | null {
  if (status === 'dead' || status === 'paused' || status === 'working') return null
  if (status === 'waiting_approval')
    return approvals === 1 ? 'A tool call waits for you.' : `${approvals} tool calls wait for you.`
  if (failures > 0) return `Failed ${failures === 1 ? 'once' : `${failures} times in a row`}: ${error}`
  return waiting_for ?? (held_by === null ? null : `The guard "${held_by}" holds it.`)
}
