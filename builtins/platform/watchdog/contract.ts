import { token } from '#kernel'

/** Watchdog of a process of the service. */
export interface Watchdog {
  /** Resolves when an uncaught error of the program itself has left it in an unknown state. */
  readonly broken: Promise<unknown>
  /** Resolves with the reason to stop when this process has replaced another one that has now ended. */
  readonly orphaned: Promise<string>
  /** Reports that the process is about to end: if it hangs from now on, it is not restarted. */
  ending(): void
}
export const Watchdog = token<Watchdog>('watchdog')
