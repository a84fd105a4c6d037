import { errorMessage, HostToken, type PluginHandle } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { inRound } from '#lib/poller'
import { maskJson, maskText, secretsIn, secretsOf } from '#lib/secrets'
import { isoTime, type NeighbourWrites, Store } from '#platform/store/contract'
import type { RecordingsConfig } from '../config.ts'
import type { Recording } from '../contract.ts'
import { LOG_VERSION } from './entries.ts'
import { Recorder } from './recorder.ts'
import type { LogFile, RecordingFiles } from './recording-files.ts'

/** Interval at which pending entries are written, in milliseconds. */
const WRITE_MS = 1_000
/**
 * Length of one chunk of the log, in characters: short enough to be compressed synchronously in a fraction of a
 * millisecond.
 */
const BATCH_SIZE = 80_000
const MB = 1024 * 1024
/** Reason why a recording is inexact: code that cuts strings by length treats a mask differently from its secret. */
const SECRETS_HIDDEN = 'values of secrets are hidden in the recording'
const WRITTEN_BY_ANOTHER = 'another process wrote to the database'

/** A recording in progress. Writes the recorder's entries to its file, outside of cycles. */
export class LiveRecording {
  readonly recorder: Recorder
  readonly about: Recording
  readonly #svc: PluginHandle
  readonly #files: RecordingFiles
  readonly #config: Pick<RecordingsConfig, 'max_mb'>
  readonly #mask: (text: string) => string
  readonly #store: () => Store
  /** Names of the current plugins from files. */
  #plugins: ReadonlySet<string>
  #last: Promise<void> = Promise.resolve()
  #cancel: () => void = () => {}
  #over = false
  #data_version: number | undefined
  #file: LogFile | undefined
  /** Task runs on this recording that other processes cannot find yet. */
  #held: Recording[] = []
  #writing: Promise<void> = Promise.resolve()
  #reports: NeighbourWrites | undefined

  constructor(
    svc: PluginHandle,
    files: RecordingFiles,
    config: Pick<RecordingsConfig, 'max_mb'>,
    about: Recording,
    recorder?: Recorder,
    store?: Store,
  ) {
    this.#svc = svc
    this.#files = files
    this.#config = config
    this.about = about
    this.#plugins = new Set(about.plugins)
    this.#store = () => store ?? svc.use(Store)
    this.#mask = maskerOf(svc)
    this.recorder = recorder ?? new Recorder(maskerOf(svc, false))
  }

  /** Starts following the recorder. */
  begin(): void {
    this.#scheduleWrite()
  }

  #scheduleWrite(): void {
    this.#cancel = inRound(this.#svc.clock, WRITE_MS, () => {
      void this.write().then(() => {
        if (!this.#over) this.#scheduleWrite()
      })
    })
  }

  /** Adds a task's run to this recording. */
  addTaskRun(run_id: string): void {
    const started_at = isoTime(this.#svc.clock.ms())
    const { run_id: within } = this.about
    this.#held.push({ ...this.about, run_id, kind: 'task', within, events_of: run_id, started_at, config: {} })
  }

  /** Resolves when all task runs on it can be found. */
  waitUntilWritten(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#note())
    return this.#writing
  }

  async #note(): Promise<void> {
    const held = this.#held
    this.#held = []
    for (const about of held) {
      await this.#files
        .note(about)
        .catch(error => this.#svc.log.warn({}, `cannot write the recording of ${about.run_id}: ${errorMessage(error)}`))
    }
  }

  /** Writes pending entries. Never throws: if a write fails, the recording ends there and work goes on. */
  write(): Promise<void> {
    this.#last = this.#last.then(() =>
      this.#write().catch(error => {
        this.#cut(`the recording could not be written (${errorMessage(error)})`)
      }),
    )
    return this.#last
  }

  async end(): Promise<void> {
    this.#over = true
    this.#cancel()
    await this.write()
    this.recorder.stop()
    await this.#close()
    await this.stopReports()
    const last = await this.#store().get<{ seq: number | null }>(
      'SELECT max(seq) AS seq FROM events_view WHERE run_id = ?',
      [this.about.events_of],
    )
    this.about.last_seq = this.about.cut === null ? (last?.seq ?? 0) : null
    this.about.ended_at = isoTime(this.#svc.clock.ms())
    await this.#files
      .write(this.about)
      .catch(error =>
        this.#svc.log.warn({}, `cannot write the recording of ${this.about.run_id}: ${errorMessage(error)}`),
      )
  }

  async #write(): Promise<void> {
    await this.#checkOtherWrites()
    await this.waitUntilWritten()
    const texts = this.recorder.take()
    if (texts.length === 0) return
    const isFirst = this.about.cycles === 0
    Object.assign(this.about, this.recorder.counts)
    for (const piece of piecesOf(texts)) {
      this.#file ??= await this.#files.openLog(this.about.run_id)
      const json = `[${piece.join()}]`
      const masked = this.#mask(json)
      this.about.bytes += await this.#file.append(masked)
      if (masked !== json) await this.noteMissing(SECRETS_HIDDEN)
    }
    if (this.about.bytes > this.#config.max_mb * MB)
      this.#cut(`the recording is larger than recordings.max_mb (${this.#config.max_mb})`)
    else if (isFirst && this.about.cycles > 0) await this.#files.write(this.about)
  }

  /**
   * Starts watching for writes of other processes; earlier ones are in the initial database.
   * @param hasReports whether other processes report their writes
   */
  async startReports(hasReports: boolean): Promise<void> {
    if (hasReports) this.#reports = await this.#store().startWriteReports?.()
    else await this.#checkOtherWrites()
  }

  async stopReports(): Promise<void> {
    await this.#reports?.end().catch(() => {})
    this.#reports = undefined
  }

  /** Notes writes of another process that are missing in the recording because they were not reported. */
  async #checkOtherWrites(): Promise<void> {
    if (this.#reports) {
      if (await this.#reports.look()) await this.noteMissing(WRITTEN_BY_ANOTHER)
      return
    }
    const row = await this.#store().get<{ data_version: number }>('PRAGMA data_version')
    const seen = this.#data_version
    this.#data_version = row?.data_version
    if (seen !== undefined && seen !== row?.data_version) await this.noteMissing(WRITTEN_BY_ANOTHER)
  }

  /**
   * Records which plugins were added or removed; their code is not recorded.
   * @param now names of the current plugins from files
   */
  plugins(now: readonly string[]): void {
    const before = this.#plugins
    this.#plugins = new Set(now)
    for (const name of before) if (!this.#plugins.has(name)) this.recorder.add(['u', name, false])
    for (const name of this.#plugins) if (!before.has(name)) this.recorder.add(['u', name, true])
  }

  /** Notes once that something happened that the recording lacks. */
  async noteMissing(what: string): Promise<void> {
    if (this.about.inexact.includes(what)) return
    this.about.inexact.push(what)
    await this.#files.write(this.about)
  }

  #cut(why: string): void {
    this.recorder.stop()
    this.#over = true
    this.#cancel()
    this.about.cut ??= why
    this.#svc.log.warn({}, `the recording of ${this.about.run_id} ends here: ${why}`)
    void this.#files.write(this.about).catch(() => {})
    void this.stopReports()
    void this.#close()
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close().catch(() => {})
  }
}

