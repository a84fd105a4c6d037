import type { Clock } from '#kernel'
import type { Terminal } from './terminal.ts'

/** Who waits longer than this is told that something goes on, in milliseconds; and then as often. */
const TELL_MS = 1_000

/** Does work, and tells people who wait for it how long they do. */
export async function whileWaiting<T>(terminal: Terminal, clock: Clock, work: () => Promise<T>): Promise<T> {
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
