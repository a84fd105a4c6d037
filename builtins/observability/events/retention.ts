import { type PluginHandle, z } from '#kernel'
import { EventReaders, RetentionRules } from '#platform/retention/contract'
import { defineEffect, Effects, newestSeq, Store } from '#platform/store/contract'
import { deleteEvents } from '#platform/store/statements'

/** Number of newest events that are always kept, for readers that resume a stream. */
const KEPT = 10_000

const removeEvents = defineEffect({
  name: 'events.remove',
  schema: z.object({ upTo: z.number().int() }),
  statements: ({ upTo }) => [deleteEvents(upTo)],
})

/**
 * Adds the retention rule of events. It removes the oldest ones, up to the first that a reader still needs or that is
 * not old enough.
 */
export function eventsForget(svc: PluginHandle): void {
  svc.add(Effects, removeEvents.kind)
  /** Returns the sequence number of the last event to remove. */
  const end = async (before: number) => {
    const store = svc.use(Store)
    const read = await Promise.all(svc.list(EventReaders).map(reader => reader.seq()))
    const floor = Math.min((await newestSeq(store)) - KEPT, ...read)
    const first = await store.get<{ seq: number | null }>(
      'SELECT min(seq) AS seq FROM (SELECT seq FROM events_view WHERE seq <= ? AND at >= ? ORDER BY seq LIMIT 1) oldest',
      [floor, before],
    )
    return first?.seq == null ? floor : first.seq - 1
  }
  svc.add(RetentionRules, {
    name: 'events',
    stage: 20,
    async count(before) {
      const upTo = await end(before)
      return (
        (await svc.use(Store).get<{ n: number }>('SELECT count(*) AS n FROM events_view WHERE seq <= ?', [upTo]))?.n ??
        0
      )
    },
    async piece(before, limit) {
      const store = svc.use(Store)
      const rows = await store.all<{ seq: number }>('SELECT seq FROM events_view WHERE seq <= ? ORDER BY seq LIMIT ?', [
        await end(before),
        limit,
      ])
      const last = rows.at(-1)
      if (last) await store.apply([removeEvents({ upTo: last.seq })])
      return rows.length
    },
  })
}
