import { formatCount } from '#lib/format-count'
import { pluralize } from '#lib/pluralize'
import { oneLine } from '#lib/sanitize'
import { formatUsd } from '#lib/usd'
import { criteriaLines } from '../acceptance/acceptance.ts'
import type { Goal } from '../contract.ts'
import { planLines, progressOf } from '../pursuit/plan.ts'

const MARK = { active: '…', completed: '✓', abandoned: '✗' } as const
const NOT_CONFIRMED = 'not confirmed'

/** Maximum length of an objective and of a result in a list, in characters. */
const SHORT_CHARS = 80

/** Renders a goal as one line of a list: its state, and when and how it ended. */
export function line(goal: Goal): string {
  const { goal_id, status, objective, result, completed_at } = goal
  const ended = [goal.unconfirmed && NOT_CONFIRMED, short(result ?? '')].filter(Boolean).join(': ')
  const more = status === 'active' ? progress(goal) : ended
  const at = completed_at ? `${completed_at.slice(0, 16).replace('T', ' ')}  ` : ''
  const beginning = `${markOf(goal)} ${goal_id}  ${at}${short(objective)}`
  return more ? `${beginning.replace(/[.:]$/, '')}: ${more}` : beginning
}

function markOf({ status, unconfirmed }: Goal): string {
  return unconfirmed ? '?' : MARK[status]
}

/** Describes the progress of an active goal, and what it waits for. */
function progress({ plan, waits_for }: Goal): string {
  const { steps, done, current } = progressOf(plan)
  const parts = [
    waits_for !== null && `waits for ${waits_for}`,
    steps > 0 && `${done} of ${steps} steps done${current === null ? '' : `; now: ${oneLine(current)}`}`,
  ]
  return parts.filter(Boolean).join('; ')
}

/** Renders a goal with all details. */
export function renderGoal(goal: Goal): string {
  const { goal_id, agent_id, status, objective, priority, origin, acceptance, refusals, result } = goal
  const { created_at, completed_at, steps_completed } = goal
  const criteria = criteriaLines(acceptance)
  const lines = [
    `${markOf(goal)} ${goal_id}  ${agent_id}  ${status}${goal.unconfirmed ? `, ${NOT_CONFIRMED}: it did not call finish_goal` : ''}`,
    `  ${oneLine(objective)}`,
    `  priority ${priority}, from ${origin}, ${steps_completed} steps${costOf(goal)}`,
    `  set ${created_at}${completed_at ? `, ended ${completed_at}` : ''}`,
    goal.deadline && `  deadline ${goal.deadline}`,
    status === 'active' && progress(goal) && `  ${progress(goal)}`,
    ...planLines(goal.plan).map(step => `    ${step}`),
    acceptance.length > 0 &&
      `  counts as reached when${refusals > 0 ? ` (refused ${pluralize(refusals, 'time')})` : ''}:`,
    ...acceptance.map(
      ({ met, problem }, n) =>
        `    ${met === null ? '…' : met ? '✓' : '✗'} ${criteria[n]}${problem ? `\n      ${oneLine(problem)}` : ''}`,
    ),
    result && `  ${status === 'completed' ? 'result' : 'reason'}: ${result.replaceAll('\n', '\n    ')}`,
  ]
  return lines.filter(Boolean).join('\n')
}

function costOf({ cost_usd, tokens }: Goal): string {
  return cost_usd === null ? '' : `, ${formatUsd(cost_usd)}, ${formatCount(tokens ?? 0)} tokens`
}

function short(text: string): string {
  const chars = [...oneLine(text).trim()]
  return chars.length > SHORT_CHARS
    ? `${chars
        .slice(0, SHORT_CHARS - 1)
        .join('')
        .trimEnd()}…`
    : chars.join('')
}
