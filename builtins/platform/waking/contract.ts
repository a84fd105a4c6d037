import { token } from '#kernel'

/** A folder, or one name in it: nothing else that happens in the folder is of interest then. */
export interface WatchedPath {
  folder: string
  name?: string
  /** Events of the system do not report all changes. */
  partial?: boolean
}

/**
 * Waits for changes of files: noticed at once by file events, or within `daemon.wake_poll_interval` elsewhere. With
 * file
 * events for all of them, polling is only a safeguard, at a few times the interval.
 */
export interface Watcher {
  /**
   * Looks again whenever something changed, until there is a result.
   * @param places asked again after each change, since places come and go; one that cannot be watched is polled
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
