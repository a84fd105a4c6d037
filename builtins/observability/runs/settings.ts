import { createHash } from 'node:crypto'
import { Profiles } from '#core/profiles/contract'
import { HostToken, type PluginHandle } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { Toolkits } from '#tools/toolkits/contract'
import type { RunFacts } from './contract.ts'

/** Facts that runs with the same settings share. */
export type RunSettings = Omit<RunFacts, 'pid' | 'place' | 'default_model' | 'agent_id' | 'task_id' | 'session_id'>

export interface KeptSettings {
  /** Hash of the settings, so that the same settings have the same id in every process. */
  settings_id: string
  facts: RunSettings
  /** Whether the settings must be written again, because unused settings are removed. */
  due: boolean
}

/** Interval at which settings in use are written again, in milliseconds; see `SETTINGS_STAY_MS`. */
const WRITE_MS = 3_600_000

/** Settings of runs that begin now. Those of tasks are cached until the configuration or a plugin changes. */
export class SettingsNow {
  readonly #svc: PluginHandle
  /** Cached settings of tasks, which begin often. */
  #brief: Omit<KeptSettings, 'due'> | undefined
  #kits: object | undefined
  readonly #written = new Map<string, number>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
    const forget = () => {
      this.#brief = undefined
    }
    svc.on('config_changed', forget)
    svc.on('plugin_reloaded', forget)
  }

  async of(kind: string): Promise<KeptSettings> {
    const kits = this.#svc.contributions(Toolkits)
    const known = kind === 'task' && kits === this.#kits ? this.#brief : undefined
    const made = known ?? (await this.#make(kind))
    if (kind === 'task') [this.#brief, this.#kits] = [made, kits]
    const written = this.#written.get(made.settings_id)
    return { ...made, due: written === undefined || this.#svc.clock.monotonic() - written > WRITE_MS }
  }

  markWritten(settings_id: string): void {
    this.#written.set(settings_id, this.#svc.clock.monotonic())
  }

  async #make(kind: string): Promise<Omit<KeptSettings, 'due'>> {
    const svc = this.#svc
    const isDaemon = kind === 'daemon'
    const svc_version = await packageVersion(svc.ports)
    const profiles = isDaemon && svc.has(Profiles) ? await svc.use(Profiles).names() : []
    const plugins = svc.has(HostToken) ? svc.use(HostToken).list() : []
    const facts: RunSettings = {
      svc_version,
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      seed: svc.ports.random.seed,
      heartbeat: isDaemon ? Number(svc.config.get('daemon.heartbeat')) : null,
      model_config: (svc.config.tree('live', 'model').model ?? {}) as Record<string, unknown>,
      profiles,
      plugins: plugins.map(({ name, version, origin, state }) => ({ name, version, origin, state })),
      tools: svc.contributions(Toolkits).flatMap(({ value }) => value.tools.map(({ name }) => name)),
    }
    const settings_id = createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32)
    return { settings_id, facts }
  }
}
