import { createHash } from 'node:crypto'
import type { LoggedEvent } from '#observability/runs/contract'
import { EVENT_COLUMNS, type EventRow, type Store } from '#platform/store/contract'

/** Number of events read at once. */
const PAGE_SIZE = 1_000

/** Returns the events of a run after a `seq`, oldest first. */
export async function eventsOf(store: Store, run_id: string, after = 0): Promise<EventRow[]> {
  const rows: EventRow[] = []
  for (;;) {
    const more = await store.all<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM events_view
       WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ${PAGE_SIZE}`,
      [run_id, rows.at(-1)?.seq ?? after],
    )
    rows.push(...more)
    if (more.length < PAGE_SIZE) return rows
  }
}

/** Converts an event from its run's log to a row. */
export function rowOf({ seq, type, at, agent_id, cycle_num, data }: LoggedEvent, run_id: string): EventRow {
  return { seq, type, v: 1, at: Date.parse(at), agent_id, cycle_num, run_id, data: JSON.stringify(data) }
}

/** Returns an event as a line of the event log. */
export function lineOf({ seq, type, v, at, agent_id, cycle_num, run_id, data }: EventRow): string {
  return `${JSON.stringify({ seq, type, v, at, agent_id, cycle_num, run_id }).slice(0, -1)},"data":${data}}`
}

/** SHA-256 of lines, each ended by a newline. */
export class LogHash {
  readonly #hash = createHash('sha256')

  add(line: string): void {
    this.#hash.update(`${line}\n`)
  }

  /** Digest of all lines so far. */
  get value(): string {
    return this.#hash.copy().digest('hex')
  }
}
