import { AsyncLocalStorage } from 'node:async_hooks'
import type { Lease } from './cycle.ts'
import type { Clock, Ports } from './ports.ts'
import { type Token, token } from './services.ts'

/** What is drawn from the machine: the wall clock, the clock that never jumps, a new id. */
export type Draw = 'ms' | 'monotonic' | 'id'

/**
 * One cycle or task, as whoever records it or repeats it sees it: all that it is given and that code alone does not decide.
 * Its own writes and reads are turns in the one order of all.
 */
export interface Actor {
  draw<T extends number | string>(kind: Draw, real: () => T): T
  /** What comes from outside it, such as a model's answer. @param asked the texts that it is an answer to, to be compared */
  take<T>(what: string, work: () => Promise<T>, asked?: () => readonly string[]): Promise<T>
  /** Reads or writes what it shares with others. `work` is done at once, when it is its turn. */
  turn<T>(what: string, work: () => T): T | Promise<T>
  /** Tells others something that changes nothing for itself. */
  aside(what: string, work: () => Promise<unknown>): Promise<unknown>
  /** What it does from now on, it does as nobody in particular. */
  end(): void
  readonly over: boolean
}

/** A statement of a transaction, as it went to the database. */
export interface Noted {
  sql: string
  params: readonly unknown[]
}

/** Records what happens in this process, or repeats it. */
export interface Tape {
  /** A cycle begins; undefined leaves it alone. */
  begin(lease: Lease, abort: AbortController): Actor | undefined
  /** A transaction that was no actor's own was committed. */
  wrote(statements: readonly Noted[]): void
  /** What others than actors write is only pretended: it is part of what is repeated. */
  readonly pretends: boolean
}
export const TapeToken: Token<Tape> = token('tape')

const acting = new AsyncLocalStorage<Actor | undefined>()

/** Who is at work here; undefined where nobody is recorded or repeated. */
export function actor(): Actor | undefined {
  const who = acting.getStore()
  return who?.over ? undefined : who
}

export function asActor<T>(who: Actor | undefined, work: () => T): T {
  return who === undefined && actor() === undefined ? work() : acting.run(who, work)
}

/** What `work` gives, or gave when this was recorded. It must be what JSON can hold. @param asked the texts that it is an answer to */
export function taken<T>(what: string, work: () => Promise<T>, asked?: () => readonly string[]): Promise<T> {
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
  const ms = () => draw('ms', () => clock.ms())
  const drawn: Clock = {
    ms,
    now: () => (actor() ? new Date(ms()) : clock.now()),
    monotonic: () => draw('monotonic', () => clock.monotonic()),
    after: (delay, fn) => clock.after(delay, fn),
    sleep: (delay, signal) => clock.sleep(delay, signal),
    yield: () => clock.yield(),
    ...(clock.held ? { held: clock.held } : {}),
  }
  return { ...ports, clock: drawn, ids: { make: (prefix, digits) => draw('id', () => ids.make(prefix, digits)) } }
}
