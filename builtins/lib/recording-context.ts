import { AsyncLocalStorage } from 'node:async_hooks'
import { setMaxListeners } from 'node:events'
import { type Clock, type CycleBoundary, type Ports, type Token, token } from '#kernel'

/** Kinds of nondeterministic values that a recording keeps: the wall clock, the monotonic clock, a new id. */
export type NondeterministicValue = 'ms' | 'monotonic' | 'id'

/** The question for a recorded answer: strings and JSON, which must not change afterwards. */
export type RecordedQuestion = readonly (string | object)[]

/**
 * Records or replays one cycle or task, and supplies all its nondeterministic values. Its writes have a place in the
 * order of all writes, and a recording keeps the position of each read in this order.
 */
export interface RecordingContext {
  /** Records `real()`, or returns the recorded value. */
  readValue<T extends number | string>(kind: NondeterministicValue, real: () => T): T
  /**
   * Takes an input from outside, such as a model's answer.
   * @param question returns the question, which is compared at a replay
   */
  take<T>(what: string, work: () => T | Promise<T>, question?: () => RecordedQuestion): T | Promise<T>
  /** Writes shared state. `work` runs at once when it is next in the order of writes. */
  turn<T>(what: string, work: () => T): T | Promise<T>
  /** Reads shared state. `work` runs at once when the others have made the same writes as in the recording. */
  read<T>(what: string, work: () => T): T | Promise<T>
  /** Registers the function of a timer. @returns what to call when the timer fires */
  timer(fn: () => void): () => void
  /** Runs a side channel, which does not affect the cycle itself. */
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

/** Maximum number of abort listeners of a cycle. A turn has up to 32 calls at once; twice as many indicate a leak. */
const MOST_LISTENERS = 64

/** Ends a cycle early. `onAbort` is called first, and costs only a fraction of an event listener. */
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

/** Records or replays the work of this process. */
export interface RecordingBackend {
  /** Starts to record a cycle or a task; undefined leaves it unrecorded. */
  begin(identity: ExecutionIdentity, end: CycleEnd): RecordingContext | undefined
  /** Records a committed transaction outside all cycles and tasks. */
  recordWrites(statements: readonly WrittenStatement[]): void
  /** Whether writes outside cycles and tasks are skipped, because the replay contains them. */
  readonly isReplaying: boolean
  /** Whether this is a replay in a separate project, which no other process has open, whatever its database says. */
  readonly isReplayProject: boolean
}
export const ActiveRecording: Token<RecordingBackend> = token('active-recording')

/** Context of the running code. */
const contexts = new AsyncLocalStorage<RecordingContext | undefined>()

let running = 0

/** Runs `work` in a context until its promise settles, and ends the context. */
export async function runInContext<T>(who: RecordingContext, work: () => Promise<T>): Promise<T> {
  running++
  try {
    return await contexts.run(who, work)
  } finally {
    who.end()
    // While the storage is enabled, every promise of the process costs more.
    if (--running === 0) contexts.disable()
  }
}

/** Returns the context of the running code; undefined where nothing is recorded or replayed. */
export function recordingContext(): RecordingContext | undefined {
  const who = contexts.getStore()
  return who?.over ? undefined : who
}

/** Starts `work` in an existing context; undefined leaves the current one. */
export function inContext<T>(who: RecordingContext | undefined, work: () => T): T {
  return who === contexts.getStore() ? work() : contexts.run(who, work)
}

/**
 * Returns the result of `work`, or its recorded result in a replay; it must be JSON.
 * @param question returns the question, which is compared at a replay
 */
export function recordInput<T>(what: string, work: () => Promise<T>, question?: () => RecordedQuestion): Promise<T>
export function recordInput<T>(what: string, work: () => T | Promise<T>): T | Promise<T>
export function recordInput<T>(
  what: string,
  work: () => T | Promise<T>,
  question?: () => RecordedQuestion,
): T | Promise<T> {
  const who = recordingContext()
  return who ? who.take(what, work, question) : work()
}

/** Runs `work` without recording. */
export function withoutRecording<T>(work: () => T): T {
  return inContext(undefined, work)
}

/** Emits events as side channels of the recording, and records the answers of plugin files. */
export const recordingBoundary: CycleBoundary = {
  emit(event, work) {
    const context = recordingContext()
    return context ? context.sideChannel(event, work) : work()
  },
  ask: (what, work) => recordInput(what, work),
}

/** Returns ports whose clock and ids are recorded or replayed in a context. */
export function recordedPorts(ports: Ports): Ports {
  const { clock, ids } = ports
  const [wall, monotonic] = [() => clock.ms(), () => clock.monotonic()]
  const ms = () => recordingContext()?.readValue('ms', wall) ?? clock.ms()
  const recorded: Clock = {
    ms,
    now: () => (recordingContext() ? new Date(ms()) : clock.now()),
    monotonic: () => recordingContext()?.readValue('monotonic', monotonic) ?? clock.monotonic(),
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
    recordingContext()?.readValue('id', () => ids.make(prefix, digits)) ?? ids.make(prefix, digits)
  return { ...ports, clock: recorded, ids: { make } }
}
