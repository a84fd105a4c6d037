import { type PluginHandle, z } from '#kernel'
import { EventReaders, RetentionRules } from '#platform/retention/contract'
import { countRows, defineEffect, Effects, newestSeq, Store } from '#platform/store/contract'
import { deleteEvents } from '#platform/store/statements'

/** Number of newest events that are always kept, for readers that resume a stream. */
const KEPT = 10_000

const removeEvents = defineEffect({
  name: 'events.remove',
  schema: z.object({ upTo: z.int() }),
  statements: ({ upTo }) => deleteEvents(upTo),
})

/**
 * Adds the retention rule of events. It removes the oldest ones, up to the first that a reader still needs or that is
 * not old enough.
 */
export function eventsForget(svc: PluginHandle): void {
  svc.add(Effects, removeEvents.kind)
  /** Returns the sequence number of the last event that no reader needs, old or not. */
  const floor = async () => {
    const read = await Promise.all(svc.list(EventReaders).map(reader => reader.seq()))
    return Math.min((await newestSeq(svc.use(Store))) - KEPT, ...read)
  }
  svc.add(RetentionRules, {
    name: 'events',
    stage: 20,
    async count(before) {
      const upTo = await floor()
      return countRows(
        svc.use(Store),
        `FROM events_view WHERE seq <= ? AND seq < coalesce(
           (SELECT min(seq) FROM (SELECT seq FROM events_view WHERE at >= ? ORDER BY seq LIMIT 1) newer), ?)`,
        [upTo, before, upTo + 1],
      )
    },
    async piece(before, limit) {
      const store = svc.use(Store)
      const rows = await store.all<{ seq: number; at: number }>(
        'SELECT seq, at FROM events_view WHERE seq <= ? ORDER BY seq LIMIT ?',
        [await floor(), limit],
      )
      const newer = rows.findIndex(({ at }) => at >= before)
      const old = newer === -1 ? rows : rows.slice(0, newer)
      const last = old.at(-1)
      if (last) await store.apply([removeEvents({ upTo: last.seq })])
      return old.length
    },
  })
}
