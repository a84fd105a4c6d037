import { errorMessage, type PluginHandle, token, type Undo } from '#kernel'
import type { RecordingBackend } from '#lib/recording-context'
import { RunRecords } from '#observability/runs/contract'
import { type EventRow, Store } from '#platform/store/contract'
import type { RecordingsConfig } from './config.ts'
import {
  type ForkOptions,
  NotReplayableError,
  type RecordedStep,
  type Recording,
  RecordingNotFoundError,
  type Recordings,
  type ReplayOptions,
  type ReplayVerdict,
  type RunDiff,
} from './contract.ts'
import { diffOf } from './diff.ts'
import { eventsOf, rowOf } from './log.ts'
import { beginRecording, type LiveRecording, maskerOf, pluginsIn } from './recording/recording.ts'
import { creationTime, RecordingFiles } from './recording/recording-files.ts'
import { isFile, readFixture, writeFixture } from './replay/fixture.ts'
import { fork } from './replay/fork.ts'
import { countsIn, stepsIn, taskIn } from './replay/parsed-recording.ts'
import { type Original, replay } from './replay/replay.ts'

/** Maximum number of events read from a log. */
const MOST_EVENTS = 1_000_000

const ON_SERVER = 'its database is on a server; only runs whose database is a file in the project are recorded'

/** Kind of a recording that holds the tasks of a process without a daemon. */
const PROCESS = 'process'

/** The recordings with all operations of this module; methods of the current provider take precedence. */
export const OwnRecordings = token<RecordingService>('recordings/recordings')

/** The recordings of a project, and the one that this process makes. */
export class RecordingService implements Recordings {
  readonly #svc: PluginHandle
  #config: RecordingsConfig
  readonly #hang: (backend: RecordingBackend) => Undo
  readonly files: RecordingFiles
  #live: LiveRecording | undefined
  #beginning: Promise<void> | undefined
  #closed = false
  #end: () => Promise<void> = async () => {}

  /** @param hang starts recording into a recorder, and returns what ends it */
  constructor(svc: PluginHandle, config: RecordingsConfig, hang: (backend: RecordingBackend) => Undo) {
    this.#svc = svc
    this.#config = config
    this.#hang = hang
    this.files = new RecordingFiles(svc)
  }

  /**
   * Records the daemon's run that has just begun in this process.
   * @param hasReports whether other processes report their writes, as for the project's own daemon
   * @returns a function that ends the recording
   */
  async record(hasReports: boolean): Promise<(() => Promise<void>) | undefined> {
    await this.#beginning
    if (!this.#config.enabled) return undefined
    const begun = this.#recordDaemon(hasReports)
    // A task that begins meanwhile joins this recording: a separate recording would capture the cycles too.
    const clearCapture = () => {
      this.#beginning = undefined
    }
    this.#beginning = begun.then(clearCapture, clearCapture)
    return begun
  }

  async #recordDaemon(hasReports: boolean): Promise<(() => Promise<void>) | undefined> {
    const run = await this.#svc
      .use(Store)
      .get<{ run_id: string; kind: string }>(
        "SELECT run_id, kind FROM runs_view WHERE kind = 'daemon' AND ended_at IS NULL AND pid = ? ORDER BY started_at DESC LIMIT 1",
        [process.pid],
      )
    if (!run) return undefined
    await this.#endTasks()
    return this.#begin(run, hasReports)
  }

