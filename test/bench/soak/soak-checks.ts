import type Sqlite from 'better-sqlite3'
import type { Look } from '#platform/store/contract'
import { brokenRows } from '../../faults/rows.ts'
import { brokenStamps, STAMP_CALLS, type StampCall, stampsIn } from '../../faults/stamps.ts'
import { agentsThatMustMove, progressOf } from '../../support/simulation/checks/progress.ts'
import { YOUNG_MS } from './soak-aging.ts'
import type { ModelReport } from './soak-model.ts'
import type { SoakPeople } from './soak-operators.ts'

/** Age up to which everything reported is still stored, in milliseconds. */
const FRESH_MS = YOUNG_MS - 10_000

/** Further promises, each with a query for the rows that break it. */
const NEVER: readonly (readonly [promise: string, sql: string])[] = [
  [
    'A cycle is reported as done once.',
    `SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done' GROUP BY agent_id, cycle_num HAVING count(*) > 1`,
  ],
  [
    'A gated tool runs only for what was approved, once.',
    `SELECT c.call_id, c.state FROM tool_calls c WHERE c.tool IN ('pay', 'shell_exec') AND c.is_error = 0
     AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.used_by = c.call_id AND a.status = 'consumed')
     AND c.started_at > (SELECT max(at) - ${FRESH_MS} FROM events)`,
  ],
  [
    'A run ends with its task.',
    `SELECT run_id FROM runs WHERE kind = 'task' AND ended_at IS NULL AND NOT EXISTS
       (SELECT 1 FROM task_runs t WHERE t.task_id = runs.facts ->> 'task_id' AND t.status = 'running')`,
  ],
  [
    'An approval is used by one call.',
    'SELECT used_by FROM approvals WHERE used_by IS NOT NULL GROUP BY used_by HAVING count(*) > 1',
  ],
]

export interface SoakState {
  db: Sqlite.Database
  root: string
  people: SoakPeople
}

/** Returns a database in the form that the checks expect. */
export function lookAt(db: Sqlite.Database): Look {
  return {
    all: <R>(sql: string, params: readonly unknown[] = []) => db.prepare(sql).all(...params) as R[],
    get: <R>(sql: string, params: readonly unknown[] = []) => db.prepare(sql).get(...params) as R | undefined,
    now: Date.now(),
  }
}

/** Returns the broken promises, as sentences. */
export async function brokenIn({ db, root, people }: SoakState): Promise<string[]> {
  const since = Date.now() - FRESH_MS
  const stamps = await stampsIn(root)
  // Goals that ended earlier may be deleted, together with the events that reported them.
  db.exec(`CREATE TEMP VIEW goals AS SELECT * FROM main.goals WHERE status = 'active' OR completed_at > ${since}`)
  db.exec('BEGIN')
  try {
    const look = lookAt(db)
    const faults = brokenRows(look)
    for (const [promise, sql] of NEVER) {
      const found = look.all(`${sql} LIMIT 3`)
      if (found.length > 0) faults.push(`${promise} ${JSON.stringify(found)}`)
    }
    const agents = new Set(look.all<{ agent_id: string }>('SELECT agent_id FROM agents').map(row => row.agent_id))
    // Stamps of deleted agents are deleted together with them.
    const ofLiving = ({ agent_id }: { agent_id: string }) => agents.has(agent_id)
    const journal = look.all<StampCall>(STAMP_CALLS)
    faults.push(...brokenStamps(stamps.filter(ofLiving), journal, ({ call_id }) => call_id, await stampsIn(root)))
    faults.push(...findLost(look, people, agents, since))
    return faults
  } finally {
    db.exec('COMMIT; DROP VIEW temp.goals')
  }
}

/**
 * Returns the agents that made no progress although nothing blocks them, as sentences. @param begun their progress
 * before
 */
export function standing(look: Pick<Look, 'all' | 'get'>, begun: ReadonlyMap<string, string>): string[] {
  const still = [...begun].filter(([id, was]) => progressOf(look, id) === was).map(([id]) => id)
  return still.map(id => `Every active goal moves once nothing fails any more. ${id} stands.`)
}

/** Returns the progress of every agent that must make some. */
export function progressOfAll(look: Pick<Look, 'all' | 'get'>): Map<string, string> {
  return new Map(agentsThatMustMove(look).map(({ agent_id }) => [agent_id, progressOf(look, agent_id)]))
}

/** Returns what was acknowledged and is missing. */
function findLost(look: Look, { goals, nudges }: SoakPeople, agents: ReadonlySet<string>, since: number): string[] {
  const has = (table: string, key: string, id: string) =>
    look.get(`SELECT 1 FROM main.${table} WHERE ${key} = ?`, [id]) !== undefined
  const missing: string[] = []
  for (const [id, agent_id] of goals) if (agents.has(agent_id) && !has('goals', 'goal_id', id)) missing.push(id)
  for (const [id, { agent_id, at }] of nudges) {
    if (at > since && agents.has(agent_id) && !has('nudges', 'nudge_id', id)) missing.push(id)
  }
  return missing.map(id => `What was acknowledged is kept. ${id}`)
}

/** Returns what a stopped service left behind, as sentences. */
export function leftBehind(db: Sqlite.Database): string[] {
  const faults: string[] = []
  for (const [what, sql] of [
    ['a lease', 'SELECT id, owner FROM leases WHERE owner IS NOT NULL AND run_at < 9e15'],
    ['a reservation', 'SELECT call_id FROM budget_reservations'],
  ] as const) {
    const found = db.prepare(`${sql} LIMIT 3`).all()
    if (found.length > 0)
      faults.push(`A service that was stopped leaves nothing behind: ${what} ${JSON.stringify(found)}`)
  }
  return faults
}

/**
 * Checks that all tokens that the provider billed are booked. Reservations for calls that may have been made count as
 * spent.
 */
export function brokenBill(db: Sqlite.Database, { billed }: ModelReport): string[] {
  const { booked } = db.prepare('SELECT coalesce(sum(input_tokens + output_tokens), 0) AS booked FROM spend').get() as {
    booked: number
  }
  return booked < billed ? [`Nothing is for free: ${booked} tokens are booked, ${billed} were billed`] : []
}
