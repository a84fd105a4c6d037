import { errorMessage, type PluginHandle } from '#kernel'
import { sleepToRound } from '#lib/poller'
import type { WakingConfig } from './config.ts'
import type { WatchedPath, Watcher } from './contract.ts'

/** Factor by which polling slows down where file events work. */
const SAFEGUARD = 5
/** Minimum interval between two checks of a place, in milliseconds. */
const PAUSE_MS = 50

/** An open watch; `over` is set after an event, or when none can come. */
interface Watch {
  place: WatchedPath
  over: boolean
  close(): void
}

/**
 * Watches folders with file events. A watch stays open until its first event, so that no event is missed between two
 * checks and events do not pile up.
 */
export class FolderWatcher implements Watcher {
  readonly #svc: PluginHandle
  readonly #config: WakingConfig
  readonly #unwatchable = new Set<string>()
  readonly #rests = new Set<AbortController>()

  constructor(svc: PluginHandle, config: WakingConfig) {
    this.#svc = svc
    this.#config = config
  }

  async until<T>(
    places: () => Promise<readonly WatchedPath[]>,
    look: (hasChanged: boolean) => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T> {
    const { clock } = this.#svc
    let rest = new AbortController()
    const stop = () => rest.abort()
    signal.addEventListener('abort', stop)
    let watches: Watch[] = []
    try {
      while (!signal.aborted) {
        const began = clock.monotonic()
        rest = new AbortController()
        this.#rests.add(rest)
        const hasChanged = watches.length === 0 || watches.some(({ over }) => over)
        if (hasChanged) watches = this.#watchPlaces(await places(), watches, () => rest.abort())
        const found = await look(hasChanged)
        if (found !== undefined) return found
        const areAllWatched = watches.every(({ over, place }) => !over && !place.partial)
        const interval = this.#config.wake_poll_interval * 1000 * (areAllWatched ? SAFEGUARD : 1)
        await sleepToRound(clock, interval, rest.signal)
        this.#rests.delete(rest)
        const early = began + PAUSE_MS - clock.monotonic()
        if (early > 0) await clock.sleep(early, signal)
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#rests.delete(rest)
      for (const watch of watches) watch.close()
    }
    throw signal.reason
  }

  /** Makes every waiter check at once; later intervals follow the new configuration. */
  checkNow(): void {
    for (const rest of this.#rests) rest.abort()
  }

  /** Returns a watch for each place: keeps existing ones, and closes those of other places. */
  #watchPlaces(places: readonly WatchedPath[], before: readonly Watch[], onChange: () => void): Watch[] {
    const isSame = (a: WatchedPath, b: WatchedPath) => a.folder === b.folder && a.name === b.name
    const kept = before.filter(({ over, place }) => !over && places.some(each => isSame(each, place)))
    for (const watch of before) if (!kept.includes(watch)) watch.close()
    return places.map(place => kept.find(each => isSame(each.place, place)) ?? this.#watch(place, onChange))
  }

  /** Watches a place; the watch is active when the call returns. */
  #watch(place: WatchedPath, onChange: () => void): Watch {
    const stop = new AbortController()
    const watch: Watch = { place, over: false, close: () => stop.abort() }
    void this.#event(place, stop.signal).then(hasChanged => {
      watch.over = true
      stop.abort()
      if (hasChanged) onChange()
    })
    return watch
  }

  /** Resolves with true at the first event, or with false when the folder cannot be watched. */
  async #event({ folder, name }: WatchedPath, signal: AbortSignal): Promise<boolean> {
    try {
      for await (const { filename } of this.#svc.ports.files.watch(folder, { signal })) {
        if (name === undefined || filename === null || filename === name) return true
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!signal.aborted && code !== 'ENOENT' && code !== 'ENOTDIR' && !this.#unwatchable.has(folder)) {
        this.#unwatchable.add(folder)
        const seconds = this.#config.wake_poll_interval
        this.#svc.log.warn(
          {},
          `${folder} cannot be watched and is only checked every ${seconds} s: ${errorMessage(error)}`,
        )
      }
    }
    return false
  }
}
