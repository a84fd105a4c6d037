import { type AgentRow, Agents } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'

/** Maximum number of agents on the card of the whole service. */
const LISTED = 100
const LONGEST_ROLE = 500

/** URL and version of this server, and the client's protocol version. */
export interface Place {
  base: string
  /** Version of the package. */
  version: string
  /** Whether the client uses version 0.3, or states no version. */
  old: boolean
}

interface Skill {
  id: string
  name: string
  description: string
  tags: string[]
}

/** Returns the card of an agent: its description, URL and skills. */
export async function agentCard(svc: PluginHandle, at: Place, agent: AgentRow) {
  const profile = await svc.use(Agents).profileOf(agent)
  const skills = profile.skills.map(name => ({ id: name, name, description: name, tags: ['skill'] }))
  const role = roleOf(agent)
  const itself = { id: 'task', name: agent.name, description: role, tags: [agent.preset] }
  const url = `${at.base}/a2a/${encodeURIComponent(agent.agent_id)}`
  return card(svc, at, { name: agent.name, description: role, url, skills: [itself, ...skills] })
}

/** Returns the card of the service. It lists each live agent as a skill, with the agent's URL. */
export async function serviceCard(svc: PluginHandle, at: Place) {
  const agents: AgentRow[] = []
  for (let offset = 0, page: AgentRow[]; agents.length < LISTED; offset += LISTED) {
    page = await svc.use(Agents).list({ limit: LISTED, offset })
    agents.push(...page.filter(({ died_at }) => died_at === null))
    if (page.length < LISTED) break
  }
  const skills = agents.slice(0, LISTED).map(agent => ({
    id: agent.agent_id,
    name: agent.name,
    tags: [agent.preset],
    description: `${roleOf(agent)} (${at.base}/a2a/${encodeURIComponent(agent.agent_id)})`,
  }))
  const description = 'Autonomous agents. Each has a card of its own at /a2a/<agent_id>/.well-known/agent-card.json.'
  return card(svc, at, { name: 'svc', description, url: `${at.base}/a2a`, skills })
}

function card(
  svc: PluginHandle,
  { version, old }: Place,
  { url, skills, ...itself }: Record<'name' | 'description' | 'url', string> & { skills: Skill[] },
) {
  return {
    ...itself,
    version,
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    // Fields that clients of version 0.3 read.
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    ...security(Boolean(svc.config.get('server.api_key')), old),
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills,
  }
}

/**
 * Returns the required credentials in the format of the client's version, because neither version reads the other's.
 */
function security(keyed: boolean, old: boolean) {
  if (!keyed) return { securitySchemes: {} }
  const scheme = { name: 'X-Svc-Key', description: 'The API key of this server' }
  if (old) return { securitySchemes: { key: { type: 'apiKey', in: 'header', ...scheme } }, security: [{ key: [] }] }
  return {
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', ...scheme } } },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
  }
}

function roleOf({ role, name }: AgentRow): string {
  return role.slice(0, LONGEST_ROLE) || name
}