  follow(): Promise<void> | undefined {
    if (!this.#config.enabled || this.#live || this.#closed) return undefined
    this.#beginning ??= this.#begin({ run_id: this.#newId(), kind: PROCESS }).then(end => {
      this.#end = end ?? this.#end
      // A failed start is not tried again.
      this.#config = { ...this.#config, enabled: this.#config.enabled && end !== undefined }
      this.#beginning = undefined
    })
    return this.#beginning
  }

  addTaskRun(run_id: string): void {
    this.#live?.addTaskRun(run_id)
  }

  /** Ends the recording for tasks. Tasks that begin while the process ends are not recorded. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#beginning
    await this.#endTasks()
  }

  async #endTasks(): Promise<void> {
    await this.#end()
    this.#end = async () => {}
  }

  async #begin(run: { run_id: string; kind: string }, hasReports = false): Promise<(() => Promise<void>) | undefined> {
    let removeListeners: Undo = () => {}
    const startCapture = (backend: RecordingBackend) => {
      removeListeners = this.#hang(backend)
    }
    const begun = beginRecording(this.#svc, this.files, this.#config, run, startCapture, hasReports)
    const live = await begun.catch(error => this.#svc.log.warn({}, `this run is not recorded: ${errorMessage(error)}`))
    // The content of an abandoned recorder would never be written.
    if (!live) await removeListeners()
    if (!live) return undefined
    this.#live = live
    return async () => {
      await live.end()
      await removeListeners()
      this.#live = undefined
      await this.prune()
    }
  }

  /** Records that the configuration in force changed. */
  recordConfig(): void {
    const config = maskerOf(this.#svc)(JSON.stringify(this.#svc.config.tree('live')))
    this.#live?.recorder.add(['c', JSON.parse(config) as Record<string, unknown>])
  }

  /**
   * Records that a plugin changed. Its code is not recorded: a replay uses today's versions of the plugins that the run
   * had.
   */
  async pluginChanged(plugin: string, outcome: string): Promise<void> {
    this.#live?.plugins(pluginsIn(this.#svc))
    const isReplaced = outcome === 'reloaded' || outcome === 'rolled_back'
    if (isReplaced) await this.#live?.noteMissing(`the plugin ${plugin} was ${outcome.replace('_', ' ')}`)
  }

  /**
   * Removes old recordings; as many are kept as runs.
   * @returns the number of removed recordings
   */
  async prune(): Promise<number> {
    const old = await this.old()
    if (old.length > 0) await this.files.remove(old)
    return old.length
  }

  async old(): Promise<string[]> {
    const keep = Number(this.#svc.config.get('retention.max_runs') ?? 0)
    if (keep <= 0) return []
    const all = await this.files.list()
    const runs = all.filter(({ kind }) => kind !== PROCESS)
    const kept = runs.slice(0, keep)
    // A recording that holds a kept task is kept too.
    const needed = new Set([this.#live?.about.run_id, ...kept.flatMap(({ run_id, within }) => [run_id, within])])
    // Another process may have begun a moment ago and not have reported its first task yet.
    const since = runs.length > keep ? creationTime(kept.at(-1)!) : ''
    const isNew = ({ kind, started_at }: Recording) => kind === PROCESS && started_at >= since
    return all.filter(about => !needed.has(about.run_id) && !isNew(about)).map(({ run_id }) => run_id)
  }

  async get(run_id: string): Promise<Recording> {
    const about = await this.#about(run_id)
    if (about.within !== null) {
      const host = await this.get(about.within)
      const { kind, within, started_at } = about
      const steps = await this.steps(run_id)
      return { ...host, run_id, kind, within, started_at, events_of: run_id, cycles: 0, steps: steps.length }
    }
    await this.#writeOut(run_id)
    // After a crash, or while another process records, the counts come from the log as far as it is written.
    const fresh = await this.files.readRecording(run_id)
    return fresh.ended_at === null ? { ...fresh, ...countsIn(await this.files.entries(run_id)) } : fresh
  }

  async list(): Promise<Recording[]> {
    await this.#live?.waitUntilWritten()
    const [all, runs] = await Promise.all([
      this.files.list(),
      this.#svc.use(Store).all<{ run_id: string }>('SELECT run_id FROM runs_view'),
    ])
    const there = new Set(runs.map(({ run_id }) => run_id))
    // A process recording that holds only tasks has no event log; a fork keeps its own beside the recording.
    return all.filter(({ run_id, kind }) => kind === 'fork' || (kind !== PROCESS && there.has(run_id)))
  }

  async replay(run: string, options: ReplayOptions): Promise<ReplayVerdict> {
    return replay(this.#svc, await this.readOriginal(run), options)
  }

  /**
   * Returns everything that a recording consists of.
   * @throws RecordingNotFoundError, NotReplayableError
   */
  async readOriginal(run_id: string): Promise<Original> {
    if (isFile(run_id)) return readFixture(this.#svc, run_id)
    const { within } = await this.#about(run_id)
    const about = await this.get(within ?? run_id)
    if (await this.files.isTorn(about)) Object.assign(about, { cut: 'the end of its log is missing', last_seq: null })
    const entries = await this.files.entries(about.run_id)
    const state = await this.#stateOf(about)
    const events = await this.events(run_id)
    if (within === null) return { about, entries, state, events }
    const task = taskIn(entries, run_id)
    const why = about.cut === null ? '' : ` (${about.cut})`
    if (!task) throw new NotReplayableError({ run_id, why: `the recording of ${within} ends before this task${why}` })
    const last_seq = task.over ? (events.at(-1)?.seq ?? 0) : null
    const cut = about.cut ?? (task.over || about.ended_at === null ? null : 'the recording ends before the task does')
    return {
      about: { ...about, run_id, kind: 'task', within, events_of: run_id, last_seq, cut },
      entries: task.entries,
      context: task.context,
      state,
      events,
    }
  }

  async #stateOf({ run_id, state }: Recording): Promise<Buffer> {
    if (state === null) return Buffer.alloc(0)
    return this.files.state(state).catch(cause => {
      throw new NotReplayableError({ run_id, why: 'its initial database is missing or damaged' }, { cause })
    })
  }

  /**
   * Returns the event log of a run, from the recording, the database or the run's log.
   * @throws RunNotFoundError
   */
  async events(run_id: string): Promise<EventRow[]> {
    const kept = await this.files.events(run_id)
    if (kept) return kept
    const rows = await eventsOf(this.#svc.use(Store), run_id)
    if (!this.#svc.has(RunRecords)) return rows
    // The oldest events may have been removed from the database; the run's log still has them.
    const { events } = await this.#svc.use(RunRecords).read(run_id, MOST_EVENTS, new AbortController().signal)
    const gone = events.filter(({ seq }) => seq < (rows[0]?.seq ?? Number.POSITIVE_INFINITY))
    return [...gone.map(event => rowOf(event, run_id)), ...rows]
  }

  /**
   * Replays a recording up to a step and continues from there.
   * @returns the recording of the fork
   */
  async fork(run_id: string, options: ForkOptions): Promise<Recording> {
    const original = await this.readOriginal(run_id)
    return fork({ svc: this.#svc, files: this.files, run_id: this.#newId() }, original, options)
  }

  async diff(a: string, b: string): Promise<RunDiff> {
    const side = async (run: string) => {
      const { about, events } = isFile(run)
        ? await this.readOriginal(run)
        : { about: { run_id: run }, events: await this.events(run) }
      return { run_id: about.run_id, events }
    }
    return diffOf(await side(a), await side(b))
  }

  /** Returns the model answers in a recording, in their order. */
  async steps(run_id: string): Promise<RecordedStep[]> {
    const { within } = await this.#about(run_id)
    await this.#writeOut(within ?? run_id)
    const entries = await this.files.entries(within ?? run_id)
    if (within === null) return stepsIn(entries)
    const task = taskIn(entries, run_id)
    return task ? stepsIn(entries, task.context) : []
  }

  async save(run_id: string, file: string): Promise<void> {
    const whole = await this.readOriginal(run_id)
    await writeFixture(this.#svc, whole, file)
  }

  /** @throws RecordingNotFoundError, NotReplayableError where recording is not supported */
  async #about(run_id: string): Promise<Recording> {
    await this.#live?.waitUntilWritten()
    return this.files.readRecording(run_id).catch(error => {
      const isKept = this.#svc.use(Store).image !== undefined || !(error instanceof RecordingNotFoundError)
      throw isKept ? error : new NotReplayableError({ run_id, why: ON_SERVER })
    })
  }

  #newId(): string {
    const [date, time] = this.#svc.clock.now().toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
    return `run-${date}-${time}-${this.#svc.ports.ids.make('run', 6).slice('run-'.length)}`
  }

  async #writeOut(run_id: string): Promise<void> {
    if (this.#live?.about.run_id === run_id) await this.#live.write()
  }
}
