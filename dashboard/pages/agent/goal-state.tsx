import { Status, Tag } from '../../ui/status.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import type { Goal } from '../../ui/types.ts'

/** Status of a goal, and whether its end is not confirmed. */
export function GoalStatus({ goal: { status, unconfirmed } }: { goal: Pick<Goal, 'status' | 'unconfirmed'> }) {
  return (
    <>
      <Status of={status} /> {unconfirmed && <Tag kind="warn">not confirmed</Tag>}
    </>
  )
}

/** Acceptance criteria of a goal, with the results of the last check. */
export function AcceptanceList({ goal: { acceptance, refusals } }: { goal: Pick<Goal, 'acceptance' | 'refusals'> }) {
  if (acceptance.length === 0) return null
  return (
    <div>
      <h3>Acceptance criteria</h3>
      <ul class="plain list marked">
        {acceptance.map(({ command, file, rubric, met, problem }) => (
          <li key={`${command} ${file} ${rubric}`}>
            <Tag kind={met === false ? 'warn' : ''}>{met === null ? 'not checked' : met ? 'met' : 'not met'}</Tag>
            <span>
              {command !== undefined ? (
                <>
                  <code>{visible(command)}</code> exits with 0
                </>
              ) : file !== undefined ? (
                <>
                  <code>{visible(file)}</code> exists
                </>
              ) : rubric !== undefined ? (
                <>a model confirms: {visible(rubric)}</>
              ) : (
                'you accept the result'
              )}
              {problem && (
                <>
                  <br />
                  <small>{visible(problem)}</small>
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {refusals > 0 && <p class="hint">Completion rejected {plural(refusals, 'time')}.</p>}
    </div>
  )
}

const MARKS = { pending: '○', in_progress: '▶', done: '✓', skipped: '–' } as const

/** Plan of the agent for a goal, and its progress. */
export function PlanList({ goal: { plan } }: { goal: Pick<Goal, 'plan'> }) {
  if (plan.length === 0) return null
  return (
    <div>
      <h3>Plan</h3>
      <ol class="plain list marked">
        {plan.map(({ step, status }) => (
          <li key={step}>
            <span title={status}>
              {MARKS[status]} <span class="unseen">{status.replace('_', ' ')}</span>
            </span>
            <span>{visible(step)}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
