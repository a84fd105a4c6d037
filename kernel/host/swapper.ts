import { errorMessage } from '../errors.ts'
import type { SharedParts } from '../handle.ts'
import type { Version } from './version.ts'

/** Time limit of running calls of a replaced version, in milliseconds. */
const DRAIN_MS = 30_000
/** Time for which new calls wait for running calls of the old version while resources are swapped, in milliseconds. */
const GATE_MS = 2_000

/** Holds the live versions in order, and replaces one by another. */
export class PluginSwapper {
  readonly live = new Map<string, Version>()
  readonly #kernel: SharedParts
  /** Aborted when the process ends. */
  readonly #ended: AbortSignal
  /** Replaced versions whose calls still run, each with a promise of their end. */
  readonly #leaving = new Map<Version, Promise<void>>()

  constructor(kernel: SharedParts, ended: AbortSignal) {
    this.#kernel = kernel
    this.#ended = ended
  }

  /**
   * Swaps two versions: hides what the old one registered and shows what the new one did, in one turn of the event
   * loop; then the resources change hands. A failure restores the old version. @param started whether resources are
   * started in this process by now @throws the error of the new version; then the old one is active
   */
  async replace(old: Version | undefined, next: Version, started: boolean): Promise<void> {
    this.#exchange(old, next)
    if (!started) return
    const open = next.hasResources || old?.hasResources ? next.interceptor?.hold() : undefined
    try {
      if (old) await this.#release(old)
      await next.start(this.#ended)
    } catch (error) {
      await next.stop()
      if (old) await this.#restore(next, old)
      else this.#drop(next)
      throw error
    } finally {
      open?.()
    }
  }

  /** Removes a version: new calls are refused at once, running ones may end. */
  async remove(version: Version): Promise<void> {
    this.#drop(version)
    await this.#release(version)
  }

  /** Removes a version and ends its running calls. */
  async end(version: Version): Promise<void> {
    // Resources of a module may need its registrations to stop; a plugin file is hidden first.
    if (version.origin === 'builtin') await version.stop()
    this.#drop(version)
    version.dispose()
    await version.stop()
  }

  /** Ends the running calls of replaced versions. */
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
      await old.start(this.#ended)
    } catch (error) {
      await this.end(old)
      this.#kernel.log.error({ plugin: old.name }, `the previous version does not start: ${errorMessage(error)}`)
    } finally {
      open?.()
    }
  }

  /**
   * Waits for the running calls of a version, for a limited time. Its resources stop earlier, because the next version
   * waits for them.
   */
  async #release(version: Version): Promise<void> {
    const calm = this.#waitUntilIdle(version, DRAIN_MS)
      .then(() => {
        // It may have been restored meanwhile.
        if (!version.isShown) version.dispose()
      })
      .finally(() => this.#leaving.delete(version))
    this.#leaving.set(version, calm)
    if (!version.hasResources) return
    await this.#waitUntilIdle(version, GATE_MS)
    await version.stop()
  }

  async #waitUntilIdle(version: Version, limit_ms: number): Promise<void> {
    const idle = version.interceptor?.idle()
    if (!idle) return
    const ended = new AbortController()
    await Promise.race([idle.then(() => ended.abort()), this.#kernel.ports.clock.sleep(limit_ms, ended.signal)])
  }
}
