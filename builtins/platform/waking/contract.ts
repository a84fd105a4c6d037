import { token } from '#kernel'

/** A folder to watch; with a name, only changes of that entry count. */
export interface WatchedPath {
  folder: string
  name?: string
  /** Whether file events miss some changes, so that the path must also be polled. */
  partial?: boolean
}

/**
 * Waits for file changes: at once by file events, or within `daemon.wake_poll_interval` where these are missing. If all
 * paths have file events, polling is only a safeguard, at a multiple of the interval.
 */
export interface Watcher {
  /**
   * Calls `look` after each change until it returns a result.
   * @param places called again after each change, since places come and go; one that cannot be watched is polled
   * @param look returns the result; undefined for none. Its argument is whether a file event came, or cannot come
   * @throws the signal's reason once it is aborted
   */
  until<T>(
    places: () => Promise<readonly WatchedPath[]>,
    look: (hasChanged: boolean) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T>
}
export const Watcher = token<Watcher>('watcher')
