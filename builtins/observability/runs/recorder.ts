import { join } from 'node:path'
import { type Effect, errorMessage, type PluginHandle, token } from '#kernel'
import { inRound } from '#lib/poller'
import { secretMasker } from '#lib/secrets'
import { isoTime, newestSeq, Store } from '#platform/store/contract'
import type { RunsConfig } from './config.ts'
import { countsOf } from './counts.ts'
import { LONGEST_LINE } from './logs/log.ts'
import { type LogLine, LogWriter } from './logs/log-writer.ts'
import { type DescribedAgent, Manifests } from './manifest.ts'
import {
  agentNamed,
  type BriefRun,
  briefRuns,
  countRun,
  eventsOf,
  findRun,
  type RunEventRow,
  runEvents,
  runsSince,
} from './repository.ts'

/** Interval at which the logs and totals of this process's runs are updated, in milliseconds. */
const FOLLOW_MS = 1_000
/** How long nothing is written of a run that may end soon, in milliseconds. */
const BRIEF_MS = 30_000
/** Number of events processed at once, which takes a few milliseconds of the event loop. */
const BATCH = 250
/** Number of short runs whose events are read together; their limit is one batch per run on average. */
const RUNS_AT_ONCE = 50
/** Value of `described` for an outdated manifest. */
const UNDESCRIBED = -1

/** A run that this process writes. */
interface Writing {
  log: LogWriter
  /** Resolves when the work on this run so far is done: its steps run one after another. */
  last: Promise<void>
  /** Whether the log cannot be written at present, which was logged once. */
  failing: boolean
  /** Number of agents in its manifest. */
  described: number
  /** Whether the run may end soon, so that it is written at once, together with others. */
  brief: boolean
  /** Time from which on this process writes the run, by the monotonic clock. */
  since: number
  /** Whether the run has ended and its rest is still to be written. */
  over: boolean
  /** Whether to update the run in the next round even without new events. */
  due: boolean
}

/** Ended short runs with their events, read from the database. */
interface Brief {
  runs: ReadonlyMap<string, { run: BriefRun; rows: RunEventRow[] }>
  names: Map<string, { name: string; model: string }>
}

/** Name and model of an agent that was deleted. */
const UNKNOWN_AGENT = { name: '', model: '' }

export const OwnRecorder = token<Recorder>('runs/recorder')

/**
 * Writes the events of the database, which is authoritative, to the log of their run, and adds them up in the run's
 * row. Both store their progress, so nothing is lost or counted twice after a crash.
 */
export class Recorder {
  readonly #svc: PluginHandle
  readonly #config: RunsConfig
  readonly #mask: (json: string) => string
  readonly #manifests: Manifests
  readonly #followed = new Map<string, Writing>()
  /** Ended short runs that are not written yet. */
  #over: [run_id: string, Writing][] = []
  #cancel: (() => void) | undefined
  /** Newest event at the last round, and at the round before it. */
  #seen: number | undefined
  #seenBefore: number | undefined

  constructor(svc: PluginHandle, config: RunsConfig) {
    this.#svc = svc
    this.#config = config
    this.#mask = secretMasker(svc)
    this.#manifests = new Manifests(svc, this.#mask)
  }

