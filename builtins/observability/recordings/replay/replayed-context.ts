import {
  type CycleEnd,
  inContext,
  type NondeterministicValue,
  type RecordedQuestion,
  type RecordingContext,
  withoutRecording,
} from '#lib/recording-context'
import type { ReadValues } from './parsed-recording.ts'

/** A value that a context waits for until the recording provides it. */
export interface Waiting {
  kind: 't' | 'v'
  what: string
  isRead?: boolean
  question?: (() => RecordedQuestion) | undefined
  /** Performs the call for real. */
  work: () => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

export interface ReplayedContextParts {
  values: ReadValues
  abort: CycleEnd
  /** Called when the context waits or has ended. */
  onMove: () => void
  /** Resolves when every context that could continue has done so. */
  settleContexts: () => Promise<void>
  /** Returns whether the context computes this input itself instead of taking it from the recording. */
  isRecomputed: (what: string) => boolean
}

/** The context of a replayed cycle. */
export class ReplayedContext implements RecordingContext {
  readonly waiting: Waiting[] = []
  /** Pending timers, in the order in which they were set. */
  readonly timers: (() => void)[] = []
  readonly abort: CycleEnd
  over = false
  readonly #parts: ReplayedContextParts
  readonly #values: ReadValues
  readonly last = { ms: 0, monotonic: 0 }
  /** Number of recorded values that it has read. */
  readonly used = { ms: 0, monotonic: 0, ids: 0 }
  /** Number of its reads so far, of the reads allowed so far, and of those that the recording has reported. */
  #reads = 0
  #readable = 0
  #reportedReads = 0
  #live: RecordingContext | undefined

  constructor(parts: ReplayedContextParts) {
    this.#parts = parts
    this.#values = parts.values
    this.abort = parts.abort
  }

  readValue<T extends number | string>(kind: NondeterministicValue, real: () => T): T {
    if (this.#live) return this.#live.readValue(kind, real)
    if (kind === 'id') return (this.#values.ids[this.used.ids++] as T | undefined) ?? real()
    this.last[kind] = this.#values[kind][this.used[kind]++] ?? this.last[kind]
    return this.last[kind] as T
  }

  take<T>(what: string, work: () => T | Promise<T>, question?: () => RecordedQuestion): T | Promise<T> {
    if (this.#live) return this.#live.take(what, work, question)
    if (this.#parts.isRecomputed(what)) return work()
    return this.#wait({ kind: 'v', what, question, work }) as Promise<T>
  }

  turn<T>(what: string, work: () => T): T | Promise<T> {
    if (this.#live) return this.#live.turn(what, work)
    // The playback runs the write, so it must restore this context.
    return this.#wait({ kind: 't', what, work: () => inContext(this, work) }) as Promise<T>
  }

  read<T>(what: string, work: () => T): T | Promise<T> {
    if (this.#live) return this.#live.read(what, work)
    if (this.#reads >= this.#readable)
      return this.#wait({ kind: 't', what, isRead: true, work: () => inContext(this, work) }) as Promise<T>
    this.#reads++
    this.#parts.onMove()
    return work()
  }

  /** Sets the total number of reads that it may have. */
  mayRead(reads: number): void {
    this.#readable = reads
    for (const waiting of this.waiting.filter(({ isRead }) => isRead).slice(0, Math.max(reads - this.#reads, 0))) {
      this.waiting.splice(this.waiting.indexOf(waiting), 1)
      this.#reads++
      settle(waiting)
    }
  }

  /** Adds reads that the recording reports. */
  addReads(reads: number): void {
    this.#reportedReads += reads
  }

  /** Number of reads that the recording has not reported yet; negative where the context is behind. */
  get unreportedReads(): number {
    return this.#reads - this.#reportedReads
  }

  timer(fn: () => void): () => void {
    if (this.#live) return this.#live.timer(fn)
    this.timers.push(fn)
    this.#parts.onMove()
    // Time does not move before the fork.
    return fn
  }

  sideChannel<T>(what: string, work: () => T | Promise<T>): T | undefined | Promise<T | undefined> {
    if (this.#live) return this.#live.sideChannel(what, work)
    // Only `cycle_end` runs, for modules that keep state of cycles; everything else that they do is recorded.
    if (what !== 'cycle_end') return undefined
    const result = withoutRecording(work)
    // A timer set now never fires, because time does not move.
    return result instanceof Promise
      ? Promise.race([result, this.#parts.settleContexts().then(() => undefined)])
      : result
  }

  end(): void {
    this.over = true
    this.#live?.end()
    this.#parts.onMove()
  }

  goLive(live: RecordingContext): void {
    this.#live = live
    for (const { kind, what, isRead, question, work, resolve, reject } of this.waiting.splice(0)) {
      const again = () => {
        if (kind === 'v') return live.take(what, work, question)
        return isRead ? live.read(what, work) : live.turn(what, work)
      }
      settle({ work: again, resolve, reject })
    }
  }

  #wait(waiting: Omit<Waiting, 'resolve' | 'reject'>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...waiting, resolve, reject })
      this.#parts.onMove()
    })
  }
}

/** Performs a pending call for real. */
export function settle({ work, resolve, reject }: Pick<Waiting, 'work' | 'resolve' | 'reject'>): void {
  try {
    resolve(work())
  } catch (error) {
    reject(error)
  }
}
