import { z } from '#kernel'
import { appendEvent, defineEffect, getValue, type Store } from '#platform/store/contract'
import { deleteValue, renewIdleLeases, swapValue } from '#platform/store/statements'

const ROW = { namespace: 'daemon', key: 'frozen' }

/** Keeps the time of the first freeze; refused when it holds already. */
const freezeDaemon = defineEffect({
  name: 'daemon.freeze',
  mustChange: true,
  schema: z.object({}),
  statements: (_, now) => [swapValue(ROW, null, String(now))],
})
/** Refused when nothing is frozen. */
const thawDaemon = defineEffect({
  name: 'daemon.thaw',
  mustChange: true,
  schema: z.object({}),
  statements: () => [deleteValue(ROW)],
})
/**
 * Changes the leases of agents that are not driven, so that an agent that was about to be skipped just before the freeze is
 * checked again.
 */
const lookAnew = defineEffect({
  name: 'daemon.look_anew',
  schema: z.object({}),
  statements: () => [renewIdleLeases()],
})
export const FREEZE_EFFECTS = [freezeDaemon, thawDaemon, lookAnew]

/** Holds in SQL while the daemon is frozen. */
export const IS_FROZEN = `EXISTS (SELECT 1 FROM plugin_values_view WHERE namespace = '${ROW.namespace}' AND key = '${ROW.key}')`
const SINCE = 'SELECT value FROM plugin_values_view WHERE namespace = ? AND key = ?'

/** Since when the daemon is frozen, in milliseconds; null when it is not. */
export async function frozenSince(store: Store): Promise<number | null> {
  const since = await getValue(store, ROW)
  return since === undefined ? null : Number(since)
}

/** Whether a phase may be entered; at once where the engine can tell. */
export function isThawed(store: Store): boolean | Promise<boolean> {
  const row = store.glance<{ value: string }>(SINCE, [ROW.namespace, ROW.key])
  return row instanceof Promise ? row.then(found => found === undefined) : row === undefined
}

/** Freezes, unless that is so already. @returns since when it holds, in milliseconds */
export async function freeze(store: Store): Promise<number> {
  for (;;) {
    await store.apply([
      freezeDaemon({}),
      lookAnew({}),
      appendEvent({ type: 'daemon_paused', agent_id: null, data: {} }),
    ])
    const since = await frozenSince(store)
    // Another process may have ended it in between.
    if (since !== null) return since
  }
}

/** Ends the freeze, if there is one. */
export async function thaw(store: Store): Promise<void> {
  await store.apply([thawDaemon({}), appendEvent({ type: 'daemon_resumed', agent_id: null, data: {} })])
}
