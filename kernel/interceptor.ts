/** A function of a plugin that the program calls. */
export interface PluginCall<A extends unknown[]> {
  /**
   * Kind of the function, which decides what a failure does: one of a handler, a tap or a goal strategy stops nothing else
   * and counts as no answer.
   */
  kind: 'handler' | 'tap' | 'goal_strategy' | 'guard' | 'tool' | 'operation' | 'wake_source'
  /** Name within its kind, such as that of the event or the tool. */
  name: string
  /** Checks arguments that were parsed by another version. @throws if they do not match this one */
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
  /** Delays new calls until the returned function is called, while the plugin's resources are swapped. */
  hold(): () => void
  /** Resolves when all running calls have ended; undefined when none runs. */
  idle(): Promise<void> | undefined
  /** Rejects the running calls for their callers. */
  dispose(): void
  /** Returns the numbers of calls and failures. */
  report(): CallReport
}

export interface CallReport {
  isSuspended: boolean
  calls: number
  failures: number
  /** The place and the message of the last failure. */
  last_failure: string | null
}

/** The boundary of a cycle, through which a recording sees events and answers. Without one, they pass unchanged. */
export interface CycleBoundary {
  /** Emits an event. Handlers do not change the cycle. */
  emit(event: string, work: () => void | Promise<void>): void | Promise<void>
  /** Gets an answer of a plugin file, which is an input of the cycle. @param what the contribution that answers */
  ask<T>(what: string, work: () => Promise<T>): Promise<T>
}
