import type { Clock } from '#kernel'
import type { Terminal } from './terminal.ts'

/** Delay before the elapsed time is shown, and interval between updates, in milliseconds. */
const TELL_MS = 1_000

/** Runs work, and shows the elapsed time on a terminal. */
export async function withElapsedTime<T>(terminal: Terminal, clock: Clock, work: () => Promise<T>): Promise<T> {
  const began = clock.monotonic()
  let cancel = () => {}
  const showProgress = () => {
    terminal.pass(`working… ${Math.round((clock.monotonic() - began) / 1000)} s (Ctrl-C ends it)`)
    cancel = clock.after(TELL_MS, showProgress)
  }
  cancel = clock.after(TELL_MS, showProgress)
  try {
    return await work()
  } finally {
    cancel()
    terminal.pass('')
  }
}
