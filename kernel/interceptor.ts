/** A function that a plugin registered, as described to the interceptor that wraps it. */
export interface PluginCall<A extends unknown[]> {
  /**
   * Kind of the function. A failure of a handler, a tap or a goal strategy is logged, and the caller gets undefined;
   * any other failure reaches the caller.
   */
  kind: 'handler' | 'tap' | 'goal_strategy' | 'guard' | 'tool' | 'operation' | 'wake_source'
  /** Name within its kind, such as that of the event or the tool. */
  name: string
  /** Parses arguments that were meant for another version by this one's schema. @throws if they do not match it */
  fit?: (...args: A) => A
  /** Whether it returns a stream. It then runs until the stream ends. */
  streams?: boolean
}

/** Returns the wrapped function of a plugin; without an interceptor, the function itself. */
export function intercept<A extends unknown[], R>(
  interceptor: Interceptor | undefined,
  call: PluginCall<A>,
  fn: (...args: A) => R,
): (...args: A) => R | Promise<Awaited<R>> {
  return interceptor?.wrap(call, fn) ?? fn
}

/** Wraps the calls of one version of a plugin: counts, limits and suspends them. */
export interface Interceptor {
  /** Returns a function that calls the plugin's function. */
  wrap<A extends unknown[], R>(call: PluginCall<A>, fn: (...args: A) => R): (...args: A) => R | Promise<Awaited<R>>
  /** Runs code that only the host calls, such as `setup`. */
  run<R>(what: string, fn: () => R): R
  /** Accepts calls, for the first time or again. */
  open(): void
  /** Refuses new calls; running ones continue. */
  close(): void
  /** Delays new calls while the plugin's resources are swapped. @returns the function that lets them continue */
  hold(): () => void
  /** Resolves when all running calls have ended; undefined when none runs. */
  idle(): Promise<void> | undefined
  /** Ends the running calls with an error for their callers. */
  dispose(): void
  /** Returns the numbers of calls and failures. */
  report(): CallReport
}

/** Calls of one version of a plugin, as its interceptor counted them. */
export interface CallReport {
  /** Whether new calls are refused because too many failed. */
  isSuspended: boolean
  calls: number
  failures: number
  /** The place and the message of the last failure. */
  last_failure: string | null
}

/** The boundary of a cycle, through which a recording sees events and answers. Without one, they pass unchanged. */
export interface CycleBoundary {
  /** Emits an event. What its handlers do is not part of the recorded cycle. */
  emit(event: string, work: () => void | Promise<void>): void | Promise<void>
  /** Gets an answer of a plugin file, which is an input of the cycle. @param what the contribution that answers */
  ask<T>(what: string, work: () => Promise<T>): Promise<T>
}
