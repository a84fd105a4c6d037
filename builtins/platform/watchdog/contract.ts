import { token } from '#kernel'

/** The watch over this process, where it is the service's own. */
export interface Watchdog {
  /** Settles when an uncaught error of the program itself has left it in an unknown state. */
  readonly broken: Promise<unknown>
  /** Resolves with the reason to stop when this process replaced another, and that one has ended. */
  readonly orphaned: Promise<string>
  /** Says that the process is to end: if it hangs from now on, no other takes its place. */
  ending(): void
}
export const Watchdog = token<Watchdog>('watchdog')
