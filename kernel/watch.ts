import { type FSWatcher, watch } from 'chokidar'
import { sentenceOf } from './errors.ts'
import type { Host } from './host.ts'
import type { Log } from './log.ts'
import type { Clock } from './ports.ts'

/** Plugins are looked at every so many beats. */
export const BEATS = 10
/** A file that changed less than this ago may be half-written, in milliseconds. */
const SETTLE_MS = 200

export interface PluginWatchParts {
  host: Host
  folders: readonly string[]
  clock: Clock
  log: Log
  /** Apply what changed as soon as it has settled. */
  dev: boolean
  /** Seconds until the next round; for the announcement. */
  eta: () => number
}

/** Which plugins changed on disk since last asked. Chokidar tells at once; what it misses is found at the next round all the same. */
export class PluginWatch {
  readonly #parts: PluginWatchParts
  #watcher: FSWatcher | undefined
  #cancel: (() => void) | undefined
  #changedAt = Number.NEGATIVE_INFINITY
  #due = false

  constructor(parts: PluginWatchParts) {
    this.#parts = parts
  }

  start(): void {
    const { folders, log } = this.#parts
    this.#watcher = watch([...folders], {
      ignoreInitial: true,
      ignored: path => /(^|\/)(node_modules|\.git)(\/|$)|~$|\.sw[a-z]$/.test(path),
    })
    this.#watcher.on('all', event => {
      if (event !== 'addDir') this.#changed()
    })
    this.#watcher.on('error', error =>
      log.warn({}, `plugins are looked at every ${BEATS} beats only: ${sentenceOf(error)}`),
    )
  }

  /** Counts a beat, and applies what changed when it is time: every tenth, or the first after it on which all has settled. */
  async beat(count: number): Promise<void> {
    if (count % BEATS === 0) this.#due = true
    if (!this.#due || this.#parts.clock.monotonic() - this.#changedAt < SETTLE_MS) return
    this.#due = false
    await this.#parts.host.apply()
  }

  async close(): Promise<void> {
    this.#cancel?.()
    await this.#watcher?.close()
  }

  #changed(): void {
    const { clock, dev, host, log } = this.#parts
    this.#changedAt = clock.monotonic()
    this.#cancel?.()
    this.#cancel = clock.after(SETTLE_MS, () => {
      const told = dev ? host.apply() : this.#announce()
      told.catch((error: unknown) => log.error({}, sentenceOf(error)))
    })
  }

  async #announce(): Promise<void> {
    const { host, log, eta } = this.#parts
    for (const plugin of await host.changed()) {
      log.info({ plugin }, `changed; live in about ${Math.ceil(eta())} s, or now with: svc plugins reload ${plugin}`)
    }
  }
}
