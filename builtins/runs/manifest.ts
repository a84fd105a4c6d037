import { join } from 'node:path'
import { HostToken, type PluginHandle, packageVersion, replaceFile, Toolkits, within } from '#kernel'
import { Models } from '../models/contract.ts'
import { Profiles } from '../profiles/contract.ts'
import { isoTime, Store } from '../store/contract.ts'
import type { RunBeginning, RunFacts } from './contract.ts'
import { findRun, listRunAgents } from './repository.ts'

/** What a run that begins now is made of. */
export async function factsOf(svc: PluginHandle, kind: string, about: RunBeginning): Promise<RunFacts> {
  const { config, ports } = svc
  const plugins = svc.has(HostToken) ? svc.use(HostToken).outline() : []
  return {
    svc_version: await packageVersion(svc.ports),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    pid: process.pid,
    ...(svc.use(Store).place ? { place: svc.use(Store).place } : {}),
    seed: ports.random.seed,
    heartbeat: kind === 'daemon' ? Number(config.get('daemon.heartbeat')) : null,
    model_config: (config.tree('live', 'model').model ?? {}) as Record<string, unknown>,
    default_model: about.model ?? (await defaultModel(svc)),
    profiles: kind === 'daemon' && svc.has(Profiles) ? (await svc.use(Profiles).list()).map(({ name }) => name) : [],
    plugins: plugins.map(({ name, version, origin, state }) => ({ name, version, origin, state })),
    tools: toolsOf(svc),
    agent_id: about.agent_id ?? null,
    task_id: about.task_id ?? null,
    session_id: about.session_id ?? null,
  }
}

const tools = new WeakMap<object, string[]>()

/** The names of all tools, worked out anew when a toolkit comes or goes. */
function toolsOf(svc: PluginHandle): string[] {
  const kits = svc.contributions(Toolkits)
  const names = tools.get(kits) ?? kits.flatMap(({ value }) => value.tools.map(({ name }) => name))
  tools.set(kits, names)
  return names
}

/**
 * Writes `manifest.json` beside a run's log, as a whole, from what the database knows.
 * @returns how many agents it names
 */
export async function writeManifest(
  svc: PluginHandle,
  folder: string,
  run_id: string,
  mask: (json: string) => string,
): Promise<number> {
  const store = svc.use(Store)
  const row = await findRun(store, run_id)
  if (!row) return 0
  const agents = await listRunAgents(store, run_id)
  const manifest = {
    run_id,
    kind: row.kind,
    started_at: isoTime(row.started_at),
    ended_at: row.ended_at === null ? null : isoTime(row.ended_at),
    exit: row.exit,
    ...(JSON.parse(row.facts) as RunFacts),
    agents: agents.map(({ agent_id, name, model, first_at }) => ({
      agent_id,
      name,
      model,
      first_at: isoTime(first_at),
    })),
  }
  const plain = JSON.stringify(manifest)
  const hidden = mask(plain)
  const masked: unknown = hidden === plain ? manifest : JSON.parse(hidden)
  const write = () =>
    replaceFile(svc.ports.files, join(folder, 'manifest.json'), `${JSON.stringify(masked, null, 2)}\n`)
  await write().catch(async error => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await svc.ports.files.mkdir(folder, { recursive: true, mode: 0o700 })
    await write()
  })
  return agents.length
}

/** A model server that keeps its name to itself keeps no run from beginning, in milliseconds. */
const NAME_LIMIT_MS = 1_000

async function defaultModel(svc: PluginHandle): Promise<string> {
  if (!svc.has(Models)) return ''
  const resolved = svc.use(Models).resolve(null)
  return within(svc.clock, NAME_LIMIT_MS, 'Asking for the default model', resolved).then(
    ({ id }) => id,
    () => '',
  )
}
