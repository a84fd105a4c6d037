import { basename, relative } from 'node:path'
import { crc32 } from 'node:zlib'
import { type CallPurpose, Models, modelOf, recordedQuestion } from '#core/models/contract'
import { Profiles } from '#core/profiles/contract'
import { defineError, definePlugin, errorMessage, HostToken, type PluginDefinition, type PluginHandle } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import { pluralize } from '#lib/pluralize'
import { recordInput } from '#lib/recording-context'
import { SchedulerToken } from '#platform/heartbeat/contract'
import { isoTime, Store } from '#platform/store/contract'
import type { ForkOptions, Recording } from '../contract.ts'
import { eventsOf } from '../log.ts'
import { LOG_VERSION } from '../recording/entries.ts'
import { Recorder } from '../recording/recorder.ts'
import { LiveRecording, maskerOf } from '../recording/recording.ts'
import type { RecordingFiles } from '../recording/recording-files.ts'
import type { Playback } from './playback.ts'
import { type Original, prepareReplay } from './replay.ts'
import type { ReplayKernel } from './replay-kernel.ts'

/** Maximum number of cycles of a fork if no limit is given. */
const MOST_CYCLES = 50
/** Number of heartbeats without a cycle after which no more cycles are expected. */
const MOST_LONELY = 10
/** Purpose of a fork's model calls in the project's accounts: they belong to none of its agents. */
const ELSEWHERE: CallPurpose = { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' }

export const ForkError = defineError({
  code: 'fork_failed',
  status: 409,
  title: 'Fork failed',
  message: (p: { run_id: string; step: number; why: string }) =>
    `The run ${p.run_id} cannot be forked at step ${p.step}: ${p.why}.`,
})

export interface ForkParts {
  svc: PluginHandle
  files: RecordingFiles
  run_id: string
}

/**
 * Replays a recording up to a step and continues from there in the temporary project, with the project's models and
 * with tools that only affect the temporary project. The continuation is recorded too.
 * @returns the recording of the fork
 */
export async function fork(
  { svc, files, run_id }: ForkParts,
  original: Original,
  options: ForkOptions,
): Promise<Recording> {
  const { about } = original
  const { from, model = null, plugin, signal } = options
  if (model !== null) await svc.use(Models).resolve(model)
  const forkError = (why: string) => new ForkError({ run_id: about.run_id, step: from, why })
  const { stage, playback } = await prepareReplay(svc, original, {
    also: [askingFor(svc, model)],
    // The ids must differ from those of the run, which may be a fork itself.
    ids: keyedIds(keyedRandom(crc32(`${about.run_id} ${from}`))),
  })
  await using _ = stage
  await playback.run(stage.kernel, signal, from)
  const { divergence } = playback
  if (divergence) throw forkError(`its replay differs already at step ${divergence.step} (${divergence.what})`)
  if (playback.steps + 1 < from) throw forkError(`it has only ${pluralize(playback.steps, 'step')}`)

  const recorder = new Recorder(maskerOf(svc, false))
  const forked: Recording = {
    ...about,
    run_id,
    v: LOG_VERSION,
    kind: 'fork',
    within: null,
    bytes: 0,
    cycles: 0,
    steps: 0,
    cut: null,
    last_seq: null,
    pid: process.pid,
    started_at: about.started_at,
    ended_at: null,
    forked_from: {
      run_id: about.run_id,
      step: from,
      at: isoTime(svc.clock.ms()),
      model,
      plugin: plugin ? basename(plugin) : null,
    },
  }
  const live = new LiveRecording(
    svc,
    files,
    { max_mb: Number(svc.config.get('recordings.max_mb')) },
    forked,
    recorder,
    stage.kernel.use(Store),
  )
  const left = about.within === null ? Math.min(Math.max(playback.remainingCycles, 1), MOST_CYCLES) : 0
  const cycles = options.cycles ?? left
  const { ms, monotonic } = playback.now
  stage.clock.start(ms, monotonic)
  recorder.resume(playback.playedEntries())
  await playback.goLive(recorder, async () => {
    if (plugin)
      await loadForkPlugin(svc, stage, recorder, plugin).catch(error => Promise.reject(forkError(errorMessage(error))))
    await files.write(forked)
    live.begin()
  })
  try {
    await liveOn(stage, playback, cycles, options)
  } finally {
    await live.end()
    // Also for an aborted fork, which is a recording up to there. The fork's project knows no secrets, so they are
    // masked here.
    const events = await eventsOf(stage.kernel.use(Store), about.events_of)
    const mask = maskerOf(svc)
    await files.keepEvents(
      run_id,
      events.map(event => ({ ...event, data: mask(event.data) })),
    )
  }
  return live.about
}

/** Ends the cycles in progress, then runs agents as they come due. The clock skips the time in between. */
async function liveOn(
  { kernel, clock }: ReplayKernel,
  playback: Playback,
  cycles: number,
  { signal, progress }: ForkOptions,
): Promise<void> {
  const scheduler = kernel.use(SchedulerToken)
  await playback.waitForCycles()
  let lonely = 0
  for (let driven = 0; driven < cycles && lonely < MOST_LONELY && !signal.aborted; ) {
    const kind = await kernel.heartbeat.step(signal)
    if (kind === 'sys') lonely++
    if (kind === 'agent') {
      lonely = 0
      progress?.(`cycle ${++driven} of ${cycles} after the fork`)
    }
    if (kind !== undefined) continue
    const due = await scheduler.nextDue()
    if (due === null) return
    clock.skip(due - clock.ms())
  }
}

/** Loads a plugin into a fork. The plugin is recorded before its first writes. */
async function loadForkPlugin(svc: PluginHandle, stage: ReplayKernel, recorder: Recorder, file: string): Promise<void> {
  const definition = await svc.use(HostToken).load(file)
  recorder.add(['u', definition.name, true, relative(svc.project.root, file)])
  await stage.loadPlugin(definition, file)
}

/** Returns a plugin that calls the project's models at the project's expense, and provides its profiles. */
function askingFor(svc: PluginHandle, model: string | null): PluginDefinition {
  return definePlugin({
    name: 'fork',
    description: "Calls the project's models for the agents of a fork, and provides the project's profiles.",
    setup(stage) {
      stage.provide(Profiles, svc.use(Profiles))
      const { summaries } = svc.use(Models)
      const withChosenModel = <Call extends { model: string | null }>(call: Call) => ({
        ...call,
        model: model ?? call.model,
      })
      stage.provide(Models, {
        resolve: name => svc.use(Models).resolve(model ?? name),
        describe: name => svc.use(Models).describe(model ?? name),
        inUse: () => svc.use(Models).inUse(),
        ...(summaries
          ? { summaries: { ...summaries, findDue: (call, keeps) => summaries.findDue(withChosenModel(call), keeps) } }
          : {}),
        call(call) {
          const { fallback, ...alone } = call
          const planning = String(stage.config.get('model.planning_model'))
          const chosen = model === null ? { ...call, model: modelOf(call, planning) } : { ...alone, model }
          const ask = () => svc.use(Models).call({ ...chosen, purpose: ELSEWHERE, asked_for: call.purpose })
          return recordInput('model', ask, () => recordedQuestion(call))
        },
      })
    },
  })
}
