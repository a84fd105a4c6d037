import type { PluginHandle } from '#kernel'
import { EventReaders, RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { segmentsOf } from './logs/log.ts'
import type { Recorder } from './recorder.ts'
import { lastCountedSeq, oldRuns, openRuns } from './repository.ts'
import type { RunDirectory } from './runs.ts'

/** Returns the number of runs to keep; 0 keeps all. */
function runsKept(svc: PluginHandle): number {
  return Number(svc.config.get('retention.max_runs') ?? 0)
}

/**
 * Registers the removal of the oldest ended runs, and of the oldest log files of runs that go on. Events of a run stay
 * until they are in its log.
 */
export function runsForget(svc: PluginHandle, runs: RunDirectory, recorder: Recorder): void {
  const oldLogs = async (before: number, limit?: number) => {
    const { files } = svc.ports
    const old: string[] = []
    for (const { run_id } of await openRuns(svc.use(Store))) {
      // The last file shows the progress of the log, so it is kept.
      for (const { path } of (await segmentsOf(files, recorder.folderOf(run_id))).slice(0, -1)) {
        if ((await files.stat(path)).mtimeMs < before) old.push(path)
      }
    }
    return old.slice(0, limit)
  }
  svc.add(RetentionRules, {
    name: 'run_logs',
    count: async before => (await oldLogs(before)).length,
    async piece(before, limit) {
      const gone = await oldLogs(before, limit)
      for (const path of gone) await svc.ports.files.rm(path, { force: true })
      return gone.length
    },
  })
  svc.add(RetentionRules, {
    name: 'runs',
    always: true,
    count: async () => (runsKept(svc) > 0 ? (await oldRuns(svc.use(Store), runsKept(svc))).length : 0),
    // All runs are removed at once, in a short transaction each; the result below `limit` means that none is left.
    piece: async (_, limit) => Math.min(await runs.prune(runsKept(svc)), limit - 1),
  })
  svc.add(EventReaders, { name: 'runs', seq: () => lastCountedSeq(svc.use(Store)) })
}

/** Begins the daemon's run. Its end removes old runs, whether or not retention is enabled. */
export async function beginPruning(svc: PluginHandle, runs: RunDirectory): Promise<() => Promise<void>> {
  const end = await runs.beginDaemon()
  return async () => {
    await end()
    await runs.prune(runsKept(svc))
  }
}
