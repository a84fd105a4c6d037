import { basename, dirname } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { sentenceOf } from './errors.ts'
import type { Host } from './host.ts'
import { SETTLE_MS } from './loader.ts'
import type { Log } from './log.ts'
import type { Clock, Ports } from './ports.ts'

/** Plugins are looked at every so many beats. */
const BEATS = 10

export interface PluginWatchParts {
  host: Host
  folders: readonly string[]
  files: Ports['files']
  clock: Clock
  log: Log
  /** Apply what changed as soon as it has settled. */
  dev: boolean
  /** Seconds from beat to beat; for the announcement. */
  heartbeat: () => number
}

/** Which plugins changed on disk since last asked. Chokidar tells at once; what it misses is found at the next round all the same. */
export class PluginWatch {
  readonly #parts: PluginWatchParts
  #watcher: FSWatcher | undefined
  #cancel: (() => void) | undefined
  #closed = false
  #beats = 0
  #applying = false
  #again = false

  constructor(parts: PluginWatchParts) {
    this.#parts = parts
  }

  /** Instead of a folder that is missing chokidar watches the one above, and reads it anew at each change: there the database lies. */
  async start(): Promise<void> {
    const { folders, files, log } = this.#parts
    const besideDatabase = folders.filter(folder => basename(dirname(folder)) === '.svc')
    await Promise.all(besideDatabase.map(folder => files.mkdir(folder, { mode: 0o700 }).catch(() => {})))
    if (this.#closed) return
    this.#watcher = watch([...folders], {
      ignoreInitial: true,
      ignored: path => /(^|\/)(node_modules|\.git)(\/|$)|~$|\.sw[a-z]$/.test(path),
    })
    this.#watcher.on('all', event => {
      if (event !== 'addDir') this.#changed()
    })
    // What came before it was watching.
    this.#watcher.on('ready', () => void this.#look())
    this.#watcher.on('error', error =>
      log.warn({}, `plugins are looked at every ${BEATS} beats only: ${sentenceOf(error)}`),
    )
  }

  /** Counts a beat, and on every tenth has applied what changed. The beat waits for none of it: a file may take long to load. */
  beat(): void {
    if (++this.#beats % BEATS === 0) void this.#apply()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#watcher?.close()
  }

  #changed(): void {
    this.#cancel?.()
    this.#cancel = this.#parts.clock.after(SETTLE_MS, () => void this.#look())
  }

  #look(): Promise<void> {
    return this.#parts.dev ? this.#apply() : this.#announce()
  }

  async #apply(): Promise<void> {
    this.#again = true
    if (this.#applying) return
    this.#applying = true
    while (this.#again) {
      this.#again = false
      await this.#parts.host.apply().catch((error: unknown) => {
        this.#parts.log.error({}, `the plugins could not be looked at: ${sentenceOf(error)}`)
      })
    }
    this.#applying = false
  }

  async #announce(): Promise<void> {
    const { host, log, heartbeat } = this.#parts
    const seconds = Math.ceil((BEATS - (this.#beats % BEATS)) * heartbeat())
    for (const plugin of await host.changed().catch(() => [])) {
      log.info({ plugin }, `changed; live in about ${seconds} s, or now with: svc plugins reload ${plugin}`)
    }
  }
}
