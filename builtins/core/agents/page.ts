import { parametersLine } from '#core/models/contract'
import { formatCount } from '#lib/format-count'
import { idAndName } from '#lib/id-and-name'
import { pluralize } from '#lib/pluralize'
import { formatUsd } from '#lib/usd'
import { sandboxSentence } from '#safety/sandbox/contract'
import type { AgentDetail, NextRun, StatusEntry } from './contract.ts'

const MARKS = { working: '●', idle: '○', waiting: '◌', waiting_approval: '?', paused: '‖', dead: '×' } as const
/** Width of a bar for a number from 0 to 1, in characters. */
const BAR = 10
/** Number of newest lines shown of a narrative. */
const STORY_LINES = 3

type Facts = Readonly<Record<string, unknown>>
type Row = readonly [name: string, text: string]

/** Default number of agents in one page. */
export const STATUS_PAGE = 1_000

/** Renders all agents: a line each, with role and activity below. */
export function statusPage(agents: readonly StatusEntry[]): string {
  if (agents.length === 0) return 'There are no agents; spawn one with: svc spawn coder'
  const labels = agents.map(idAndName)
  const width = Math.max(...labels.map(({ length }) => length))
  const lines = agents.map((agent, n) => {
    const { agent_id, status, model, role, goal, failures, waiting_task } = agent
    const head = `${MARKS[status]} ${labels[n]!.padEnd(width)}  ${status}${model ? `  ${model}` : ''}`
    const isFailing = failures > 0 && (status === 'idle' || status === 'waiting')
    const failed = failures === 1 ? 'its last cycle' : `its last ${failures} cycles`
    return [
      head,
      `    ${oneLine(role)}`,
      ...(goal ? [`  → ${oneLine(goal)}`] : []),
      ...(waiting_task ? [`  ? ${waiting_task} waits for your approval; see the call with: svc approvals`] : []),
      ...(isFailing ? [`  ! ${failed} failed; see why with: svc why ${agent_id}`] : []),
    ].join('\n')
  })
  if (agents.length === STATUS_PAGE)
    lines.push(
      `${STATUS_PAGE} agents are shown at a time; add ${STATUS_PAGE} to --offset for the next ones, as in: svc status --offset ${STATUS_PAGE}`,
    )
  return lines.join('\n')
}

/** Renders why an agent is idle, and until when. */
export function nextSentence({ reason, at }: NextRun): string {
  if (at === null) return reason
  return `${/[.!?]$/.test(reason) ? reason : `${reason}.`} Next run: ${at}.`
}

