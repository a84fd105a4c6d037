import { type PluginHandle, z } from '#kernel'
import { appendEvent, defineEffect, getValue, Store } from '#platform/store/contract'
import { deleteValue, renewIdleLeases, swapValue } from '#platform/store/statements'

const ROW = { namespace: 'daemon', key: 'frozen' }

/** Stores when the freeze began; refused while frozen already. */
const freezeDaemon = defineEffect({
  name: 'daemon.freeze',
  mustChange: true,
  schema: z.object({}),
  statements: (_, now) => swapValue(ROW, null, String(now)),
})
/** Ends the freeze; refused while nothing is frozen. */
const thawDaemon = defineEffect({
  name: 'daemon.thaw',
  mustChange: true,
  schema: z.object({}),
  statements: () => deleteValue(ROW),
})
/**
 * Changes the leases of agents that are not driven, so that an agent whose cycle was about to be skipped just before
 * the freeze is checked again.
 */
const lookAnew = defineEffect({
  name: 'daemon.look_anew',
  schema: z.object({}),
  statements: () => renewIdleLeases(),
})
export const FREEZE_EFFECTS = [freezeDaemon, thawDaemon, lookAnew]

/** SQL condition that is true while the daemon is frozen. */
export const IS_FROZEN = `EXISTS (SELECT 1 FROM plugin_values_view WHERE namespace = '${ROW.namespace}' AND key = '${ROW.key}')`
const SINCE = 'SELECT value FROM plugin_values_view WHERE namespace = ? AND key = ?'

/** Returns when the daemon was frozen, in milliseconds; null while it is not. */
export async function frozenSince(store: Store): Promise<number | null> {
  const since = await getValue(store, ROW)
  return since === undefined ? null : Number(since)
}

/** Returns whether the daemon is not frozen, synchronously if the storage engine can. */
export function isThawed(store: Store): boolean | Promise<boolean> {
  const row = store.glance<{ value: string }>(SINCE, [ROW.namespace, ROW.key])
  return row instanceof Promise ? row.then(found => found === undefined) : row === undefined
}

/**
 * Returns a function with the answer of `isThawed` that reads the database once in a turn of the event loop, however
 * many phases of however many agents begin in it. A freeze by this process is noticed at once.
 */
export function thawedInTurn(svc: PluginHandle): () => boolean | Promise<boolean> {
  let known: boolean | Promise<boolean> | undefined
  let turn: Promise<void> | undefined
  const forget = () => {
    known = undefined
  }
  svc.on('daemon_paused', forget)
  svc.start(() => () => turn)
  return () => {
    if (known === undefined) {
      known = isThawed(svc.use(Store))
      turn = svc.clock.yield().then(forget)
    }
    return known
  }
}

/**
 * Freezes the daemon unless it is frozen already.
 * @returns when the freeze began, in milliseconds
 */
export async function freeze(store: Store): Promise<number> {
  for (;;) {
    await store.apply([
      freezeDaemon({}),
      lookAnew({}),
      appendEvent({ type: 'daemon_paused', agent_id: null, data: {} }),
    ])
    const since = await frozenSince(store)
    // Another process may have ended the freeze in between.
    if (since !== null) return since
  }
}

/** Ends the freeze, if there is one. */
export async function thaw(store: Store): Promise<void> {
  await store.apply([thawDaemon({}), appendEvent({ type: 'daemon_resumed', agent_id: null, data: {} })])
}
