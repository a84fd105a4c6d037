import { type Clock, errorMessage, type Kernel } from '#kernel'
import {
  type CycleEnd,
  type ExecutionIdentity,
  inContext,
  type RecordedQuestion,
  type RecordingBackend,
  type RecordingContext,
  runInContext,
} from '#lib/recording-context'
import { Store } from '#platform/store/contract'
import { isMigrated } from '#platform/store/statements'
import { type Divergence, Mirrors, TaskDriver } from '../contract.ts'
import type { Digester } from '../recording/digest.ts'
import { statements } from '../recording/effects.ts'
import { type Entry, errorOf, MODEL } from '../recording/entries.ts'
import type { Recorder } from '../recording/recorder.ts'
import type { OrderedEntry, ParsedRecording } from './parsed-recording.ts'
import { ReplayedContext, settle, type Waiting } from './replayed-context.ts'

/** Time without progress after which a replay counts as stalled, in milliseconds. */
const STALLED_MS = 3_000
/** Number of event loop turns within which every context that can continue does so. */
const TURNS = 5
/** Errors of the disk and of the lock. They do not recur in a replay, so the recorded error is thrown. */
const OUTSIDE = /^(SQLITE_(FULL|IOERR)|database_locked$)/

export interface PlaybackParts {
  recording: ParsedRecording
  /** The machine's clock, for everything that is not replayed. */
  clock: Clock
  digester: Digester
  /** Compares the events written so far. */
  compare: () => Promise<Divergence | undefined>
  /** Applies a configuration. */
  configure: (config: Record<string, unknown>) => Promise<void>
  /**
   * Loads a plugin.
   * @param file its file, if a fork added it
   */
  loadPlugin: (name: string, file: string | undefined) => Promise<void>
}

/**
 * Replays a recording: every write of every context in its original order, its reads between the same writes, and each
 * input as it was.
 */
export class Playback implements RecordingBackend {
  readonly isReplayProject = true
  readonly #parts: PlaybackParts
  readonly #contexts = new Map<number, ReplayedContext>()
  readonly #cycles = new Map<number, Promise<void>>()
  #kernel: Kernel | undefined
  #startingContext: number | undefined
  #onMove: () => void = () => {}
  #head = 0
  #live: Recorder | undefined
  divergence: Divergence | undefined
  cycles = 0
  steps = 0

  constructor(parts: PlaybackParts) {
    this.#parts = parts
  }

  get isReplaying(): boolean {
    return this.#kernel !== undefined && this.#live === undefined
  }