/** Renders an agent in sections. Unknown values are left out. */
export function agentPage(agent: AgentDetail): string {
  const { agent_id, status, name, preset, role } = agent
  return [
    `${MARKS[status]} ${agent_id}  ${status}\n  ${oneLine(role)}`,
    section('Now', now(agent)),
    section('Identity', identityRows(agent)),
    section('Persona', persona(agent.persona)),
    section('Mood and suffering', moodRows(agent)),
    section('World', factsOf(agent.world ?? {})),
    section('Work and cost', [
      ['model', agent.model || 'the default model'],
      ...optional('parameters', agent.parameters && parametersLine(agent.parameters)),
      [
        'spent',
        `${formatUsd(agent.cost_usd)}, ${formatCount(agent.tokens)} tokens, in ${pluralize(agent.cycle_count, 'cycle')}`,
      ],
      ...limits(agent),
      ['profile', preset === name ? preset : `${preset} (agent name: ${name})`],
      ['spawned', `${agent.created_at}${agent.spawned_by ? ` by ${agent.spawned_by}` : ''}`],
      ['last active', agent.last_active ?? 'never'],
      ...places(agent),
    ]),
    `More: svc goals ${agent_id}; likewise svc memory, journal, identity, suffering, messages, tools and why`,
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Renders the result of `svc spawn`: the agent and its access to the machine. */
export function spawnedPage(agent: AgentDetail): string {
  const { agent_id, role, folders, workspace } = agent
  const hint = `its own; to give it one of yours: svc edit ${agent_id} --workspace <folder>`
  return [
    `${agent_id}  ${role}`,
    ...(folders.length > 0 ? placeLines(agent) : [`  workspace: ${workspace} (${hint})`]),
  ].join('\n')
}

/** Renders the result of `svc edit`: what can be changed. */
export function changedPage(agent: AgentDetail): string {
  const { agent_id, model, role } = agent
  return [`${agent_id}: ${role} (${model || 'the default model'})`, ...placeLines(agent)].join('\n')
}

const placeLines = (agent: AgentDetail) => places(agent).map(row => `  ${row.join(': ')}`)

/** Rows of the folders that an agent may use, and of its sandbox. */
function places({ workspace, folders, sandbox }: AgentDetail): Row[] {
  const given = folders.find(({ path }) => path === workspace)
  return [
    ['workspace', given ? `${workspace} (${given.purpose ?? given.access})` : workspace],
    ...folders.filter(folder => folder !== given).map(({ path, access }): Row => ['folder', `${path} (${access})`]),
    ...(sandbox ? [['programs', sandboxSentence(sandbox)] satisfies Row] : []),
  ]
}

function now({ goal, goal_id, waiting_for, error, next }: AgentDetail): Row[] {
  return [
    ['goal', goal ? `${oneLine(goal)} (${goal_id})` : 'none'],
    ['next', nextSentence(next)],
    ...optional('waits for', waiting_for),
    ...optional('error', error),
  ]
}

function limits({ agent_id, budget }: AgentDetail): Row[] {
  if (!budget) return []
  const { pursuits, total } = budget
  const limit = (of: typeof pursuits) =>
    of.limit_usd === null ? 'no limit' : `$${of.limit_usd}${of.agent_id === agent_id ? '' : ` of ${of.agent_id}`}`
  const reserved = total.reserved_usd > 0 ? `, ${formatUsd(total.reserved_usd)} reserved` : ''
  return [
    ['max_cost_usd', `${limit(pursuits)}; ${formatUsd(pursuits.spent_usd)} spent on pursuits`],
    ['max_total_cost_usd', `${limit(total)}; ${formatUsd(total.spent_usd)} spent in total${reserved}`],
  ]
}

function identityRows({ identity }: AgentDetail): Row[] {
  if (!identity) return []
  const { display_name, traits, domains, worldview, narrative, chapters, opinions, open_questions } = identity
  const count = (list: unknown, one: string) => {
    const { length } = Array.isArray(list) ? list : []
    return length === 0 ? [] : [`${length} ${one}${length === 1 ? '' : 's'}`]
  }
  const kept = [...count(chapters, 'chapter'), ...count(opinions, 'opinion'), ...count(open_questions, 'open question')]
  const lines = String(narrative ?? '').split('\n')
  return [
    ...optional('display name', display_name),
    ...optional('traits', traits),
    ...optional('domains', domains),
    ...optional('worldview', worldview),
    ...optional('recorded', kept),
    ...lines.slice(-STORY_LINES).flatMap(line => optional('narrative', line)),
  ]
}

/** Rows of the persona; changed values are shown with their base. */
function persona(facts: AgentDetail['persona']): Row[] {
  if (!facts) return []
  const { base, personality, ...rest } = facts
  const begun = (base ?? {}) as Facts
  return [
    ...factsOf((personality ?? {}) as Facts).filter(([name]) => name !== 'traits'),
    ...Object.entries(rest).flatMap(([name, value]): Row[] => {
      if (typeof value !== 'number') return optional(name, value)
      const from = begun[name]
      const moved = typeof from === 'number' && from.toFixed(2) !== value.toFixed(2)
      return [[labelOf(name), `${bar(value)} ${value.toFixed(2)}${moved ? `, initially ${from.toFixed(2)}` : ''}`]]
    }),
  ]
}

function moodRows({ mood, suffering }: AgentDetail): Row[] {
  const { load, level, crisis, stressors } = (suffering ?? {}) as Facts
  const weighs = Array.isArray(stressors) ? (stressors as Facts[]) : []
  return [
    ...optional('mood', mood),
    ...(typeof load === 'number'
      ? [['load', `${bar(load)} ${load.toFixed(2)} ${level ?? ''}${crisis === true ? ', in crisis' : ''}`] as const]
      : []),
    ...weighs.map(({ stressor, name, severity }): Row => {
      const much = typeof severity === 'number' ? ` ${severity.toFixed(2)}` : ''
      return ['stressor', `${stressor ?? name}${much}`]
    }),
  ]
}

function factsOf(facts: Facts): Row[] {
  return Object.entries(facts).flatMap(([name, value]) => optional(name, value))
}

function optional(name: string, value: unknown): Row[] {
  const text = formatValue(value)
  return text === '' ? [] : [[labelOf(name), text]]
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(formatValue).filter(Boolean).join(', ')
  if (typeof value !== 'object') return oneLine(String(value))
  const pairs = Object.entries(value).map(([name, each]) => [labelOf(name), formatValue(each)] as const)
  return pairs
    .filter(([, text]) => text !== '')
    .map(pair => pair.join(' '))
    .join(', ')
}

function section(title: string, rows: readonly Row[]): string {
  if (rows.length === 0) return ''
  const width = Math.max(...rows.map(([name]) => name.length))
  let above = ''
  const lines = rows.map(([name, text]) => {
    const shown = name === above ? '' : name
    above = name
    return `  ${shown.padEnd(width)}  ${text}`
  })
  return [title, ...lines].join('\n')
}

/** Renders a number from 0 to 1 as a bar. */
function bar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * BAR)
  return '█'.repeat(full) + '·'.repeat(BAR - full)
}

function labelOf(name: string): string {
  return name.replaceAll('_', ' ')
}

/** Puts text of agents and users on one line, so that it cannot imitate our lines. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
