import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { type Clock, type CycleBoundary, type Ports, type Token, token } from '#kernel'

/** What code alone does not decide and a recording keeps: the wall clock, the clock that never jumps, a new id. */
export type NondeterministicValue = 'ms' | 'monotonic' | 'id'

/** What was asked for an answer: strings and JSON, which must not change afterwards. */
export type RecordedQuestion = readonly (string | object)[]

/**
 * What records or repeats one cycle or task: it is asked for everything that code alone does not decide. Its writes are turns
 * in the one order of all, and a recording keeps between which of them it reads.
 */
export interface RecordingContext {
  draw<T extends number | string>(kind: NondeterministicValue, real: () => T): T
  /** Takes an input from outside, such as a model's answer. @param asked what was asked, to be compared */
  take<T>(what: string, work: () => T | Promise<T>, asked?: () => RecordedQuestion): T | Promise<T>
  /** Writes what it shares with others. `work` runs at once when it is its turn. */
  turn<T>(what: string, work: () => T): T | Promise<T>
  /** Reads what it shares with others. `work` runs at once when they have come as far as when it was recorded. */
  read<T>(what: string, work: () => T): T | Promise<T>
  /** Registers the function of a timer. @returns what to call when the timer fires */
  timer(fn: () => void): () => void
  /** Runs a side channel, which changes nothing for the cycle itself. */
  sideChannel<T>(what: string, work: () => T | Promise<T>): T | undefined | Promise<T | undefined>
  /** Ends the recording; what runs on is not recorded. */
  end(): void
  readonly over: boolean
}

/** A statement of a transaction, as it went to the database. */
export interface WrittenStatement {
  sql: string
  params: readonly unknown[]
}

/** Maximum listeners for the end of a cycle. A turn has up to 32 calls at once; twice as many are a leak. */
const MOST_LISTENERS = 64

/** Ends a cycle before its time. `onAbort` is called first, at a fraction of what a listener costs. */
export class CycleEnd extends AbortController {
  onAbort: ((reason: unknown) => void) | undefined

  constructor() {
    super()
    setMaxListeners(MOST_LISTENERS, this.signal)
  }

  override abort(reason: unknown): void {
    if (!this.signal.aborted) this.onAbort?.(reason)
    super.abort(reason)
  }
}

/** Identity under which code runs: an agent's lease, or a one-shot task. */
export type ExecutionIdentity = {
  readonly id: string
  readonly owner: string
  readonly epoch: number
  readonly cycle_num: number
} & ({ readonly kind: 'agent' | 'sys' } | { readonly kind: 'task'; readonly task_id: string })

/** Records what happens in this process, or repeats it. */
export interface RecordingBackend {
  /** Begins a cycle or a task; undefined leaves it unrecorded. */
  begin(right: ExecutionIdentity, end: CycleEnd): RecordingContext | undefined
  /** A transaction outside all cycles and tasks was committed. */
  recordWrites(statements: readonly WrittenStatement[]): void
  /** Whether writes outside cycles and tasks are skipped, because they are part of what is repeated. */
  readonly pretends: boolean
  /** Whether it runs in a project of its own, which no other process has open, whatever its database says. */
  readonly repeats: boolean
}
export const ActiveRecording: Token<RecordingBackend> = token('active-recording')

/** The context of the code that runs now. */
const contexts = new AsyncLocalStorage<RecordingContext | undefined>()

let running = 0

/** Runs `work` in a context until its promise settles, and ends the context. */
export async function runInContext<T>(who: RecordingContext, work: () => Promise<T>): Promise<T> {
  running++
  try {
    return await contexts.run(who, work)
  } finally {
    who.end()
    // While it is enabled, all promises of the process cost more.
    if (--running === 0) contexts.disable()
  }
}

/** Returns the context of the code that runs now; undefined where nothing is recorded or repeated. */
export function recordingContext(): RecordingContext | undefined {
  const who = contexts.getStore()
  return who?.over ? undefined : who
}

/** Begins `work` in a context that runs already; undefined leaves the current one. */
export function inContext<T>(who: RecordingContext | undefined, work: () => T): T {
  return who === contexts.getStore() ? work() : contexts.run(who, work)
}

/** Returns what `work` gives, or gave when this was recorded: JSON. @param asked what was asked, to be compared */
export function recordInput<T>(what: string, work: () => Promise<T>, asked?: () => RecordedQuestion): Promise<T>
export function recordInput<T>(what: string, work: () => T | Promise<T>): T | Promise<T>
export function recordInput<T>(
  what: string,
  work: () => T | Promise<T>,
  asked?: () => RecordedQuestion,
): T | Promise<T> {
  const who = recordingContext()
  return who ? who.take(what, work, asked) : work()
}

/** Runs `work` unrecorded. */
export function withoutRecording<T>(work: () => T): T {
  return inContext(undefined, work)
}

/** Emits events beside the recording, and records the answers of plugins' files. */
export const recordingBoundary: CycleBoundary = {
  emit(event, work) {
    const context = recordingContext()
    return context ? context.sideChannel(event, work) : work()
  },
  ask: (what, work) => recordInput(what, work),
}

/** Returns ports whose clock and ids are recorded, or as they were recorded, in a context. */
export function recordedPorts(ports: Ports): Ports {
  const { clock, ids } = ports
  const [wall, monotonic] = [() => clock.ms(), () => clock.monotonic()]
  const ms = () => recordingContext()?.draw('ms', wall) ?? clock.ms()
  const drawn: Clock = {
    ms,
    now: () => (recordingContext() ? new Date(ms()) : clock.now()),
    monotonic: () => recordingContext()?.draw('monotonic', monotonic) ?? clock.monotonic(),
    after: (delay, fn) => {
      const who = recordingContext()
      if (!who) return clock.after(delay, fn)
      const over = who.timer(fn)
      return clock.after(delay, () => inContext(who, over))
    },
    sleep: (delay, signal) => clock.sleep(delay, signal),
    yield: () => clock.yield(),
    ...(clock.held ? { held: clock.held } : {}),
  }
  const make: Ports['ids']['make'] = (prefix, digits) =>
    recordingContext()?.draw('id', () => ids.make(prefix, digits)) ?? ids.make(prefix, digits)
  return { ...ports, clock: drawn, ids: { make } }
}
