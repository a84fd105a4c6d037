import { brief } from '#lib/brief'
import { idAndName } from '#lib/id-and-name'
import { pluralize } from '#lib/pluralize'
import { formatUsd } from '#lib/usd'
import type { Summary } from './schema.ts'

type EndedGoal = Summary['goals'][number]

/** Renders a summary as text for a terminal, with the commands that answer what waits. */
export function renderSummary(summary: Summary): string {
  const { since, waiting, problems, model_calls, cost_usd, names } = summary
  const nameOf = (agent_id: string) => idAndName({ agent_id, name: names[agent_id] })
  const sections = [
    `since ${minute(since)} UTC: ${outcomesOf(summary)}; ${pluralize(model_calls, 'model call')}, ${formatUsd(cost_usd)}`,
    section(
      'Waiting for you',
      waiting.flatMap(each => waitingLines(each, nameOf(each.agent_id))),
    ),
    tasksSection(summary.tasks, nameOf),
    ...summary.agents.map(agent => agentSection(agent, summary.goals, nameOf(agent.agent_id))),
    section(
      'Problems',
      problems.map(
        ({ agent_id, text, times, last_at }) =>
          `  ${minute(last_at)}  ${agent_id === null ? '-' : nameOf(agent_id)}  ${brief(text)}${times > 1 ? ` (${times} times)` : ''}`,
      ),
    ),
  ]
  return sections.filter(Boolean).join('\n\n')
}

function section(title: string, lines: readonly string[]): string {
  return lines.length > 0 ? [title, ...lines].join('\n') : ''
}

function agentSection(agent: Summary['agents'][number], goals: Summary['goals'], name: string): string {
  const shown = goals.filter(({ agent_id }) => agent_id === agent.agent_id)
  const more = agent.completed + agent.abandoned - shown.length
  return [
    `${name}: ${outcomesOf(agent)}, ${formatUsd(agent.cost_usd)}`,
    ...shown.flatMap(goalLines),
    ...(more > 0 ? [`  ${more} more: svc history ${agent.agent_id}`] : []),
  ].join('\n')
}

function tasksSection(
  { ended, completed, cancelled, cost_usd, open }: Summary['tasks'],
  nameOf: (agent_id: string) => string,
): string {
  if (ended === 0 && open.length === 0) return ''
  return [
    `Tasks: ${completed} of ${pluralize(ended, 'ended task')} completed${cancelled > 0 ? `, ${cancelled} cancelled` : ''}, ${formatUsd(cost_usd)}`,
    ...open.flatMap(({ task_id, agent_id, instruction, status, at }) => [
      `  ${minute(at)}  ${nameOf(agent_id)}  ${status.replaceAll('_', ' ')}  ${brief(instruction)}`,
      `    svc task ${task_id}`,
    ]),
  ].join('\n')
}

function outcomesOf({ completed, unconfirmed, abandoned }: Pick<Summary, 'completed' | 'unconfirmed' | 'abandoned'>) {
  const doubt = unconfirmed > 0 ? ` (${unconfirmed} not confirmed)` : ''
  return `${pluralize(completed, 'goal')} completed${doubt}, ${abandoned} abandoned`
}

function waitingLines({ kind, id, text, at }: Summary['waiting'][number], name: string): string[] {
  const answer = kind === 'approval' ? `svc approve ${id}, or svc deny ${id}` : `svc answer ${id} <text>`
  return [
    `  ${minute(at)}  ${name}  ${kind === 'approval' ? 'wants to call ' : 'asks: '}${brief(text)}`,
    `    ${answer}`,
  ]
}

function goalLines({ completed_at, status, unconfirmed, objective, result }: EndedGoal): string[] {
  const outcome = status === 'abandoned' ? 'abandoned' : unconfirmed ? 'not confirmed' : 'completed'
  return [
    `  ${minute(completed_at)}  ${outcome.padEnd(13)}  ${brief(objective)}`,
    ...(result ? [`${' '.repeat(35)}→ ${brief(result)}`] : []),
  ]
}

function minute(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}`
}
