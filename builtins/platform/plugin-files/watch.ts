import { basename, dirname } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'
import { type Clock, errorMessage, type Log, type Ports } from '#kernel'
import { SETTLE_MS } from './loader.ts'

/** Number of heartbeats between two checks of the plugins. */
const CHECK_EVERY_HEARTBEATS = 10

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

/** Applies changes on disk. Chokidar reports them at once; what it misses is found at every tenth heartbeat. */
export class PluginWatch {
  readonly #parts: PluginWatchParts
  #apply: () => Promise<unknown> = async () => {}
  #watcher: FSWatcher | undefined
  #cancelTimer: (() => void) | undefined
  #closed = false
  #ticks = 0
  #isApplying = false
  #hasNewChanges = false

  constructor(parts: PluginWatchParts) {
    this.#parts = parts
  }

  /**
   * @param apply applies what changed
   * @param atOnce whether the folders are watched; otherwise changes are found at heartbeats only
   */
  start(apply: () => Promise<unknown>, atOnce: boolean): void {
    this.#apply = apply
    if (atOnce) void this.#watchFolders()
  }

  /**
   * Watches the folders. Creates missing ones below `.svc`, because chokidar would watch `.svc` itself instead, and read
   * it at each write of the database.
   */
  async #watchFolders(): Promise<void> {
    const { folders, files, log } = this.#parts
    const besideDatabase = folders.filter(folder => basename(dirname(folder)) === '.svc')
    await Promise.all(besideDatabase.map(folder => files.mkdir(folder, { mode: 0o700 }).catch(() => {})))
    if (this.#closed) return
    this.#watcher = watch([...folders], {
      ignoreInitial: true,
      ignored: path => /(^|\/)(node_modules|\.git)(\/|$)|~$|\.sw[a-z]$/.test(path),
    })
    // Also for a new folder, because a file that is written into it at once may not be reported.
    this.#watcher.on('all', () => this.#scheduleHandling())
    // Finds changes from before the watch began.
    this.#watcher.on('ready', () => void this.#handleChanges())
    this.#watcher.on('error', error =>
      log.warn(
        {},
        `changes to plugins are found only every ${CHECK_EVERY_HEARTBEATS} heartbeats: ${errorMessage(error)}`,
      ),
    )
  }

  /** Counts a heartbeat, and applies changes on every tenth, without waiting: a file may take long to load. */
  tick(): void {
    if (++this.#ticks % CHECK_EVERY_HEARTBEATS === 0) void this.#applyChanges()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer?.()
    await this.#watcher?.close()
  }

  #scheduleHandling(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#parts.clock.after(SETTLE_MS, () => void this.#handleChanges())
  }

  #handleChanges(): Promise<void> {
    return this.#parts.dev ? this.#applyChanges() : this.#logChanges()
  }

  async #applyChanges(): Promise<void> {
    this.#hasNewChanges = true
    if (this.#isApplying) return
    this.#isApplying = true
    while (this.#hasNewChanges) {
      this.#hasNewChanges = false
      await this.#apply().catch((error: unknown) => {
        this.#parts.log.error({}, `the plugins could not be checked for changes: ${errorMessage(error)}`)
      })
    }
    this.#isApplying = false
  }

  async #logChanges(): Promise<void> {
    const { findChanged, log, heartbeat } = this.#parts
    const seconds = Math.ceil((CHECK_EVERY_HEARTBEATS - (this.#ticks % CHECK_EVERY_HEARTBEATS)) * heartbeat())
    for (const plugin of await findChanged().catch(() => [])) {
      log.info({ plugin }, `changed; live in about ${seconds} s, or now with: svc plugins reload ${plugin}`)
    }
  }
}
