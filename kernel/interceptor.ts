/** A function of a plugin that the program calls. */
export interface PluginCall<A extends unknown[]> {
  /**
   * What the function is for, which decides what its failure does: that of a handler, a tap or a goal strategy stops nothing
   * else and counts as no answer.
   */
  kind: 'handler' | 'tap' | 'goal_strategy' | 'guard' | 'tool' | 'operation' | 'wake_source'
  /** Its name among those of its kind: the event, the tool. */
  name: string
  /** Checks arguments that were made for another version. @throws when they do not fit this one */
  fit?: (...args: A) => A
  /** Whether it answers with a stream, and so runs until that has ended. */
  streams?: boolean
}

/** Returns the function with which the program calls one of a plugin; the same where nothing stands between them. */
export function intercept<A extends unknown[], R>(
  interceptor: Interceptor | undefined,
  call: PluginCall<A>,
  fn: (...args: A) => R,
): (...args: A) => R | Promise<Awaited<R>> {
  return interceptor?.wrap(call, fn) ?? fn
}

/** Stands between the program and the code of one version of a plugin. */
export interface Interceptor {
  /** Returns a function with which the program calls the plugin's. */
  wrap<A extends unknown[], R>(call: PluginCall<A>, fn: (...args: A) => R): (...args: A) => R | Promise<Awaited<R>>
  /** Runs code that the host alone calls, such as `setup`. */
  run<R>(what: string, fn: () => R): R
  /** Takes calls, for the first time or again. */
  open(): void
  /** Takes no new calls; those that run go on. */
  close(): void
  /** Holds calls back until the result is called: while the plugin's resources change hands. */
  hold(): () => void
  /** Resolves when no call runs any more; undefined when none runs now. */
  idle(): Promise<void> | undefined
  /** Ends the calls that still run, for their callers. */
  dispose(): void
  /** Returns how its calls went. */
  report(): CallReport
}

export interface CallReport {
  isSuspended: boolean
  calls: number
  failures: number
  /** The place and the message of the last failure. */
  last_failure: string | null
}

/** The boundary of a cycle, where what records it listens. Without one, events are emitted and answers taken as they are. */
export interface CycleBoundary {
  /** Emits an event, which changes nothing for the cycle itself. */
  emit(event: string, work: () => void | Promise<void>): void | Promise<void>
  /** Asks for an answer of a plugin's file, which comes from outside the cycle. @param what the contribution that answers */
  ask<T>(what: string, work: () => Promise<T>): Promise<T>
}
