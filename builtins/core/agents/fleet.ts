import type { PluginHandle } from '#kernel'
import { isoTime, Store, usdOf } from '#platform/store/contract'
import type { AgentStatus, FleetMember } from './contract.ts'
import { type FleetRow, GLANCE, leasesOver, listFleet } from './repository.ts'

/** Number of agents read in one query. */
const PAGE_SIZE = 1_000

/** Returns all agents with their key figures, oldest first, with one query for each `PAGE_SIZE` agents. */
export function readFleet(svc: PluginHandle): Promise<FleetMember[]> {
  const store = svc.use(Store)
  return store.readCached('fleet', async () => {
    const members: FleetMember[] = []
    const over = await leasesOver(svc)
    for (let after = { created_at: Number.MIN_SAFE_INTEGER, n: 0 }; ; ) {
      const rows = await listFleet(store, over, after, PAGE_SIZE)
      members.push(...rows.map(memberOf))
      const last = rows.at(-1)
      if (!last || rows.length < PAGE_SIZE) return members
      after = last
      await svc.clock.yield()
    }
  })
}

function memberOf(row: FleetRow): FleetMember {
  const { agent_id, name, role, model, status, goal, steps, cost_micros, tokens, cycle_count, spawned_by } = row
  const held = blockReasonOf(row)
  const waits_for = held === null ? null : waitOf(row)
  return {
    agent_id,
    name,
    role,
    model,
    status,
    goal,
    steps,
    tokens,
    cycle_count,
    spawned_by,
    cost_usd: usdOf(cost_micros),
    held,
    waits_for,
    stuck: held !== null && waits_for === null,
    last_active: isoTime(row.last_active),
    next_run_at: runs(status) && row.run_at !== null && row.run_at < 8.64e15 ? isoTime(row.run_at) : null,
  }
}

const runs = (status: AgentStatus) => status === 'idle' || status === 'waiting'

/** Returns what blocks an agent, from its row alone; `svc why` knows more. */
function blockReasonOf(row: FleetRow): string | null {
  const { status, failures, error, waiting_for, held_by } = row
  if (status === 'dead' || status === 'paused' || status === 'working') return null
  if (status === 'waiting_approval') return askOf(row)
  if (failures > 0) return `Failed ${failures === 1 ? 'once' : `${failures} times in a row`}: ${error}`
  if (waiting_for !== null) return waiting_for
  if (held_by !== null) return `The guard "${held_by}" blocks the agent.`
  return row.asks_task === null ? null : askOf(row)
}

/** Returns what a blocked agent waits for; null when a failure, a guard or the budget blocks it. */
function waitOf(row: FleetRow): FleetMember['waits_for'] {
  const { status, failures, waiting_for, held_by, blocked, asks_question } = row
  if (status === 'waiting_approval') return 'approval'
  if (failures > 0) return null
  if (waiting_for === null) return held_by === null ? 'approval' : null
  return asks_question ? 'answer' : blocked ? 'work' : null
}

/** Maximum length of a call's arguments in the overview, in characters. */
const SHOWN = 120

/**
 * Describes the approval that has waited longest: its tool, the first `SHOWN` characters of its arguments, and the
 * number of remaining ones.
 */
function askOf({ approvals, asks_for, asks_task, asks_with, asks_chars }: FleetRow): string {
  const others = approvals > 1 ? `, and ${approvals - 1} more` : ''
  const isLong = (asks_chars ?? 0) > GLANCE
  const text = [...(isLong ? asks_with! : sortByLength(asks_with ?? '{}'))]
  const more = (isLong ? asks_chars! : text.length) - SHOWN
  const rest = more > 0 ? `… ${more.toLocaleString('en')} more characters` : ''
  return `${asks_for}${asks_task === null ? '' : ` of ${asks_task}`} waits for your approval${others}: ${text.slice(0, SHOWN).join('')}${rest}`
}

/** Lists arguments by name, shortest first, so that no long one hides a short one. */
function sortByLength(json: string): string {
  const each = Object.entries(JSON.parse(json) ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return each.sort((a, b) => a.length - b.length).join(', ')
}
