import type { Clock } from '#kernel'

/** Exit code that shells report for a program ended by Ctrl-C: 128 plus the number of SIGINT. */
export const INTERRUPTED = 130
/** Time for interrupted work to end in order, in milliseconds. A second Ctrl-C ends it at once. */
const GRACE_MS = 2_000

/** Returns a signal that Ctrl-C or SIGTERM aborts, for work that ends in order without a time limit. */
export function endSignal(): AbortSignal {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  return stop.signal
}

/**
 * Runs work that is aborted by Ctrl-C, or when the reader of standard output closes it.
 * @returns the exit code: `INTERRUPTED` after Ctrl-C, 0 without a reader, else that of the work
 */
export async function interruptible(clock: Clock, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController()
  let late = () => {}
  const over = new Promise<number>(resolve => {
    late = () => clock.after(GRACE_MS, () => resolve(why))
  })
  let why = INTERRUPTED
  const interrupt = () => {
    stop.abort()
    late()
  }
  const unread = () => {
    why = 0
    interrupt()
  }
  process.once('SIGINT', interrupt)
  process.stdout.once('error', unread)
  try {
    const exit = await Promise.race([work(stop.signal), over])
    return stop.signal.aborted ? why : exit
  } catch (error) {
    if (stop.signal.aborted) return why
    throw error
  } finally {
    process.off('SIGINT', interrupt)
    process.stdout.off('error', unread)
  }
}
