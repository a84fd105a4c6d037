import { Agents, type NewAgent, type ProfileShape } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import { type PluginHandle, z } from '#kernel'
import type { ConfigCheck } from '#platform/settings/contract'
import { Store } from '#platform/store/contract'
import { type Toolkit, Toolkits } from '#tools/toolkits/contract'
import { readWorkState } from './repository.ts'

const KEY = 'tools.sub_agent_toolkits'
/** Default toolkits of sub-agents, from the specification. */
const SAFE = [
  'file',
  'memory',
  'notepad',
  'web',
  'knowledge',
  'links',
  'clipboard',
  'comms',
  'a2a',
  'task',
  'alarm',
  'sub_agents',
]
/** Toolkits that sub-agents get only if the operator configures them, from the specification. */
const RISKY = ['shell', 'git', 'delegation', 'schedule', 'orchestrator', 'plugins', 'world']

export const SubAgentsConfig = z.object({
  sub_agent_toolkits: z
    .array(z.string().min(1).max(64))
    .nullable()
    .default(null)
    .meta({ reload: 'restart_required' })
    .describe(
      'Toolkits that sub-agents may use, if their parents have them; null: the safe ones. Without the toolkit sub_agents, they cannot create sub-agents',
    ),
})
export type SubAgentsConfig = z.output<typeof SubAgentsConfig>

/**
 * Returns the profile of a sub-agent: its own name and role, the limits of its parent, and at most its parent's tools.
 * It does not inherit the parent's persona. A preset is used only if named explicitly.
 */
async function childProfile(
  svc: PluginHandle,
  config: SubAgentsConfig,
  agent: NewAgent & { spawned_by: string },
  preset: Profile,
): Promise<Profile> {
  const agents = svc.use(Agents)
  const parent = await agents.find(agent.spawned_by).catch(() => undefined)
  const own = { name: agent.name, role: agent.role, model: '' }
  if (!parent) return { ...preset, ...own, toolkits: [] }
  const above = await agents.profileOf(parent)
  const given = (await readWorkState(svc.use(Store), agent.agent_id))?.profile ? preset : undefined
  const allowed = [config.sub_agent_toolkits ?? SAFE, above.toolkits, given?.toolkits ?? null]
  const toolkits = svc.list(Toolkits).filter(toolkit => allowed.every(names => includesToolkit(names, toolkit)))
  const tools = intersectTools(above.tools, given?.tools ?? null)
  const { core, toolkits: limits } = given ?? above
  const inView = core ?? (limits ? toolkits : toolkits.filter(({ everyday }) => everyday)).map(({ name }) => name)
  return {
    ...(given ?? { ...above, persona: null, personality: { traits: [], style: '' }, system_prompt: '', skills: [] }),
    ...own,
    // No common tools means no toolkits; an empty list of tools would mean all.
    toolkits: tools?.length === 0 ? [] : toolkits.map(({ name }) => name),
    tools,
    // Offers the everyday toolkits first, unless a profile sets others. A sub-agent has no later goals to note for, and
    // its result is its message.
    core: given ? inView : inView.filter(name => name !== 'notepad' && name !== 'comms'),
    max_cost_usd: above.max_cost_usd,
    // The parent's limit applies in any case.
    max_total_cost_usd: given?.max_total_cost_usd ?? 0,
  }
}

/** Applies the profiles of sub-agents. Agents without a parent stay unchanged. */
export function childShape(svc: PluginHandle, config: SubAgentsConfig): ProfileShape {
  const isChild = (agent: NewAgent): agent is NewAgent & { spawned_by: string } => agent.spawned_by !== null
  return {
    name: 'sub-agents',
    shape: (agent, preset) => (isChild(agent) ? childProfile(svc, config, agent, preset) : preset),
  }
}

/** Checks that the configured toolkits of sub-agents exist. */
export function toolkitsCheck(svc: PluginHandle): ConfigCheck {
  return {
    name: KEY,
    forbids: 'nothing',
    check({ get }) {
      const named = (get(KEY) ?? []) as readonly string[]
      return svc
        .use(Runtime)
        .unknownNames('toolkit', named)
        .map(message => ({ path: KEY, message }))
    },
  }
}

/** Returns a sentence for parents that names the toolkits of sub-agents. */
export function toolkitsSentence({ sub_agent_toolkits }: SubAgentsConfig): string {
  const names = sub_agent_toolkits ?? SAFE
  const lacking = ['shell', 'git'].filter(name => !names.includes(name))
  const without = lacking.length > 0 ? `, and so no ${lacking.join(' and no ')}` : ''
  const effect = lacking.includes('shell') ? ': they run no programs and no tests' : ''
  return `They have at most these toolkits: ${names.join(', ')}${without}${effect}.`
}

/** Warns about configured toolkits that do not exist or can do harm. */
export function warnOfToolkits(svc: PluginHandle, { sub_agent_toolkits }: SubAgentsConfig): void {
  const named = sub_agent_toolkits ?? []
  for (const message of svc.use(Runtime).unknownNames('toolkit', named)) svc.log.warn({}, `${KEY}: ${message}`)
  const risky = named.filter(name => RISKY.includes(name))
  if (risky.length > 0)
    svc.log.warn({}, `${KEY}: gives sub-agents toolkits that they do not get by default: ${risky.join(', ')}`)
}

function includesToolkit(names: readonly string[] | null, { name, group = name }: Toolkit): boolean {
  return names === null || names.includes(name) || names.includes(group)
}

/** Returns the tools in both lists. Null or an empty list means all. */
function intersectTools(a: readonly string[] | null, b: readonly string[] | null): string[] | null {
  if (!a?.length) return b?.length ? [...b] : null
  return b?.length ? a.filter(name => b.includes(name)) : [...a]
}
