import type { Clock } from '#kernel'

/** Why what is left of a work is aborted: one for all, because a reason made anew has a stack. */
const OVER = 'the work is over'

/** A limit in time that is also an abort signal for the work under it. */
export interface Limit {
  readonly signal: AbortSignal
  /** Starts the time anew. */
  restart(ms: number): void
  /** The work is over: frees timer and listener, and aborts what is left of the work. */
  end(): void
}

/** A signal that is aborted after `ms` with `reason()`, or with the outer signal's reason when that is aborted. */
export function limit(clock: Clock, outer: AbortSignal, ms: number, reason: () => Error): Limit {
  const controller = new AbortController()
  const follow = () => controller.abort(outer.reason)
  const expire = () => controller.abort(reason())
  let cancel = clock.after(ms, expire)
  outer.addEventListener('abort', follow, { once: true })
  if (outer.aborted) follow()
  return {
    signal: controller.signal,
    restart(anew) {
      cancel()
      cancel = clock.after(anew, expire)
    },
    end() {
      cancel()
      outer.removeEventListener('abort', follow)
      controller.abort(OVER)
    },
  }
}

/** Waits for `work`, or rejects with the signal's reason as soon as it is aborted. */
export function orAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