  begin(identity: ExecutionIdentity, abort: CycleEnd): RecordingContext | undefined {
    if (this.#startingContext === undefined) return this.#live?.begin(identity, abort)
    const id = this.#startingContext
    const { recording } = this.#parts
    const context = new ReplayedContext({
      values: recording.valuesOf(id),
      abort,
      onMove: () => this.#onMove(),
      settleContexts: () => this.#settleContexts(),
      isRecomputed: what => recording.isRecomputed(id, what),
    })
    this.#contexts.set(id, context)
    context.mayRead(recording.readsBefore(id, this.#head))
    this.#startingContext = undefined
    return context
  }

  recordWrites(statements: Parameters<RecordingBackend['recordWrites']>[0]): void {
    this.#live?.recordWrites(statements)
  }

  /**
   * Replays up to the end of the recording, or to the first difference.
   * @param from stops before the model answer with this number
   */
  async run(kernel: Kernel, signal: AbortSignal, from = Number.POSITIVE_INFINITY): Promise<void> {
    this.#kernel = kernel
    const { sequence } = this.#parts.recording
    await this.#compare()
    for (; this.#head < sequence.length && !this.divergence; this.#head++) {
      signal.throwIfAborted()
      const entry = sequence[this.#head]!
      if (this.#parts.recording.isStep(entry) && this.steps + 1 >= from) return this.#waitForModel(entry)
      await this.#replayEntry(entry)
    }
  }

  /** Number of cycles that are not replayed yet. */
  get remainingCycles(): number {
    return this.#parts.recording.sequence.slice(this.#head).filter(([kind]) => kind === 'b').length
  }

  /** Returns the clocks as the last reading context saw them. */
  get now(): { ms: number; monotonic: number } {
    const all = [...this.#contexts.values()].map(({ last }) => last)
    return { ms: Math.max(0, ...all.map(({ ms }) => ms)), monotonic: Math.max(0, ...all.map(last => last.monotonic)) }
  }

  /** Returns the recording as far as it was replayed, from which another one continues. */
  playedEntries(): Entry[] {
    const { recording } = this.#parts
    const open = [...this.#contexts]
      .map(([id, { used }]) => recording.readValuesEntry(id, used))
      .filter(entry => entry !== undefined)
    return [...recording.names, ...recording.sequence.slice(0, this.#head), ...open]
  }

  /**
   * Continues with real inputs, and records: contexts that wait get real results.
   * @param first is done before they continue
   */
  async goLive(recorder: Recorder, first: () => Promise<void>): Promise<void> {
    this.#live = recorder
    const open = [...this.#contexts]
      .filter(([, context]) => !context.over)
      .map(([id, context]) => {
        return {
          context,
          recorded: recorder.openContext(id, context.abort, { ...context.last, reads: context.unreportedReads }),
        }
      })
    await first()
    for (const { context, recorded } of open) context.goLive(recorded)
  }

  /** Resolves when the cycles in progress have ended. */
  async waitForCycles(): Promise<void> {
    await Promise.all(this.#cycles.values())
  }

  /** Resolves when the context waits for a model and all other contexts have stopped. */
  async #waitForModel(entry: OrderedEntry): Promise<void> {
    await this.#until(entry, context => (context.waiting.some(({ what }) => what === MODEL) ? true : undefined))
    await this.#settleContexts()
  }

  /** Resolves when every context that could go on has done so. */
  async #settleContexts(): Promise<void> {
    for (let n = 0; n < TURNS; n++) await this.#parts.clock.yield()
  }

  async #replayEntry(entry: OrderedEntry): Promise<void> {
    const { recording } = this.#parts
    switch (entry[0]) {
      case 'b': {
        const [, id, agent, kind, owner, epoch, cycle_num, task_id] = entry
        this.#startingContext = id
        if (kind !== 'task') this.cycles++
        const begun =
          task_id === undefined
            ? { ended: this.#kernel!.heartbeat.drive({ id: agent, kind: kind as 'agent', owner, epoch, cycle_num }) }
            : await this.#kernel!.use(TaskDriver).drive(task_id).catch(errorMessage)
        // For example, a task whose row belongs to the writes of another process.
        if (typeof begun === 'string')
          return this.#diverge(entry, 'a recorded task cannot be run again', { expected: task_id!, got: begun })
        this.#cycles.set(
          id,
          begun.ended.finally(() => this.#cycles.delete(id)),
        )
        return
      }
      case 'f': {
        const over = await this.#until(entry, ({ timers }) => timers[entry[2]])
        await this.#settleContexts()
        if (over) inContext(this.#contexts.get(entry[1]), over)
        return
      }
      case 'a':
        await this.#settleContexts()
        this.#contexts.get(entry[1])?.abort.abort(errorOf(entry[2]))
        return
      case 'o': {
        const written = entry[1].map(([name, ...params]) => {
          return { sql: recording.text(name), params: params.map(param => recording.param(param)) }
        })
        try {
          await runInContext(UNRECORDED, async () => {
            const store = this.#kernel!.use(Store)
            // A plugin of the replay has run its migrations already.
            if (await isMigrated(store, written[0])) return
            await store.apply([statements(written)])
            for (const mirror of this.#kernel!.list(Mirrors)) await mirror.look()
          })
        } catch (error) {
          // For example, rows that refer to rows of another process.
          const expected = shorten(written.map(({ sql }) => sql).join('; '))
          return this.#diverge(entry, 'a recorded write from outside the agents cannot be repeated', {
            expected,
            got: errorMessage(error),
          })
        }
        this.#resumeReads()
        return this.#compare()
      }
      case 'c':
        return this.#parts.configure(entry[1])
      case 'u': {
        const [, name, comes, file] = entry
        await this.#settleContexts()
        return comes ? this.#parts.loadPlugin(name, file) : this.#kernel!.host.remove(name)
      }
      case 'e':
        return this.#until(entry, context => (context.over ? true : undefined)).then(() => {})
      case 't': {
        const [, , name, failure] = entry
        const turn = await this.#arrival(entry, 't', recording.text(name))
        if (!turn) return
        if (failure && OUTSIDE.test(String(failure.code))) turn.reject(errorOf(failure))
        else settle(turn)
        this.#resumeReads()
        return this.#compare()
      }
      case 'n': {
        this.#contexts.get(entry[1])?.addReads(entry[2])
        await this.#until(entry, ({ unreportedReads }) => (unreportedReads >= 0 ? true : undefined))
        return
      }
      case 'v': {
        const [, , name, digest, value, failure, earlier] = entry
        const isStep = recording.isStep(entry)
        const taking = await this.#arrival(entry, 'v', recording.text(name), earlier)
        if (!taking) return
        if (isStep) this.steps++
        const question = digest && taking.question ? taking.question() : undefined
        if (question && digest !== this.#parts.digester.of(question)) {
          this.#diverge(entry, 'the request to the model differs from the recorded one', {
            expected: `a request with the digest ${digest}`,
            got: `… ${textOf(question.at(-1) ?? '').slice(-300)}`,
          })
        } else if (failure) taking.reject(errorOf(failure))
        else taking.resolve(recording.value(value))
      }
    }
  }

  /** Lets contexts continue that read after a write which has now happened. */
  #resumeReads(): void {
    const { recording } = this.#parts
    for (const id of this.#cycles.keys()) this.#contexts.get(id)?.mayRead(recording.readsBefore(id, this.#head + 1))
  }

  /** Finds the wait of a context that an entry belongs to. @param earlier number of waits of the same name before it */
  #arrival(entry: OrderedEntry, kind: Waiting['kind'], what: string, earlier = 0): Promise<Waiting | undefined> {
    return this.#until(entry, context => {
      const found = context.waiting.filter(each => each.kind === kind && each.what === what)[earlier]
      if (found) context.waiting.splice(context.waiting.indexOf(found), 1)
      return found
    })
  }

  async #until<T>(entry: OrderedEntry, find: (context: ReplayedContext) => T | undefined): Promise<T | undefined> {
    const context = this.#contexts.get(entry[1] as number)
    const stalled = new AbortController()
    const cancel = this.#parts.clock.after(STALLED_MS, () => {
      stalled.abort()
      this.#onMove()
    })
    try {
      for (;;) {
        const moved = new Promise<void>(resolve => {
          this.#onMove = resolve
        })
        const found = context && find(context)
        if (found !== undefined) return found
        if (!context || context.over || stalled.signal.aborted) break
        await moved
      }
    } finally {
      cancel()
    }
    const got = context?.over ? 'the end of its cycle' : context?.waiting.map(each => shorten(each.what)).join('; and ')
    this.#diverge(entry, 'the next action differs from the recorded one', {
      expected: this.#describe(entry),
      got: got || 'nothing more',
    })
    return undefined
  }

  #describe(entry: OrderedEntry): string {
    if (entry[0] === 'e') return 'the end of its cycle'
    if (entry[0] === 'f') return 'the end of a timer'
    if (entry[0] === 'n') return `${entry[2]} reads before the next write`
    if (entry[0] !== 't' && entry[0] !== 'v') return entry[0]
    return shorten(this.#parts.recording.text(entry[2]))
  }

  #diverge(entry: OrderedEntry, what: string, { expected, got }: { expected: string; got: string }): void {
    const whose = this.#parts.recording.ownerOf(entry[1] as number)
    const { agent_id = null, cycle_num = null } = whose ?? {}
    this.divergence ??= { agent_id, cycle_num, step: this.steps, seq: null, what, expected, got }
  }

  async #compare(): Promise<void> {
    const found = await this.#parts.compare()
    if (found) this.divergence ??= { ...found, step: this.steps }
  }
}

function textOf(part: RecordedQuestion[number]): string {
  return typeof part === 'string' ? part : JSON.stringify(part)
}

function shorten(what: string): string {
  return what.replace(/\s+/g, ' ').slice(0, 300)
}

/** Context in which writes of other processes are repeated unchanged. */
const UNRECORDED: RecordingContext = {
  readValue: (_, real) => real(),
  take: (_, work) => work(),
  turn: (_, work) => work(),
  read: (_, work) => work(),
  timer: fn => fn,
  sideChannel: () => undefined,
  end: () => {},
  over: false,
}