function* piecesOf(texts: readonly string[]): Generator<readonly string[]> {
  let from = 0
  let length = 0
  for (const [at, text] of texts.entries()) {
    length += text.length
    if (length < BATCH_SIZE && at < texts.length - 1) continue
    yield texts.slice(from, at + 1)
    from = at + 1
    length = 0
  }
}

/** Returns a function that masks the values of secrets in JSON, or in plain text. */
export function maskerOf(svc: PluginHandle, isJson = true): (text: string) => string {
  const known = secretsOf(svc)
  return text => {
    const secrets = known()
    if (secrets.length === 0) return text
    if (isJson) return maskJson(text, secrets)
    return maskText(
      text,
      secrets.filter(secret => secret.length >= 8),
    )
  }
}

/** Returns the names of the live plugins from files. */
export function pluginsIn(svc: PluginHandle): string[] {
  return svc
    .use(HostToken)
    .definitions()
    .map(({ name }) => name)
}

/**
 * Begins a recording with a copy of the database, taken when the recorder starts.
 * @param hasReports whether other processes report their writes; only one recording at a time may request this
 * @returns undefined if the storage engine cannot copy the database, or the database is too large
 */
export async function beginRecording(
  svc: PluginHandle,
  files: RecordingFiles,
  config: RecordingsConfig,
  run: { run_id: string; kind: string },
  starts: (recorder: Recorder) => void,
  hasReports = false,
): Promise<LiveRecording | undefined> {
  const store = svc.use(Store)
  if (!store.image) return undefined
  const { ports, clock } = svc
  const about: Recording = {
    ...run,
    v: LOG_VERSION,
    svc_version: await packageVersion(ports),
    started_at: isoTime(clock.ms()),
    ended_at: null,
    seed: ports.random.seed,
    pid: process.pid,
    owner: store.owner,
    state: null,
    state_bytes: 0,
    bytes: 0,
    cycles: 0,
    steps: 0,
    cut: null,
    inexact: [],
    last_seq: null,
    events_of: run.run_id,
    within: null,
    secrets: Object.keys(ports.env).filter(name => secretsIn({ [name]: ports.env[name] }).length > 0),
    forked_from: null,
    plugins: pluginsIn(svc),
    config: JSON.parse(maskerOf(svc)(JSON.stringify(svc.config.tree('live')))) as Record<string, unknown>,
  }
  const size = await store.get<{ bytes: number }>(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  )
  about.state_bytes = size?.bytes ?? 0
  const live = new LiveRecording(svc, files, config, about)
  if (about.state_bytes > config.max_state_mb * MB) {
    about.cut = `the initial database is larger than recordings.max_state_mb (${config.max_state_mb})`
    svc.log.warn({}, `this run is not recorded: ${about.cut}`)
    await files.write(about)
    return undefined
  }
  const image = store.image()
  starts(live.recorder)
  try {
    await live.startReports(hasReports)
    about.state = await files.keepState(await image)
    await files.write(about)
  } catch (error) {
    await live.stopReports()
    throw error
  }
  live.begin()
  return live
}
