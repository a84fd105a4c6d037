import { Agents } from '#core/agents/contract'
import { Models } from '#core/models/contract'
import { ProfileNotFoundError, Profiles } from '#core/profiles/contract'
import { errorMessage, type Kernel } from '#kernel'
import { BadFileError } from '#lib/yaml'
import { Budget } from '#safety/budget/contract'
import { ModuleDisabledError, UsageError } from '../contract.ts'

/** Maximum number of agents named when a process starts. */
const MOST_NAMED = 100

/** Returns the preset names in the value of `--profiles`. */
export function presetsOf(profiles: unknown): string[] {
  return String(profiles ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

/**
 * Checks that an agent can be spawned from each preset.
 * @throws ProfileNotFoundError or BadFileError for a preset of which no agent can be spawned; UsageError for a port
 */
async function checkPresets(kernel: Kernel, presets: readonly string[]): Promise<void> {
  for (const preset of presets)
    await kernel
      .use(Profiles)
      .read(preset)
      .catch(error => {
        throw error instanceof ProfileNotFoundError && /^\d+$/.test(preset) ? portError(preset) : error
      })
}

/** Returns the error for a port in place of a profile: `-p` is the port of `svc serve`, and the profiles of `svc start`. */
function portError(preset: string) {
  const problem = `there is no profile "${preset}"; for a port, use svc serve --port ${preset}`
  return new UsageError({ problem, usage: 'svc start --profiles <names>, svc serve --port <number>' })
}

/** Modules that each process needs which runs or serves agents. */
const NEEDED = ['agents', 'models']

/**
 * Checks, before agents run, that no needed module is disabled, that agents can be spawned from these presets and that
 * models.yaml is valid. Other faults of the default model are announced, because agents may have models of their own.
 * @param further modules that the command needs besides
 * @throws ModuleDisabledError; as `checkPresets` does; BadFileError for models.yaml
 */
export async function checkStart(
  kernel: Kernel,
  command: string,
  presets: readonly string[],
  further: readonly string[] = [],
): Promise<void> {
  const isNeeded = (name: string) => NEEDED.includes(name) || further.includes(name)
  const off = kernel.host.list().find(({ name, state }) => state === 'disabled' && isNeeded(name))
  if (off) throw new ModuleDisabledError({ command, module: off.name, reason: off.error })
  await checkPresets(kernel, presets)
  await kernel
    .use(Models)
    .describe(null, false)
    .catch(error => {
      if (error instanceof BadFileError) throw error
    })
}

/** Spawns an agent of each preset that has none alive. @throws as `checkPresets` does, before any is spawned */
export async function spawnMissing(kernel: Kernel, presets: readonly string[]): Promise<void> {
  if (presets.length === 0) return
  await checkPresets(kernel, presets)
  const agents = kernel.use(Agents)
  for (const preset of new Set(presets))
    if (!(await agents.hasAlive(preset))) await kernel.invoke('agents.spawn', { preset })
}

/** One fact that a process announces at its start: a line for people, and data for programs. */
export interface AnnouncedFact {
  label: string
  text: string
  facts?: Readonly<Record<string, unknown>>
}

/** Output of a process once it is ready. */
export interface Announcement {
  text: string
  facts: Readonly<Record<string, unknown>>
}

/** Builds the announcement, with one labelled line per fact. */
export function announce(version: string, root: string, knownFacts: readonly AnnouncedFact[]): Announcement {
  const lines = knownFacts.map(({ label, text }) => `${`${label}:`.padEnd(11)}${text}`)
  const facts = Object.assign({ version, root }, ...knownFacts.map(each => each.facts ?? {})) as Announcement['facts']
  return { text: [`svc ${version} in ${root}`, ...lines].join('\n'), facts }
}

export async function daemonLines(kernel: Kernel): Promise<AnnouncedFact[]> {
  const heartbeat = Number(kernel.config.get('daemon.heartbeat'))
  const some = await kernel.use(Agents).list({ limit: MOST_NAMED })
  const { total, dead } = await kernel.use(Agents).counts()
  const ids = some.filter(agent => agent.status !== 'dead').map(({ agent_id }) => agent_id)
  const text = `PID ${process.pid}, a heartbeat every ${heartbeat} s`
  return [
    { label: 'Daemon', text, facts: { daemon: true, heartbeat_s: heartbeat } },
    { label: 'Agents', text: agentsLine(ids, total - dead), facts: { agents: ids } },
  ]
}

function agentsLine(ids: readonly string[], living: number): string {
  if (living === 0) return 'none yet; spawn one with: svc spawn coder'
  const shown = ids.slice(0, 8)
  return `${shown.join(', ')}${living > shown.length ? ` and ${living - shown.length} more` : ''}`
}

/** Returns which model agents call, or says clearly that there is no usable one. */
export async function modelLine(kernel: Kernel): Promise<AnnouncedFact> {
  const label = 'Model'
  try {
    const { provider, id } = await kernel.use(Models).resolve(null)
    if (provider.notice) {
      const facts = { model: id, model_notice: provider.notice }
      const remedy = provider.remedy ? `; ${provider.remedy}` : ''
      return { label, text: `${id} (${provider.notice})${remedy}`, facts }
    }
    const { available, reason } = await provider.availability()
    if (available) {
      const { price, free_because } = await kernel.use(Models).describe(null)
      const free = price === 'free' ? ` (free: ${free_because}, and models.yaml has no price for it)` : ''
      const text = `${id}${price === 'unknown' ? ' (price unknown)' : free}`
      return { label, text: reason ? `${text}; ${reason}` : text, facts: { model: id } }
    }
    return { label, text: `${id}, which is not available: ${reason}`, facts: { model: id, model_problem: reason } }
  } catch (error) {
    return { label, text: `none: ${errorMessage(error)}`, facts: { model: null, model_problem: errorMessage(error) } }
  }
}

/** Returns warnings about model prices that affect the dollar limit. */
export async function budgetLines(kernel: Kernel): Promise<AnnouncedFact[]> {
  const warnings = kernel.services.has(Budget) ? await kernel.use(Budget).warnings() : []
  return warnings.map(({ message, remedy }) => ({ label: 'Budget', text: `${message}. To change that: ${remedy}.` }))
}
