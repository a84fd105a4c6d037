/** Statements with which other modules may change the store's tables. */
import {
  type AppendedEvent,
  type Condition,
  getValue,
  type PlannedEffect,
  RUN_OF,
  type Statement,
  type Store,
} from './contract.ts'

/** `run_at` of a lease that is never due until it is woken or unparked. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Namespace of the values that count the migrations of each plugin that have run. */
export const SCHEMAS = 'schema'

/** Counts a step of a plugin, unless it is counted already. */
export const countMigration = ({ plugin, step }: { plugin: string; step: number }): Statement => ({
  sql: `INSERT INTO plugin_values (namespace, key, value) VALUES ('${SCHEMAS}', ?, ?)
        ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value WHERE plugin_values.value = ?`,
  params: [plugin, String(step), String(step - 1)],
})

/** Returns whether a statement counts a step of a plugin that the database has counted. */
export async function isMigrated(store: Pick<Store, 'get'>, statement: Statement | undefined): Promise<boolean> {
  const [plugin, step] = statement?.params ?? []
  if (statement?.sql !== countMigration({ plugin: '', step: 0 }).sql) return false
  return Number((await getValue(store, { namespace: SCHEMAS, key: String(plugin) })) ?? 0) >= Number(step)
}

/** Creates the lease of a new agent, due at once. */
export function insertLease(agent_id: string, now: number): Statement {
  return { sql: 'INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, ?)', params: [agent_id, agent_id, now] }
}

/** Makes an agent's lease never due, unless a process holds it. */
export function parkLease(agent_id: string): Statement {
  return { sql: 'UPDATE leases SET run_at = ? WHERE id = ? AND owner IS NULL', params: [NEVER, agent_id] }
}

/** Makes a parked lease due again as soon as its agent has rested, if the condition holds. */
export function unparkLease(agent_id: string, now: number, { where, params }: Condition): Statement {
  return {
    sql: `UPDATE leases SET run_at = max(?, rested_at) WHERE id = ? AND owner IS NULL AND run_at = ? AND ${where}`,
    params: [now, agent_id, NEVER, ...params],
  }
}

/**
 * Takes a live agent's lease until a time, even from a running cycle, which is then fenced off and can write nothing
 * more.
 */
export function takeLease(agent_id: string, owner: string, until: number): Statement {
  return {
    sql: `UPDATE leases SET owner = ?, epoch = epoch + 1, run_at = ? WHERE id = ? AND EXISTS
            (SELECT 1 FROM agents_view a WHERE a.agent_id = leases.agent_id AND a.died_at IS NULL)`,
    params: [owner, until, agent_id],
  }
}

/** Returns a lease that its owner took; does nothing when another process has taken it meanwhile. */
export function returnLease(agent_id: string, owner: string, now: number): Statement {
  return {
    sql: `UPDATE leases SET owner = NULL, woken = 0, run_at = CASE WHEN EXISTS (SELECT 1 FROM agents_view a
            WHERE a.agent_id = leases.agent_id AND (a.paused_at IS NOT NULL OR a.died_at IS NOT NULL)) THEN ? ELSE ? END
          WHERE id = ? AND owner = ?`,
    params: [NEVER, now, agent_id, owner],
  }
}

/** Changes the epoch of all leases that no process holds. */
export function renewIdleLeases(): Statement {
  return { sql: "UPDATE leases SET epoch = epoch + 1 WHERE kind = 'agent' AND owner IS NULL", params: [] }
}

interface ValueKey {
  namespace: string
  key: string
}

/**
 * Replaces a plugin's value, as JSON, if it equals `from`.
 * @param from null: the value must not exist
 * @param to null: removes the value
 */
export function swapValue({ namespace, key }: ValueKey, from: string | null, to: string | null): Statement {
  const at = 'namespace = ? AND key = ? AND value = ?'
  if (to === null) return { sql: `DELETE FROM plugin_values WHERE ${at}`, params: [namespace, key, from] }
  if (from !== null) {
    return { sql: `UPDATE plugin_values SET value = ? WHERE ${at}`, params: [to, namespace, key, from] }
  }
  return {
    sql: 'INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key) DO NOTHING',
    params: [namespace, key, to],
  }
}

/** Removes a plugin's value. */
export function deleteValue({ namespace, key }: ValueKey): Statement {
  return { sql: 'DELETE FROM plugin_values WHERE namespace = ? AND key = ?', params: [namespace, key] }
}

/**
 * Adds to a plugin's integer value. The cast is needed because SQLite treats the parameter as a float and would write
 * `8.0`.
 */
export function addToValue({ namespace, key }: ValueKey, more: number): Statement {
  return {
    sql: `INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key)
          DO UPDATE SET value = CAST(CAST(CAST(plugin_values.value AS DOUBLE PRECISION) AS BIGINT) + CAST(? AS BIGINT) AS TEXT)`,
    params: [namespace, key, String(more), more],
  }
}

/** Raises a plugin's value to the integer in a query's single row, if that is greater. */
export function raiseValue({ namespace, key }: ValueKey, { sql, params = [] }: Statement): Statement {
  return {
    sql: `INSERT INTO plugin_values (namespace, key, value) SELECT ?, ?, CAST(found.value AS TEXT) FROM (${sql}) found WHERE true
          ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value
          WHERE CAST(plugin_values.value AS INTEGER) < CAST(excluded.value AS INTEGER)`,
    params: [namespace, key, ...params],
  }
}

/** Removes the oldest events, up to and including this seq. */
export function deleteEvents(upTo: number): Statement {
  return { sql: 'DELETE FROM events WHERE seq <= ?', params: [upTo] }
}

/** Returns a SELECT that yields an event's row. */
export function eventRow({ type, agent_id, cycle_num, run_id, data, unless }: AppendedEvent, now: number): Statement {
  const params = [type, now, agent_id, cycle_num, run_id, JSON.stringify(data)]
  const row = `SELECT ?, 1, ?, ?, ?, ${RUN_OF}, ?`
  if (!unless) return { sql: row, params }
  return { sql: `${row} WHERE NOT EXISTS (${unless.sql})`, params: [...params, ...(unless.params ?? [])] }
}

/** A statement of a transaction; with `must`, it has to change one row. */
interface Step {
  statement: Statement
  must: boolean
}

/**
 * Returns the statements of a transaction in order; those that append events come first.
 * @param together maximum number of events per statement
 */
export function stepsOf(planned: readonly PlannedEffect[], together: number): Step[] {
  const events = planned.flatMap(effect => effect.events)
  const steps: Step[] = []
  for (let at = 0; at < events.length; at += together)
    steps.push({ statement: insertEvents(events.slice(at, at + together)), must: false })
  for (const { statements, must } of planned) for (const statement of statements) steps.push({ statement, must })
  return steps
}

function insertEvents(rows: readonly Statement[]): Statement {
  return {
    sql: `INSERT INTO events (type, v, at, agent_id, cycle_num, run_id, data) ${rows.map(({ sql }) => sql).join(' UNION ALL ')}`,
    params: rows.flatMap(({ params = [] }) => params),
  }
}
