import { basename, dirname } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { type Clock, errorMessage, type Log, type Ports } from '#kernel'
import { SETTLE_MS } from './loader.ts'

/** Number of heartbeats between two checks of the plugins. */
const HEARTBEATS = 10

export interface PluginWatchParts {
  /** Returns the names of the plugins that changed on disk. */
  findChanged: () => Promise<string[]>
  folders: readonly string[]
  files: Ports['files']
  clock: Clock
  log: Log
  /** Whether to apply changes as soon as the files have settled. */
  dev: boolean
  /** Returns the seconds between two heartbeats, for the log message. */
  heartbeat: () => number
}

/** Applies changes on disk. Chokidar reports them at once; what it misses is found at the next tenth heartbeat. */
export class PluginWatch {
  readonly #parts: PluginWatchParts
  #apply: () => Promise<unknown> = async () => {}
  #watcher: FSWatcher | undefined
  #cancel: (() => void) | undefined
  #closed = false
  #ticks = 0
  #isApplying = false
  #again = false

  constructor(parts: PluginWatchParts) {
    this.#parts = parts
  }

  /**
   * @param apply applies what changed
   * @param atOnce whether changes are noticed as they are written, or at a heartbeat only
   */
  start(apply: () => Promise<unknown>, atOnce: boolean): void {
    this.#apply = apply
    if (atOnce) void this.#follow()
  }

  /** Makes missing folders below `.svc`, because chokidar would watch `.svc` itself and read it at each write of the database. */
  async #follow(): Promise<void> {
    const { folders, files, log } = this.#parts
    const besideDatabase = folders.filter(folder => basename(dirname(folder)) === '.svc')
    await Promise.all(besideDatabase.map(folder => files.mkdir(folder, { mode: 0o700 }).catch(() => {})))
    if (this.#closed) return
    this.#watcher = watch([...folders], {
      ignoreInitial: true,
      ignored: path => /(^|\/)(node_modules|\.git)(\/|$)|~$|\.sw[a-z]$/.test(path),
    })
    this.#watcher.on('all', event => {
      if (event !== 'addDir') this.#scheduleLook()
    })
    // Finds changes from before the watch began.
    this.#watcher.on('ready', () => void this.#look())
    this.#watcher.on('error', error =>
      log.warn({}, `changes to plugins are found only every ${HEARTBEATS} heartbeats: ${errorMessage(error)}`),
    )
  }

  /** Counts a heartbeat, and applies changes on every tenth, without waiting: a file may take long to load. */
  tick(): void {
    if (++this.#ticks % HEARTBEATS === 0) void this.#applyChanges()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#watcher?.close()
  }

  #scheduleLook(): void {
    this.#cancel?.()
    this.#cancel = this.#parts.clock.after(SETTLE_MS, () => void this.#look())
  }

  #look(): Promise<void> {
    return this.#parts.dev ? this.#applyChanges() : this.#announce()
  }

  async #applyChanges(): Promise<void> {
    this.#again = true
    if (this.#isApplying) return
    this.#isApplying = true
    while (this.#again) {
      this.#again = false
      await this.#apply().catch((error: unknown) => {
        this.#parts.log.error({}, `the plugins could not be checked for changes: ${errorMessage(error)}`)
      })
    }
    this.#isApplying = false
  }

  async #announce(): Promise<void> {
    const { findChanged, log, heartbeat } = this.#parts
    const seconds = Math.ceil((HEARTBEATS - (this.#ticks % HEARTBEATS)) * heartbeat())
    for (const plugin of await findChanged().catch(() => [])) {
      log.info({ plugin }, `changed; live in about ${seconds} s, or now with: svc plugins reload ${plugin}`)
    }
  }
}
