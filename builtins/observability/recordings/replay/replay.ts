import { resolve } from 'node:path'
import { errorMessage, HostToken, type PluginHandle } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { type EventRow, Store } from '#platform/store/contract'
import { type Divergence, NotReplayableError, type ReplayOptions, type ReplayVerdict } from '../contract.ts'
import { eventsOf, LogHash, lineOf } from '../log.ts'
import { Digester } from '../recording/digest.ts'
import { LOG_VERSION } from '../recording/entries.ts'
import { maskerOf } from '../recording/recording.ts'
import type { CompleteRecording } from '../recording/recording-files.ts'
import { ParsedRecording, stepsIn } from './parsed-recording.ts'
import { Playback } from './playback.ts'
import { openReplayKernel, type ReplayKernel, type ReplayKernelOptions } from './replay-kernel.ts'

/** A recording with the events that a replay is compared with. */
export interface Original extends CompleteRecording {
  /** The event log as it was recorded. */
  events: readonly EventRow[]
  /** For a task's run: the context of the task in the recording of its process. */
  context?: number
}

/** Compares the event log of a replay with the recorded one, as it grows. */
class Comparison {
  readonly expected = new LogHash()
  readonly replayed = new LogHash()
  readonly #original: Original
  /** Whether event numbers may differ, because other processes wrote events that are not recorded. */
  readonly #renumbers: boolean
  #seq = 0
  count = 0
  /** Number of events that were not compared, because the recorded log begins later. */
  gone = 0

  constructor(original: Original) {
    this.#original = original
    this.#renumbers = original.about.kind === 'task' && original.about.inexact.length > 0
  }

  /** @returns the first difference among the new events */
  async look(store: Store): Promise<Divergence | undefined> {
    const rows = await eventsOf(store, this.#original.about.events_of, this.#seq)
    for (const found of rows) {
      this.#seq = found.seq
      if (!this.#renumbers && found.seq < (this.#original.events[0]?.seq ?? 0)) {
        this.gone++
        continue
      }
      const expected = this.#original.events[this.count]
      this.count++
      const row = this.#renumbers && expected ? { ...found, seq: expected.seq } : found
      const [then, now] = [expected ? lineOf(expected) : '', lineOf(row)]
      this.expected.add(then)
      this.replayed.add(now)
      if (then === now) continue
      const { agent_id, cycle_num } = expected ?? row
      const what = expected ? differenceOf(expected, row) : 'the replay has an event that was not recorded'
      return { agent_id, cycle_num, step: 0, seq: row.seq, what, expected: then, got: now }
    }
    return undefined
  }

  /** Returns the first expected event that is missing. */
  firstMissing(): Divergence | undefined {
    const { events, about } = this.#original
    const expected = events[this.count]
    if (!expected || expected.seq > (about.last_seq ?? 0)) return undefined
    const { agent_id, cycle_num, seq } = expected
    return {
      agent_id,
      cycle_num,
      step: 0,
      seq,
      what: 'the replayed log ends too early',
      expected: lineOf(expected),
      got: '',
    }
  }
}

function differenceOf(expected: EventRow, got: EventRow): string {
  const fields = (['type', 'seq', 'at', 'agent_id', 'cycle_num', 'v', 'run_id', 'data'] as const).filter(
    field => expected[field] !== got[field],
  )
  return `the event ${expected.type} differs in ${fields.join(', ')}`
}

/** @throws NotReplayableError if a recording has another format version than this code */
export function requireVersion(run_id: string, version: number): void {
  if (version === LOG_VERSION) return
  const why = `its format version is ${version}, but this version of svc reads version ${LOG_VERSION}`
  throw new NotReplayableError({ run_id, why })
}

export interface PreparedReplay {
  stage: ReplayKernel
  playback: Playback
  comparison: Comparison
  /** What the replay lacks compared with the run; may grow during the replay. */
  lacks: readonly string[]
}

/** Opens a temporary project and prepares the replay of a recording in it. */
export async function prepareReplay(
  svc: PluginHandle,
  original: Original,
  options: ReplayKernelOptions = {},
): Promise<PreparedReplay> {
  const { about, entries } = original
  if (about.state === null)
    throw new NotReplayableError({ run_id: about.run_id, why: about.cut ?? 'its initial database is missing' })
  requireVersion(about.run_id, about.v)
  const comparison = new Comparison(original)
  const host = svc.use(HostToken)
  const ours = new Map(host.definitions().map(plugin => [plugin.name, plugin]))
  const gone = about.plugins?.filter(name => !ours.has(name)) ?? []
  const lacks = gone.map(missingPluginNote)
  let stage: ReplayKernel | undefined
  const playback = new Playback({
    recording: new ParsedRecording(entries, { was: about.pid, is: process.pid }),
    clock: systemPorts().clock,
    digester: new Digester(maskerOf(svc, false)),
    compare: () => comparison.look(stage!.kernel.use(Store)),
    configure: async config => {
      await stage!.configure(config)
    },
    loadPlugin: async (name, file) => {
      const loaded =
        file === undefined
          ? missingPluginNote(name)
          : await host.load(resolve(svc.project.root, file)).catch(errorMessage)
      const plugin = typeof loaded === 'string' ? (ours.get(name) ?? loaded) : loaded
      if (typeof plugin === 'string') lacks.push(plugin)
      else await stage!.loadPlugin(plugin, file ?? name).catch(error => lacks.push(errorMessage(error)))
    },
  })
  stage = await openReplayKernel(svc, original, playback, options)
  return { stage, playback, comparison, lacks }
}

/** Replays a recording offline and compares its event log with the original. */
export async function replay(
  svc: PluginHandle,
  original: Original,
  { signal, ...options }: ReplayOptions & ReplayKernelOptions,
): Promise<ReplayVerdict> {
  const { about } = original
  const began = svc.clock.monotonic()
  const { stage, playback, comparison, lacks } = await prepareReplay(svc, original, options)
  await using _ = stage
  await playback.run(stage.kernel, signal)
  const missing = comparison.firstMissing()
  const divergence = playback.divergence ?? (missing && { ...missing, step: playback.steps }) ?? null
  return {
    run_id: about.run_id,
    same: divergence === null,
    events: comparison.count,
    ...repeatedCounts(original, playback),
    hash: comparison.expected.value,
    replayed_hash: comparison.replayed.value,
    duration_ms: Math.round(svc.clock.monotonic() - began),
    divergence,
    notes: [
      ...about.inexact,
      ...(about.cut === null ? [] : [about.cut]),
      ...(comparison.gone === 0
        ? []
        : [`the oldest ${comparison.gone} events are no longer kept and were not compared`]),
      ...lacks,
    ],
  }
}

/** Counts replayed cycles and steps as `recordings.get` counts recorded ones: for a task only its own steps. */
function repeatedCounts(
  { entries, context }: Original,
  { cycles, steps }: Playback,
): { cycles: number; steps: number } {
  if (context === undefined) return { cycles, steps }
  return { cycles: 0, steps: stepsIn(entries, context).filter(({ step }) => step <= steps).length }
}

/** Returns the note for a missing plugin. Without its tools, requests to models may differ from the recorded ones. */
function missingPluginNote(plugin: string): string {
  return `the plugin ${plugin} was loaded in the recorded run, but is not available here`
}
