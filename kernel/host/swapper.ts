import { errorMessage } from '../errors.ts'
import type { Clock, Log } from '../ports.ts'
import type { Version } from './version.ts'

/** How long a replaced version may go on with what it is at, in milliseconds. */
const DRAIN_MS = 30_000
/** How long calls wait for those of the version before, when resources must change hands, in milliseconds. */
const GATE_MS = 2_000

export interface SwapperParts {
  clock: Clock
  log: Log
  /** Aborted when the process ends. */
  signal: AbortSignal
}

/** The versions that are live, in their order, and how one takes the place of another. */
export class PluginSwapper {
  readonly live = new Map<string, Version>()
  readonly #parts: SwapperParts
  /** Versions that still have calls to end, with that end. */
  readonly #leaving = new Map<Version, Promise<void>>()

  constructor(parts: SwapperParts) {
    this.#parts = parts
  }

  /**
   * The swap. What the old version registered goes and what the next one did comes without a turn of the event loop in
   * between; then resources change hands. What goes wrong brings the old one back as it was.
   * @param started whether resources are started in this process by now
   * @throws what hinders the next version; then the old one is live
   */
  async replace(old: Version | undefined, next: Version, started: boolean): Promise<void> {
    this.#exchange(old, next)
    if (!started) return
    const open = next.hasResources || old?.hasResources ? next.interceptor?.hold() : undefined
    try {
      if (old) await this.#release(old)
      await next.start(this.#parts.signal)
    } catch (error) {
      await next.stop()
      if (old) await this.#restore(next, old)
      else this.#drop(next)
      throw error
    } finally {
      open?.()
    }
  }

  /** Takes a version away: at once for new calls; those that run may end. */
  async remove(version: Version): Promise<void> {
    this.#drop(version)
    await this.#release(version)
  }

  /** Takes a version away with all that it is at. */
  async end(version: Version): Promise<void> {
    // A builtin's resources may need what it registered to end well; a file's plugin is out of reach first.
    if (version.origin === 'builtin') await version.stop()
    this.#drop(version)
    version.dispose()
    await version.stop()
  }

  /** Ends what replaced versions are still at. */
  async close(): Promise<void> {
    for (const version of this.#leaving.keys()) version.dispose()
    await Promise.all(this.#leaving.values())
  }

  #exchange(old: Version | undefined, next: Version): void {
    old?.hide()
    try {
      next.show()
    } catch (error) {
      next.hide()
      old?.show()
      throw error
    }
    if (old && old.place !== next.place) this.live.delete(old.place)
    this.live.set(next.place, next)
  }

  #drop(version: Version): void {
    if (this.live.get(version.place) === version) this.live.delete(version.place)
    version.hide()
  }

  async #restore(failed: Version, old: Version): Promise<void> {
    this.#exchange(failed, old)
    const open = old.interceptor?.hold()
    try {
      await old.start(this.#parts.signal)
    } catch (error) {
      await this.end(old)
      this.#parts.log.error({ plugin: old.name }, `the version before does not start again: ${errorMessage(error)}`)
    } finally {
      open?.()
    }
  }

  /** Lets a version end what it is at, for a while; its resources leave it sooner, because the next version waits for them. */
  async #release(version: Version): Promise<void> {
    const calm = this.#calm(version, DRAIN_MS)
      .then(() => {
        // Unless it was brought back.
        if (!version.isShown) version.dispose()
      })
      .finally(() => this.#leaving.delete(version))
    this.#leaving.set(version, calm)
    if (!version.hasResources) return
    await this.#calm(version, GATE_MS)
    await version.stop()
  }

  async #calm(version: Version, limit_ms: number): Promise<void> {
    const idle = version.interceptor?.idle()
    if (!idle) return
    const ended = new AbortController()
    await Promise.race([idle.then(() => ended.abort()), this.#parts.clock.sleep(limit_ms, ended.signal)])
  }
}
