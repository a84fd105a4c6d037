import { setMaxListeners } from 'node:events'
import { promiseHooks } from 'node:v8'
import type { Lease } from './lease.ts'
import type { Clock, Ports } from './ports.ts'
import { type Token, token } from './services.ts'

/** What is drawn from the machine: the wall clock, the clock that never jumps, a new id. */
export type Draw = 'ms' | 'monotonic' | 'id'

/** What an answer is an answer to: texts, and what JSON makes texts of, which nobody changes any more. */
export type Asked = readonly (string | object)[]

/**
 * One cycle or task, as whoever records it or repeats it sees it: all that it is given and that code alone does not decide.
 * Its own writes are turns in the one order of all, and between which of them it reads is known.
 */
export interface Actor {
  draw<T extends number | string>(kind: Draw, real: () => T): T
  /** What comes from outside it, such as a model's answer. @param asked what it is an answer to, to be compared */
  take<T>(what: string, work: () => T | Promise<T>, asked?: () => Asked): T | Promise<T>
  /** Writes what it shares with others. `work` is done at once, when it is its turn. */
  turn<T>(what: string, work: () => T): T | Promise<T>
  /** Reads what it shares with others, as they have left it by now. `work` is done at once, when that is so. */
  read<T>(what: string, work: () => T): T | Promise<T>
  /** What it set a timer for. @returns what is to be done when the timer is over */
  timer(fn: () => void): () => void
  /** Tells others something that changes nothing for itself. */
  aside<T>(what: string, work: () => T | Promise<T>): T | undefined | Promise<T | undefined>
  /** What it does from now on, it does as nobody in particular. */
  end(): void
  readonly over: boolean
}

/** A statement of a transaction, as it went to the database. */
export interface Noted {
  sql: string
  params: readonly unknown[]
}

/** A turn has up to 32 calls at once, each of which listens for the end of its cycle; more than twice as many are a leak. */
const MOST_LISTENERS = 64

/** Ends a cycle before its time; whoever records it is told first, at a fraction of what a listener costs. */
export class CycleEnd extends AbortController {
  told: ((reason: unknown) => void) | undefined

  constructor() {
    super()
    setMaxListeners(MOST_LISTENERS, this.signal)
  }

  override abort(reason: unknown): void {
    if (!this.signal.aborted) this.told?.(reason)
    super.abort(reason)
  }
}

/** By what right somebody acts; `task_id` where it is a one-shot task's and none of the heartbeat. */
export type Right = Omit<Lease, 'kind'> & ({ kind: Lease['kind'] } | { kind: 'task'; task_id: string })

/** Records what happens in this process, or repeats it. */
export interface Tape {
  /** A cycle or a task begins; undefined leaves it alone. */
  begin(right: Right, end: CycleEnd): Actor | undefined
  /** A transaction that was no actor's own was committed. */
  wrote(statements: readonly Noted[]): void
  /** What others than actors write is only pretended: it is part of what is repeated. */
  readonly pretends: boolean
  /** It is in a project of its own, which nobody else has open, whatever its database says. */
  readonly repeats: boolean
}
export const TapeToken: Token<Tape> = token('tape')

/** Who is at work in this very turn. */
let acting: Actor | undefined
const ACTING = Symbol('acting')
type Followed = Promise<unknown> & { [ACTING]?: Actor | undefined }

/** The same functions each time: what V8 has learned of them is not for one cycle only. */
const MARKS = {
  // What waits for another has a parent; what is only promised leads on to nothing by itself, and is half of all.
  init(promise: Followed, parent: Promise<unknown> | undefined) {
    if (acting !== undefined && parent !== undefined) promise[ACTING] = acting
  },
  before(promise: Followed) {
    acting = promise[ACTING]
  },
  after() {
    acting = undefined
  },
}

let followed = 0
let unfollow: (() => void) | undefined

/**
 * As long as somebody acts, every promise remembers in whose name it was made, and what waited for it goes on in that name.
 * AsyncLocalStorage does the same, and in Node 20 costs all promises of the process six times as much.
 */
function follow(): void {
  if (followed++ === 0) unfollow = promiseHooks.createHook(MARKS) as () => void
}

/** Does all of `work` in somebody's name, up to the end of what it promises. */
export async function act<T>(who: Actor, work: () => Promise<T>): Promise<T> {
  follow()
  try {
    return await asActor(who, work)
  } finally {
    who.end()
    if (--followed === 0) unfollow?.()
  }
}

/** Who is at work here; undefined where nobody is recorded or repeated. */
export function actor(): Actor | undefined {
  return acting?.over ? undefined : acting
}

/** Begins `work` in somebody's name, who acts already. */
export function asActor<T>(who: Actor | undefined, work: () => T): T {
  const before = acting
  acting = who
  try {
    return work()
  } finally {
    acting = before
  }
}

/** What `work` gives, or gave when this was recorded. It must be what JSON can hold. @param asked what it is an answer to */
export function taken<T>(what: string, work: () => Promise<T>, asked?: () => Asked): Promise<T>
export function taken<T>(what: string, work: () => T | Promise<T>): T | Promise<T>
export function taken<T>(what: string, work: () => T | Promise<T>, asked?: () => Asked): T | Promise<T> {
  const who = actor()
  return who ? who.take(what, work, asked) : work()
}

/** Does something in nobody's name. */
export function outside<T>(work: () => T): T {
  return asActor(undefined, work)
}

/** The ports as actors see them: what they draw is recorded, or as it was recorded. */
export function drawnPorts(ports: Ports): Ports {
  const { clock, ids } = ports
  const draw = <T extends number | string>(kind: Draw, real: () => T): T => {
    const who = actor()
    return who ? who.draw(kind, real) : real()
  }
  const [wall, monotonic] = [() => clock.ms(), () => clock.monotonic()]
  const ms = () => draw('ms', wall)
  const drawn: Clock = {
    ms,
    now: () => (actor() ? new Date(ms()) : clock.now()),
    monotonic: () => draw('monotonic', monotonic),
    after: (delay, fn) => {
      const who = actor()
      if (!who) return clock.after(delay, fn)
      const over = who.timer(fn)
      return clock.after(delay, () => asActor(who, over))
    },
    sleep: (delay, signal) => clock.sleep(delay, signal),
    yield: () => clock.yield(),
    ...(clock.held ? { held: clock.held } : {}),
  }
  return { ...ports, clock: drawn, ids: { make: (prefix, digits) => draw('id', () => ids.make(prefix, digits)) } }
}
