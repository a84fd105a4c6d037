import { join } from 'node:path'
import { Models } from '#core/models/contract'
import { type PluginHandle, withTimeLimit } from '#kernel'
import { replaceFile } from '#lib/yaml'
import { isoTime, Store } from '#platform/store/contract'
import type { RunBeginning, RunFacts } from './contract.ts'
import { type BriefRun, briefRuns, findRun, listRunAgents, type RunRow } from './repository.ts'
import type { RunSettings } from './settings.ts'

export const MANIFEST = 'manifest.json'

/** Returns the facts of a new run that it does not share with other runs. */
export async function factsOf(svc: PluginHandle, about: RunBeginning): Promise<Omit<RunFacts, keyof RunSettings>> {
  const { place } = svc.use(Store)
  return {
    pid: process.pid,
    ...(place ? { place } : {}),
    default_model: about.model ?? (await defaultModel(svc)),
    agent_id: about.agent_id ?? null,
    task_id: about.task_id ?? null,
    session_id: about.session_id ?? null,
  }
}

/** Returns all facts about the beginning of a run. */
export function factsIn({ facts, settings }: Pick<RunRow, 'facts' | 'settings'>): RunFacts {
  return { ...(JSON.parse(settings ?? '{}') as RunSettings), ...(JSON.parse(facts) as RunFacts) }
}

/** An agent that did something in a run. */
export interface DescribedAgent {
  agent_id: string
  name: string
  model: string
  first_at: number
}

/** Writes `manifest.json` beside the logs of runs, from the database and without the values of secrets. */
export class Manifests {
  readonly #svc: PluginHandle
  readonly #mask: (json: string) => string
  /** The most recently written shared settings, as the end of a manifest. */
  #shared: { settings_id: string; bytes: Buffer } | undefined

  constructor(svc: PluginHandle, mask: (json: string) => string) {
    this.#svc = svc
    this.#mask = mask
    // The set of secrets may have changed.
    svc.on('config_changed', () => {
      this.#shared = undefined
    })
  }

  /**
   * Replaces the manifest.
   * @returns the number of agents in it
   */
  async write(folder: string, run_id: string): Promise<number> {
    const store = this.#svc.use(Store)
    const [run] = await briefRuns(store, [run_id])
    if (!run) return 0
    const agents = await listRunAgents(store, run_id)
    const { ownFiles: files } = this.#svc.ports
    const write = () =>
      run.kind === 'task' ? this.writeBrief(folder, run, agents) : this.#writeWhole(folder, run, agents)
    await write().catch(async error => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await files.mkdir(folder, { recursive: true, mode: 0o700 })
      await write()
    })
    return agents.length
  }

  async #writeWhole(folder: string, run: BriefRun, agents: readonly DescribedAgent[]): Promise<void> {
    const row = await findRun(this.#svc.use(Store), run.run_id)
    const facts = row ? factsIn(row) : {}
    const text = this.#text({ ...beginningOf(run, agents), ...facts })
    await replaceFile(this.#svc.ports.ownFiles, join(folder, MANIFEST), text)
  }

  /**
   * Writes the manifest of a task's run without syncing it to disk, because there are many. If the process dies
   * meanwhile, the run is written again.
   */
  async writeBrief(folder: string, run: BriefRun, agents: readonly DescribedAgent[]): Promise<void> {
    const bytes = await this.brief(run, agents)
    const { ownFiles: files } = this.#svc.ports
    const beside = join(folder, `manifest.json.${process.pid}.tmp`)
    await files.writeFile(beside, bytes, { mode: 0o600 })
    await files.rename(beside, join(folder, MANIFEST))
  }

  /** Returns the manifest of a task's run; the part that runs share is generated once. */
  async brief(run: BriefRun, agents: readonly DescribedAgent[]): Promise<Buffer> {
    const own = { ...beginningOf(run, agents), ...JSON.parse(run.facts) }
    return Buffer.concat([Buffer.from(this.#text(own).slice(0, -'\n}\n'.length)), await this.#sharedBy(run)])
  }

  /** Returns the end of a manifest: the settings, kilobytes that are generated once for all runs that share them. */
  async #sharedBy({ run_id, settings_id }: BriefRun): Promise<Buffer> {
    if (this.#shared?.settings_id === settings_id) return this.#shared.bytes
    const row = await findRun(this.#svc.use(Store), run_id)
    if (!row?.settings || settings_id === null) return Buffer.from('\n}\n')
    const bytes = Buffer.from(`,${this.#text(JSON.parse(row.settings)).slice(1)}`)
    this.#shared = { settings_id, bytes }
    return bytes
  }

  #text(manifest: object): string {
    const plain = JSON.stringify(manifest)
    const hidden = this.#mask(plain)
    return `${JSON.stringify(hidden === plain ? manifest : JSON.parse(hidden), null, 2)}\n`
  }
}

function beginningOf(run: Omit<RunRow, 'settings'>, agents: readonly DescribedAgent[]) {
  const { run_id, kind, started_at, ended_at, exit } = run
  return {
    run_id,
    kind,
    started_at: isoTime(started_at),
    ended_at: isoTime(ended_at),
    exit,
    agents: agents.map(({ agent_id, name, model, first_at }) => ({
      agent_id,
      name,
      model,
      first_at: isoTime(first_at),
    })),
  }
}

/** Time limit for asking a model server for its default model, in milliseconds. A slow server must not delay a run. */
const NAME_LIMIT_MS = 1_000

async function defaultModel(svc: PluginHandle): Promise<string> {
  if (!svc.has(Models)) return ''
  const resolved = svc.use(Models).resolve(null)
  return withTimeLimit(svc.clock, NAME_LIMIT_MS, 'Asking for the default model', resolved).then(
    ({ id }) => id,
    () => '',
  )
}
