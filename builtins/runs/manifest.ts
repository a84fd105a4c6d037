import { join } from 'node:path'
import { HostToken, type PluginHandle, packageVersion, replaceFile, Toolkits, within, z } from '#kernel'
import { Models } from '../models/contract.ts'
import { Profiles } from '../profiles/contract.ts'
import { isoTime, Store } from '../store/contract.ts'
import type { RunBeginning, RunFacts } from './contract.ts'
import { findRun, listRunAgents } from './repository.ts'

/** What a run that begins now is made of. */
export async function factsOf(svc: PluginHandle, kind: string, about: RunBeginning): Promise<RunFacts> {
  const { config, ports } = svc
  const plugins = svc.has(HostToken) ? svc.use(HostToken).list() : []
  return {
    svc_version: await packageVersion(svc.ports),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    pid: process.pid,
    ...(svc.use(Store).place ? { place: svc.use(Store).place } : {}),
    seed: ports.random.seed,
    heartbeat: kind === 'daemon' ? Number(config.get('daemon.heartbeat')) : null,
    model_config: z.record(z.string(), z.unknown()).catch({}).parse(config.tree('live').model),
    default_model: about.model ?? (await defaultModel(svc)),
    profiles: kind === 'daemon' && svc.has(Profiles) ? (await svc.use(Profiles).list()).map(({ name }) => name) : [],
    plugins: plugins.map(({ name, version, origin, state }) => ({ name, version, origin, state })),
    tools: svc.list(Toolkits).flatMap(({ tools }) => tools.map(({ name }) => name)),
    agent_id: about.agent_id ?? null,
    task_id: about.task_id ?? null,
    session_id: about.session_id ?? null,
  }
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
  await svc.ports.files.mkdir(folder, { recursive: true, mode: 0o700 })
  const masked = JSON.parse(mask(JSON.stringify(manifest))) as unknown
  await replaceFile(svc.ports.files, join(folder, 'manifest.json'), `${JSON.stringify(masked, null, 2)}\n`)
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
