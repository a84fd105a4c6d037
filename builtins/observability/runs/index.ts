import { definePlugin } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { secretMasker } from '#lib/secrets'
import { DaemonStarts } from '#platform/daemon/contract'
import { type Cycle, neverHasWork } from '#platform/heartbeat/contract'
import { Effects } from '#platform/store/contract'
import { RunsSection, runsConfig } from './config.ts'
import { CycleDone, RunRecords, Runs } from './contract.ts'
import { cycleBegins, cycleEnds } from './cycles.ts'
import { runOperations } from './operations.ts'
import { OwnRecorder, Recorder } from './recorder.ts'
import { RUN_EFFECTS } from './repository.ts'
import { beginPruning, runsForget } from './retention.ts'
import { OwnRuns, RunDirectory } from './runs.ts'
import { recordOf } from './traces/tracing.ts'

export default definePlugin({
  name: 'runs',
  description: 'Runs of the daemon and of tasks: logs in files, totals and traces.',
  needs: ['store'],
  config: RunsSection,
  section: 'runs',
  setup(svc, section) {
    const recorder = new Recorder(svc, runsConfig(svc, section))
    const runs = new RunDirectory(svc, recorder)
    const mask = secretMasker(svc)
    svc.provide(
      Runs,
      withEarlierNames(runs, { begun: 'recordStart', ended: 'recordEnd', begins: 'startEffects', ends: 'endEffect' }),
    )
    svc.provide(RunRecords, { read: (...args) => recordOf(svc, runs, recorder, ...args) })
    for (const effect of RUN_EFFECTS) svc.add(Effects, effect.kind)
    svc.provide(OwnRuns, runs)
    svc.provide(OwnRecorder, recorder)
    for (const operation of runOperations) svc.operation(operation)
    runsForget(svc, runs, recorder)
    svc.event('cycle_done', CycleDone)
    svc.add(DaemonStarts, { name: 'runs', begin: () => beginPruning(svc, runs), join: () => runs.joinDaemon() })
    svc.tap('approval_gate', { name: 'runs', stage: -1000, hasWork: neverHasWork }, (cycle: Cycle) =>
      cycleBegins(svc, cycle),
    )
    svc.tap('cleanup', { name: 'runs', stage: 1000, hasWork: neverHasWork }, (cycle: Cycle) =>
      cycleEnds(svc, mask, cycle),
    )
    svc.start(() => runs.recover(), { in: ['daemon', 'server'] })
    svc.start(() => () => recorder.close(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
})