  folderOf(run_id: string): string {
    return join(this.#config.folder, run_id)
  }

  /**
   * Keeps a run's log up to date, in the process that owns the run.
   * @param brief whether the run may end soon; it is not written until it ends or `BRIEF_MS` have passed
   */
  follow(run_id: string, brief = false): void {
    const writing = this.#follow(run_id, true)
    writing.brief = brief
    if (!brief) this.#work(run_id, writing, () => this.#describe(run_id, writing))
    this.#cancel ??= this.#later()
  }

  /** Ids of the runs that this process writes. */
  get followedRuns(): string[] {
    return [...this.#followed.keys()]
  }

  /** Runs that are written while they go on: not ended, and no longer short. */
  get #going(): [run_id: string, Writing][] {
    const before = this.#svc.clock.monotonic() - BRIEF_MS
    return [...this.#followed].filter(([, { over, brief, since }]) => !over && (!brief || since < before))
  }

  /**
   * Writes the rest of an ended run and its final manifest, and stops following it. Short runs wait for the next round.
   * Callers need not wait.
   */
  finish(run_id: string): void {
    const writing = this.#follow(run_id)
    writing.over = true
    if (writing.brief) this.#over.push([run_id, writing])
    else void this.#work(run_id, writing, () => this.#conclude(run_id, writing))
  }

  /** Resolves when all ended short runs are written. */
  async flush(): Promise<void> {
    const over = this.#over
    if (over.length === 0) return
    this.#over = []
    const last = Promise.all(over.map(([, writing]) => writing.last))
    const written = last.then(() => this.#concludeAll(over))
    for (const [, writing] of over) writing.last = written
    await written
  }

  /** Resolves when nothing is being written of a run. */
  waitUntilWritten(run_id: string): Promise<void> {
    return this.#followed.get(run_id)?.last ?? Promise.resolve()
  }

  /** Resolves when everything committed so far is in the run's log and totals. Never throws. */
  catchUp(run_id: string): Promise<void> {
    const writing = this.#followed.get(run_id) ?? this.#writing(run_id)
    return this.#work(run_id, writing, () => this.#carry(run_id, writing))
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    await this.flush()
    await Promise.all(this.followedRuns.map(run_id => this.catchUp(run_id)))
    this.#followed.clear()
    // A round in progress may have scheduled the next one meanwhile.
    this.#cancel?.()
  }

  #follow(run_id: string, anew = false): Writing {
    const writing = this.#followed.get(run_id) ?? this.#writing(run_id, anew)
    this.#followed.set(run_id, writing)
    return writing
  }

  /** Adds a step to the work on a run, after the earlier steps. */
  #work(run_id: string, writing: Writing, piece: (writing: Writing) => Promise<void>): Promise<void> {
    writing.last = writing.last.then(() => piece(writing).catch(error => this.#logError(run_id, error)))
    return writing.last
  }

  #logError(run_id: string, error: unknown): void {
    this.#svc.log.error({}, `cannot record the run ${run_id}: ${errorMessage(error)}`)
  }

  async #round(): Promise<void> {
    await this.flush()
    const moved = await this.#changedRuns().catch(() => undefined)
    const due = this.#going.filter(([run_id, { due, failing }]) => !moved || due || failing || moved.has(run_id))
    for (const [, writing] of due) writing.due = false
    await Promise.all(due.map(([run_id]) => this.catchUp(run_id)))
    this.#cancel = this.#followed.size > 0 ? this.#later() : undefined
  }

  /** Returns the runs with recent events. An event may become visible after later ones, so two rounds are covered. */
  async #changedRuns(): Promise<ReadonlySet<string>> {
    const store = this.#svc.use(Store)
    const newest = await newestSeq(store)
    const from = this.#seenBefore ?? newest
    this.#seenBefore = this.#seen ?? newest
    this.#seen = newest
    return new Set(newest > from ? await runsSince(store, from) : [])
  }

  #later(): () => void {
    return inRound(this.#svc.clock, FOLLOW_MS, () => void this.#round())
  }

