import { z } from '#kernel'
import type { EventEnvelope, EventRow, Statement, Store } from '../contract.ts'
import { isoTime } from './columns.ts'
import { defineEffect } from './effects.ts'

/** SQL list of the columns of an `EventRow`. */
export const EVENT_COLUMNS = 'seq, type, v, at, agent_id, cycle_num, run_id, data'

/** Returns a stored event in its public form: its time as a string and its data as an object. */
export function shownEvent(row: EventRow): EventEnvelope {
  return { ...row, at: isoTime(row.at), data: JSON.parse(row.data) as Record<string, unknown> }
}

/** Returns the seq of the newest event; 0 when there is none. Reads only the end of one index. */
export async function newestSeq(store: Pick<Store, 'get'>): Promise<number> {
  return (await store.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM events'))?.seq ?? 0
}

/**
 * SQL expression for a row's run: its one parameter if not null, else the open daemon run of this process or of the
 * project.
 */
export const RUN_OF = `coalesce(?, ${newestRun(`AND pid = ${process.pid}`)}, ${newestRun('')})`

/**
 * Returns SQL for the newest open daemon run. Sorts by an indexed column, which avoids a temporary table for each
 * written row.
 */
function newestRun(and: string): string {
  return `(SELECT run_id FROM runs_view WHERE kind = 'daemon' AND ended_at IS NULL ${and} ORDER BY started_at DESC LIMIT 1)`
}

const NewEvent = z.object({
  type: z.string(),
  agent_id: z.string().nullable(),
  cycle_num: z.int().nullable().optional(),
  run_id: z.string().nullable().optional().describe("Run (default: the project's open daemon run)"),
  data: z.record(z.string(), z.unknown()),
})

/** An event to append, unless the query `unless` finds a row. */
export type AppendedEvent = z.input<typeof NewEvent> & { unless?: Statement }

/** Appends an event in the same transaction; its hook fires after the commit, in the process that committed. */
export const appendEvent = defineEffect({
  name: 'events.append',
  schema: NewEvent,
  statements: () => [],
  events: event => [event],
})

/** Makes agents due, in the same transaction as the change that they must see. Without a list, all agents. */
export const wakeAgents = defineEffect({
  name: 'leases.wake',
  schema: z.object({ agents: z.array(z.string()).readonly().optional(), reason: z.string() }),
  statements: ({ agents }, now) => {
    const wake = `UPDATE leases SET wakes = wakes + 1, woken = 1,
      run_at = CASE WHEN owner IS NULL THEN min(run_at, max(?, rested_at)) ELSE run_at END WHERE kind = 'agent'`
    if (!agents) return [{ sql: wake, params: [now] }]
    return agents.map(agent => ({ sql: `${wake} AND id = ?`, params: [now, agent] }))
  },
})
