import { type Kernel, sentenceOf } from '#kernel'
import { Agents } from '../agents/contract.ts'
import { Models } from '../models/contract.ts'
import { Profiles } from '../profiles/contract.ts'

/** The words of `--profiles`. */
export function presetsOf(profiles: unknown): string[] {
  return String(profiles ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

/** Spawns an agent of each preset that has none alive. @throws ProfileNotFoundError or BadFileError before any is spawned */
export async function spawnMissing(kernel: Kernel, presets: readonly string[]): Promise<void> {
  for (const preset of presets) await kernel.use(Profiles).read(preset)
  const agents = await kernel.use(Agents).list({})
  const alive = new Set(agents.filter(agent => agent.status !== 'dead').map(agent => agent.preset))
  for (const preset of new Set(presets)) if (!alive.has(preset)) await kernel.invoke('agents.spawn', { preset })
}

/** Lines of what is where, one label each. */
export function announce(version: string, root: string, lines: readonly [string, string][]): string {
  return [`svc ${version} in ${root}`, ...lines.map(([label, text]) => `${`${label}:`.padEnd(11)}${text}`)].join('\n')
}

export async function daemonLines(kernel: Kernel): Promise<[string, string][]> {
  const heartbeat = kernel.config.get('daemon.heartbeat')
  return [
    ['Daemon', `PID ${process.pid}, a heartbeat every ${heartbeat} s`],
    ['Agents', await agentsLine(kernel)],
  ]
}

async function agentsLine(kernel: Kernel): Promise<string> {
  const agents = (await kernel.use(Agents).list({})).filter(agent => agent.status !== 'dead')
  if (agents.length === 0) return 'none yet; spawn one with: svc spawn coder'
  const shown = agents.slice(0, 8).map(agent => agent.agent_id)
  return `${shown.join(', ')}${agents.length > shown.length ? ` and ${agents.length - shown.length} more` : ''}`
}

/** Which model agents call, and plainly so when it is none. */
export async function modelLine(kernel: Kernel): Promise<[string, string]> {
  try {
    const { provider, id } = await kernel.use(Models).resolve(null)
    if (provider.notice) {
      const remedy =
        'Set OPENAI_API_KEY or OPENAI_BASE_URL, or model.default_model in .svc/config.yaml, to use a real one.'
      return ['Model', `${id} (${provider.notice}). ${remedy}`]
    }
    const { available, reason } = await provider.availability()
    return ['Model', available ? id : `${id}, which cannot be called: ${reason}`]
  } catch (error) {
    return ['Model', `none: ${sentenceOf(error)}`]
  }
}
