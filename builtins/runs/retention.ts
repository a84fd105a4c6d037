import type { PluginHandle } from '#kernel'
import { EventReaders, RetentionRules } from '../retention/contract.ts'
import { Store } from '../store/contract.ts'
import { countedUpTo, oldRuns } from './repository.ts'
import type { RunDirectory } from './runs.ts'

/** How many runs are kept; 0 keeps all. */
export function runsKept(svc: PluginHandle): number {
  return Number(svc.config.get('retention.max_runs') ?? 0)
}

/** What of this room may go: the oldest runs that have ended. The events of a run stay until its log has them. */
export function runsForget(svc: PluginHandle, runs: RunDirectory): void {
  svc.add(RetentionRules, {
    name: 'runs',
    count: async () => (runsKept(svc) > 0 ? (await oldRuns(svc.use(Store), runsKept(svc))).length : 0),
    // All at once: each is one short transaction of its own.
    piece: async (_, limit) => Math.min(await runs.prune(runsKept(svc)), limit - 1),
  })
  svc.add(EventReaders, { name: 'runs', seq: () => countedUpTo(svc.use(Store)) })
}

/** The daemon's run; when it has ended, only so many are kept, whether or not retention is enabled. */
export async function beginPruning(svc: PluginHandle, runs: RunDirectory): Promise<() => Promise<void>> {
  const end = await runs.beginDaemon()
  return async () => {
    await end()
    await runs.prune(runsKept(svc))
  }
}