  #writing(run_id: string, anew = false): Writing {
    const log = new LogWriter({
      ports: this.#svc.ports,
      folder: this.folderOf(run_id),
      anew,
      rotateAt: () => this.#config.rotateAt,
      onDamage: (file, bytes) =>
        this.#svc.log.warn({}, `${bytes} damaged bytes at the end of ${file} were moved to ${file}.corrupt`),
    })
    const since = this.#svc.clock.monotonic()
    const state = { failing: false, described: UNDESCRIBED, brief: false, since, over: false, due: true }
    return { log, last: Promise.resolve(), ...state }
  }

  async #conclude(run_id: string, writing: Writing): Promise<void> {
    writing.described = UNDESCRIBED
    await this.#carry(run_id, writing).finally(() => this.#followed.delete(run_id))
  }

  async #concludeAll(over: readonly [string, Writing][]): Promise<void> {
    for (let at = 0; at < over.length; at += RUNS_AT_ONCE) await this.#concludeSome(over.slice(at, at + RUNS_AT_ONCE))
  }

  /** Writes the files of each run at once, then all totals in one commit. Runs without totals are written again. */
  async #concludeSome(over: readonly [string, Writing][]): Promise<void> {
    const left: [string, Writing][] = []
    const counts: Effect[] = []
    const written: string[] = []
    const brief = await this.#read(over).catch(() => undefined)
    for (const [run_id, writing] of over) {
      const count = brief && (await this.#inOneGo(run_id, writing, brief).catch(() => undefined))
      if (count) {
        counts.push(count)
        written.push(run_id)
      } else left.push([run_id, writing])
      await this.#svc.clock.yield()
    }
    const isCounted =
      counts.length === 0 ||
      (await this.#svc
        .use(Store)
        .apply(counts)
        .catch(() => false))
    for (const run_id of isCounted ? written : []) this.#followed.delete(run_id)
    for (const [run_id, writing] of isCounted ? left : over) {
      await this.#conclude(run_id, writing).catch(error => this.#logError(run_id, error))
    }
  }

  /** Reads several runs with their events; undefined if they are too long to be written at once. */
  async #read(over: readonly [string, Writing][]): Promise<Brief | undefined> {
    const store = this.#svc.use(Store)
    const run_ids = over.flatMap(([run_id, { described }]) => (described === UNDESCRIBED ? [run_id] : []))
    if (run_ids.length === 0) return undefined
    const rows = await eventsOf(store, run_ids, RUNS_AT_ONCE * BATCH)
    if (rows.length === RUNS_AT_ONCE * BATCH) return undefined
    const runs = new Map((await briefRuns(store, run_ids)).map(run => [run.run_id, { run, rows: [] as RunEventRow[] }]))
    for (const row of rows) runs.get(row.run_id!)?.rows.push(row)
    return { runs, names: new Map() }
  }

  /** @returns the write of the run's totals; undefined if the run cannot be written at once */
  async #inOneGo(run_id: string, writing: Writing, { runs, names }: Brief): Promise<Effect | undefined> {
    const { run, rows = [] } = runs.get(run_id) ?? {}
    if (!run || run.counted_seq > 0) return undefined
    const [first, last] = [rows[0], rows.at(-1)]
    if (!first || !last) return undefined
    const { totals, agents } = countsOf(rows)
    const describeAgent = async ({ agent_id, first_at }: (typeof agents)[number]): Promise<DescribedAgent> => {
      const known = names.get(agent_id) ?? (await agentNamed(this.#svc.use(Store), agent_id)) ?? UNKNOWN_AGENT
      names.set(agent_id, known)
      return { agent_id, ...known, first_at }
    }
    const described = await Promise.all(agents.map(describeAgent))
    const lines = rows.map(row => this.#lineOf(row))
    if ((await writing.log.position()) > 0) return undefined
    await writing.log.append(lines)
    await this.#manifests.writeBrief(this.folderOf(run_id), run, described)
    return countRun({ run_id, from: 0, to: last.seq, totals, agents })
  }

  async #carry(run_id: string, writing: Writing): Promise<void> {
    const store = this.#svc.use(Store)
    const run = await findRun(store, run_id)
    if (!run) return
    let counted = run.counted_seq
    let written = await this.#orFailing(writing, () => writing.log.position())
    const isLost = written === 0 && counted > 0
    for (;;) {
      const rows = await runEvents(store, run_id, Math.min(counted, written ?? counted), BATCH)
      const last = rows.at(-1)?.seq
      if (last === undefined) break
      if (written !== undefined) written = await this.#write(writing, rows, written)
      if (last > counted) counted = await this.#count(run_id, rows, counted)
      if (rows.length < BATCH) break
      await this.#svc.clock.yield()
    }
    const agents = counted > run.counted_seq ? (await findRun(store, run_id))?.agents : run.agents
    if (isLost || agents !== writing.described) await this.#describe(run_id, writing)
  }

  /** @returns the seq up to which events are counted; another process may have counted further */
  async #count(run_id: string, rows: readonly RunEventRow[], from: number): Promise<number> {
    const store = this.#svc.use(Store)
    const fresh = rows.filter(({ seq }) => seq > from)
    const to = fresh.at(-1)?.seq ?? from
    if (await store.apply([countRun({ run_id, from, to, ...countsOf(fresh) })])) return to
    return (await findRun(store, run_id))?.counted_seq ?? to
  }

  /** Writes the manifest from the run's current row. */
  async #describe(run_id: string, writing: Writing): Promise<void> {
    const folder = this.folderOf(run_id)
    const agents = await this.#orFailing(writing, () => this.#manifests.write(folder, run_id))
    writing.described = agents ?? writing.described
  }

  async #write(writing: Writing, rows: readonly RunEventRow[], written: number): Promise<number | undefined> {
    const lines = rows.filter(({ seq }) => seq > written).map(row => this.#lineOf(row))
    return this.#orFailing(writing, async () => {
      await writing.log.append(lines)
      return lines.at(-1)?.seq ?? written
    })
  }

  /** Runs `work` and logs its first error. On a full disk work goes on, and the log catches up later. */
  async #orFailing<T>(writing: Writing, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work()
      writing.failing = false
      return result
    } catch (error) {
      if (!writing.failing) {
        this.#svc.log.error(
          {},
          `cannot write the log of a run; missing lines are written later: ${errorMessage(error)}`,
        )
      }
      writing.failing = true
      return undefined
    }
  }

  #lineOf({ seq, type, v, at, agent_id, cycle_num, run_id, data }: RunEventRow): LogLine {
    const head = JSON.stringify({ seq, type, v, at: isoTime(at), agent_id, cycle_num, run_id })
    const kept = data.length < LONGEST_LINE / 4 ? data : JSON.stringify({ left_out: `${data.length} characters` })
    return { seq, text: this.#mask(`${head.slice(0, -1)},"data":${kept}}`) }
  }
}
