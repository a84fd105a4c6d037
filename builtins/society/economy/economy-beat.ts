import { Agents } from '#core/agents/contract'
import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { Freeze } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import { enterStatements, leaveJob, liveBeat, passBeat, reachMilestone, worldStruck } from './citizens.ts'
import type { EconomyConfig } from './config.ts'
import { centsOf } from './contract.ts'
import { type Day, dayOf } from './day.ts'
import { jobOf } from './jobs.ts'
import type { LifeCatalogue } from './life/catalogue.ts'
import { forgetLife } from './life/repository.ts'
import { rollEvents } from './life/roll.ts'
import { bookBeat, closeAccount, foldEntries } from './market/ledger.ts'
import { endOrders } from './market/market.ts'
import { awakeCitizens, type CitizenRow, lastEntryBefore, newcomers, orphanedAccounts } from './repository.ts'

/** Heartbeats between two compactions of the ledger. */
const FOLD_EVERY = 50

/** Returns whether the economy is paused, because the daemon is frozen. */
export async function isWorldPaused(svc: PluginHandle): Promise<boolean> {
  return svc.has(Freeze) && (await svc.use(Freeze).isFrozen())
}

/**
 * Runs a heartbeat of the economy for all awake agents in one transaction, and only once, even when several processes
 * try.
 * @returns whether it ran
 */
export async function runBeat(
  svc: PluginHandle,
  config: EconomyConfig,
  catalogue: LifeCatalogue,
  beat: number,
): Promise<boolean> {
  if (await isWorldPaused(svc)) return false
  const store = svc.use(Store)
  const coming = await newcomers(store)
  const cents = centsOf(config.starting_balance)
  if (coming.length > 0) await store.apply(coming.flatMap(({ agent_id }) => enterStatements(agent_id, beat, cents)))
  const citizens = await awakeCitizens(store)
  const days = citizens.map(
    citizen => [citizen, dayOf(citizen, jobOf(svc, citizen.job_id)?.salary ?? 0, beat, config)] as const,
  )
  return store.apply([
    passBeat({ beat }),
    bookBeat({ moves: days.flatMap(([, { moves }]) => moves) }),
    ...days.flatMap(([citizen, day]) => dayEffects(svc, config, citizen, day, beat)),
    ...(await rollEvents(svc, config, catalogue, citizens, beat)),
    ...(await endOrders(store, beat)),
  ])
}

function dayEffects(svc: PluginHandle, config: EconomyConfig, citizen: CitizenRow, day: Day, beat: number): Effect[] {
  const { agent_id } = citizen
  const { sheltered, insolvent, collapsed, deltas } = day
  const dies = collapsed && config.mortal
  const changeEffects = (change: 'insolvent' | 'collapsed', summary: string) => [
    ...worldStruck({ agent_id, change, summary }),
    reachMilestone({ agent_id, milestone: change, beat, text: summary }),
  ]
  return [
    liveBeat({ agent_id, happiness: 0, health: 0, reputation: 0, energy: 0, ...deltas, sheltered, insolvent }),
    ...(insolvent
      ? changeEffects('insolvent', 'Became insolvent: the bank took over the debt, and the agent lives in a shelter.')
      : []),
    ...(collapsed && !dies ? changeEffects('collapsed', 'Collapsed and was taken to the clinic.') : []),
    ...(dies ? svc.use(Agents).markDead(agent_id) : []),
  ]
}

/** Deletes accounts and jobs of deleted agents, and old entries. */
export async function sweep(svc: PluginHandle, config: EconomyConfig, beat?: number): Promise<void> {
  const store = svc.use(Store)
  const gone = await orphanedAccounts(store)
  const dead = await store.all<{ agent_id: string }>(
    'SELECT j.agent_id FROM world_jobs j JOIN agents_view a ON a.agent_id = j.agent_id WHERE a.died_at IS NOT NULL',
  )
  if (gone.length + dead.length > 0) {
    await store.apply([
      ...gone.map(({ account }) => closeAccount({ account })),
      ...dead.map(({ agent_id }) => leaveJob({ agent_id })),
    ])
  }
  if (beat === undefined || beat % FOLD_EVERY !== 0) return
  const before = beat - config.history_beats
  const seq = await lastEntryBefore(store, before)
  await store.apply([...(seq > 0 ? [foldEntries({ seq })] : []), forgetLife({ beat: before })])
}

/** Runs work of a heartbeat. Errors are logged and do not stop later heartbeats. */
export async function logErrors(svc: PluginHandle, work: () => Promise<unknown>): Promise<void> {
  await work().catch(error => svc.log.error({}, `the economy failed: ${errorMessage(error)}`))
}
