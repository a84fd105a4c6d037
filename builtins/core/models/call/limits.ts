import type { Clock } from '#kernel'
import { Countdown } from '#lib/countdown'

/** Abort reason of leftover work; a shared string, because a new Error would capture a stack. */
const OVER = 'the work is over'

/** A time limit that is also an abort signal for its work. */
export interface Limit {
  readonly signal: AbortSignal
  /** Restarts the time limit. */
  restart(ms: number): void
  /** Stops the time until the returned function is called. */
  pause(): () => void
  /** Ends the work: frees timer and listener, and aborts leftover work, if any. */
  end(left?: boolean): void
}

/**
 * Returns a time limit whose signal is aborted after `ms` with `reason()`, or with the outer signal's reason when that
 * is aborted.
 */
export function limit(clock: Clock, outer: AbortSignal, ms: number, reason: () => Error): Limit {
  const controller = new AbortController()
  const follow = () => controller.abort(outer.reason)
  const countdown = new Countdown(clock, ms, () => controller.abort(reason()))
  outer.addEventListener('abort', follow, { once: true })
  if (outer.aborted) follow()
  return {
    signal: controller.signal,
    restart: anew => countdown.restart(anew),
    pause: () => countdown.pause(),
    end(left = true) {
      countdown.cancel()
      outer.removeEventListener('abort', follow)
      if (left) controller.abort(OVER)
    },
  }
}

/** An answer in pieces; with `each`, all are pushed without a request for each. */
export interface Pieces<T, End = unknown> extends AsyncIterator<T, End> {
  /** Calls `receive` with each piece, to the end. @throws what `next` would */
  each?(receive: (piece: T) => void): Promise<void>
}

/**
 * Forwards each piece, to the end; rejects with the signal's reason when it is aborted, and forwards nothing more. It
 * uses one abort listener and no helper promises: a pulled piece costs two promises, a pushed one none.
 */
export function eachOrAbort<T>(signal: AbortSignal, pieces: Pieces<T>, receive: (piece: T) => void): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    let over = false
    const end = (settle: () => void) => {
      over = true
      signal.removeEventListener('abort', abort)
      settle()
    }
    const abort = () => end(() => reject(signal.reason))
    const fail = (error: unknown) => end(() => reject(error))
    const onPiece = (piece: T) => {
      if (over) return
      try {
        receive(piece)
      } catch (error) {
        fail(error)
      }
    }
    const came = (next: IteratorResult<T>) => {
      if (next.done) return end(resolve)
      onPiece(next.value)
      if (!over) go()
    }
    const go = () => {
      try {
        if (pieces.each) pieces.each(onPiece).then(() => end(resolve), fail)
        else pieces.next().then(came, fail)
      } catch (error) {
        fail(error)
      }
    }
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else go()
  })
}
