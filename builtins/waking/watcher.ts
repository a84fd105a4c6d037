import { type PluginHandle, sentenceOf } from '#kernel'
import type { WakingConfig } from './config.ts'
import type { Watched, Watcher } from './contract.ts'

/** What changes all the time is looked at no more often than this, in milliseconds. */
const PAUSE_MS = 50

/**
 * Watches folders by the system's own events. Each round opens its watches, looks, and closes them: nothing is missed between
 * two rounds, and no events pile up while nobody looks.
 */
export class FolderWatcher implements Watcher {
  readonly #svc: PluginHandle
  readonly #config: WakingConfig
  readonly #unwatchable = new Set<string>()
  readonly #rounds = new Set<AbortController>()

  constructor(svc: PluginHandle, config: WakingConfig) {
    this.#svc = svc
    this.#config = config
  }

  async until<T>(
    places: () => Promise<readonly Watched[]>,
    look: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T> {
    const { clock } = this.#svc
    while (!signal.aborted) {
      const began = clock.monotonic()
      const round = new AbortController()
      const stop = () => round.abort()
      signal.addEventListener('abort', stop, { once: true })
      this.#rounds.add(round)
      try {
        const events = (await places()).map(place => this.#event(place, round.signal))
        const found = await look()
        if (found !== undefined) return found
        await Promise.race([...events, clock.sleep(this.#config.wake_poll_interval * 1000, round.signal)])
      } finally {
        signal.removeEventListener('abort', stop)
        this.#rounds.delete(round)
        round.abort()
      }
      const early = began + PAUSE_MS - clock.monotonic()
      if (early > 0) await clock.sleep(early, signal)
    }
    throw signal.reason
  }

  /** Everybody looks once, now: from then on they rest as long as the configuration says by then. */
  hurry(): void {
    for (const round of this.#rounds) round.abort()
  }

  /** Resolves at the first event; never, where the system tells nothing. The watch stands when the call returns. */
  async #event({ folder, name }: Watched, signal: AbortSignal): Promise<void> {
    try {
      for await (const { filename } of this.#svc.ports.files.watch(folder, { signal })) {
        if (name === undefined || filename === null || filename === name) return
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!signal.aborted && code !== 'ENOENT' && code !== 'ENOTDIR' && !this.#unwatchable.has(folder)) {
        this.#unwatchable.add(folder)
        const seconds = this.#config.wake_poll_interval
        this.#svc.log.warn({}, `${folder} is looked at every ${seconds} s only: ${sentenceOf(error)}`)
      }
    }
    await new Promise(() => {})
  }
}
