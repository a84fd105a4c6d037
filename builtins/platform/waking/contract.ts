import { token } from '#kernel'

/** A folder, or one name in it: nothing else that happens in the folder is of interest then. */
export interface WatchedPath {
  folder: string
  name?: string
  /** There is more than the system tells of. */
  partial?: boolean
}

/**
 * Waits for changes of files: told at once where the system can, found within `daemon.wake_poll_interval` elsewhere. Where it can
 * of all of them, that is only a safeguard, and a few times as long.
 */
export interface Watcher {
  /**
   * Looks again whenever something changed, until there is something to tell.
   * @param places asked anew after each change, since places come and go; one that cannot be watched is only looked at
   * @param look what there is to tell; undefined for nothing. It is told whether the system told of a change, or cannot
   * @throws the signal's reason once it is aborted
   */
  until<T>(
    places: () => Promise<readonly WatchedPath[]>,
    look: (isTold: boolean) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T>
}
export const Watcher = token<Watcher>('watcher')
