import type { AgentRow } from '#core/agents/contract'
import { isoTime } from '#platform/store/contract'
import type { IdentityRecord } from './contract.ts'

interface ModulePart {
  title: string
  fields: Record<string, unknown> | undefined
}

/** Renders an agent's life as Markdown. */
export function biographyOf(
  identity: IdentityRecord,
  agent: AgentRow,
  facts: Record<string, unknown>,
  modules: readonly ModulePart[],
): string {
  const { display_name, traits, domains, chapters, narrative, worldview, opinions, open_questions, evolution } =
    identity
  const died = agent.died_at === null ? '' : ` and died ${isoTime(agent.died_at)}`
  // The first domain is the beginning of the role, which is already shown above.
  const home = domains.filter(domain => !agent.role.startsWith(domain))
  const unconfirmed = Number(facts.goals_unconfirmed) > 0 ? ` (${facts.goals_unconfirmed} not confirmed)` : ''
  const born = `Born ${isoTime(agent.created_at)}${died}; cycles: ${agent.cycle_num}, goals completed: ${facts.goals_completed}${unconfirmed}, abandoned: ${facts.goals_abandoned}.`
  return `${[
    `# ${display_name}`,
    `*${agent.name}, ${agent.agent_id}: ${agent.role}*`,
    born,
    traits.length > 0 && `Traits: ${traits.join(', ')}`,
    home.length > 0 && `Domains: ${home.join(', ')}`,
    part('Story', [...chapters.map(({ index, summary }) => `- Chapter ${index}: ${summary}`), ...lines(narrative)]),
    part('View of the world', worldview ? [worldview] : []),
    part(
      'Opinions',
      opinions.map(({ domain, opinion }) => `- On ${domain}: ${opinion}`),
    ),
    part(
      'Open questions',
      open_questions.map(({ question }) => `- ${question}`),
    ),
    part(
      'Changes over time',
      evolution.map(({ at, note }) => `- ${at.slice(0, 10)}: ${note}`),
    ),
    ...modules.map(({ title, fields }) => part(title, Object.entries(fields ?? {}).flatMap(field))),
  ]
    .filter(Boolean)
    .join('\n\n')}\n`
}

function part(title: string, body: readonly string[]): string | undefined {
  return body.length > 0 ? `## ${title}\n\n${body.join('\n')}` : undefined
}

function lines(text: string): string[] {
  return text === '' ? [] : text.split('\n').map(line => `- ${line}`)
}

function field([name, value]: [string, unknown]): string[] {
  if (value === null || value === undefined || value === '') return []
  const words = name.replaceAll('_', ' ')
  if (Array.isArray(value)) return value.length > 0 ? [`- ${words}:`, ...value.map(each => `  - ${plain(each)}`)] : []
  return [`- ${words}: ${plain(value)}`]
}

function plain(value: unknown): string {
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).replace(/\s+/g, ' ')
}
