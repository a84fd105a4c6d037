/** What the writes of other modules may do to the tables of the store. */
import type { Condition, Statement } from './contract.ts'

/** `run_at` of a lease that is never due by itself. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** Makes the lease of a new agent, due at once. */
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

/** Takes a live agent's lease until a time, also from a cycle that runs: that one is fenced off, and writes nothing more. */
export function takeLease(agent_id: string, owner: string, until: number): Statement {
  return {
    sql: `UPDATE leases SET owner = ?, epoch = epoch + 1, run_at = ? WHERE id = ? AND EXISTS
            (SELECT 1 FROM agents_view a WHERE a.agent_id = leases.agent_id AND a.died_at IS NULL)`,
    params: [owner, until, agent_id],
  }
}

/** Gives back a lease that its owner took; changes nothing when another process has taken it meanwhile. */
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
 * Changes a plugin's value, as JSON, if it is the one before.
 * @param from null: there must be none
 * @param to null: removes it
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

/** Adds to a plugin's value, a whole number. It is cast: SQLite takes a parameter for one with a fraction, and would write `8.0`. */
export function addToValue({ namespace, key }: ValueKey, more: number): Statement {
  return {
    sql: `INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key)
          DO UPDATE SET value = CAST(CAST(CAST(plugin_values.value AS DOUBLE PRECISION) AS BIGINT) + CAST(? AS BIGINT) AS TEXT)`,
    params: [namespace, key, String(more), more],
  }
}

/** Sets a plugin's value to the whole number of a query's one row, if there is a row and it is greater. */
export function raiseValue({ namespace, key }: ValueKey, { sql, params = [] }: Statement): Statement {
  return {
    sql: `INSERT INTO plugin_values (namespace, key, value) SELECT ?, ?, CAST(found.value AS TEXT) FROM (${sql}) found WHERE true
          ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value
          WHERE CAST(plugin_values.value AS INTEGER) < CAST(excluded.value AS INTEGER)`,
    params: [namespace, key, ...params],
  }
}

/** Removes the oldest events, up to and with this seq. */
export function deleteEvents(upTo: number): Statement {
  return { sql: 'DELETE FROM events WHERE seq <= ?', params: [upTo] }
}
