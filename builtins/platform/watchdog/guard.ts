import { join } from 'node:path'
import type { PluginHandle, Undo } from '#kernel'
import { RestartToken, type Supervisor } from '#platform/plugin-files/contract'
import type { WatchdogConfig } from './config.ts'
import type { Watchdog } from './contract.ts'
import { refuseExit } from './exit.ts'
import { parentEnded } from './foreground.ts'
import { quarantineError, readQuarantine, release } from './quarantine.ts'
import { watchStrays } from './strays.ts'
import { ThreadCounter } from './thread-counter.ts'

type PluginFile = Parameters<Supervisor['admit']>[0]

/** Watches plugins' code in this process. The quarantine applies in every process, the rest in long-running ones. */
export class Guard implements Supervisor, Watchdog {
  readonly broken: Promise<unknown>
  readonly orphaned: Promise<string>
  readonly #svc: PluginHandle
  readonly #config: WatchdogConfig
  readonly #quarantine: string
  readonly #undo: Undo[] = []
  #pulse: ThreadCounter | undefined
  #break: (error: unknown) => void = () => {}

  constructor(svc: PluginHandle, config: WatchdogConfig) {
    this.#svc = svc
    this.#config = config
    this.#quarantine = join(svc.project.svc, 'quarantine.json')
    this.orphaned = parentEnded(svc.ports)
    this.broken = new Promise(resolve => {
      this.#break = resolve
    })
  }

  /**
   * Admits a plugin file unless it is quarantined. @throws Error with the reason of the quarantine, which ends when the
   * file changes or an operator reloads it
   */
  async admit(plugin: PluginFile, isRequested: boolean): Promise<void> {
    const { stem, file, fingerprint } = plugin
    const { files } = this.#svc.ports
    const entry = (await readQuarantine(files, this.#quarantine)).find(each => each.file === file)
    if (entry && !isRequested && entry.fingerprint === fingerprint) throw quarantineError(entry, stem)
    if (entry) await release(files, this.#quarantine, file)
    this.examine(plugin)
  }

  examine({ stem, file, fingerprint }: PluginFile): void {
    this.begin()
    this.#pulse?.admit(stem, file, fingerprint)
  }

  watch(plugin: string, origin: string, what: string | undefined): void {
    if (what === undefined) this.#pulse?.leave()
    else this.#pulse?.enter(plugin, origin, what)
  }

  /** Starts watching before the first plugin file runs, or with the resources of a long-running process. */
  begin(): void {
    const svc = this.#svc
    if (this.#pulse || !svc.has(RestartToken)) return
    const lasts = svc.roles.has('daemon') || svc.roles.has('server')
    const pulse = new ThreadCounter(svc, { limit_s: this.#config.limit, quarantine: this.#quarantine })
    this.#pulse = pulse
    this.#undo.push(
      () => pulse.stop(),
      refuseExit(svc, () => pulse.runningPlugin),
    )
    // A command reports uncaught errors itself.
    if (lasts) this.#undo.push(watchStrays(svc, error => this.#break(error)))
  }

  async end(): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo()
    this.#pulse = undefined
  }

  ending(): void {
    this.#pulse?.ending()
  }
}
