import { useState } from 'preact/hooks'
import { useDaemon } from '../../api/daemon.ts'
import { useModels } from '../../api/models.ts'
import { QUEUE, useQuestions, useWaiting } from '../../api/waiting.ts'
import { to } from '../../routes.ts'
import { agentOf, labelOf } from '../../ui/text/agent-names.ts'
import { plural, visible } from '../../ui/text/format.ts'
import type { Fleet, Member } from '../../ui/types.ts'

/** Number of characters of a block reason by which the list is searched for its agents. */
const FOUND_BY = 300
/** Number of problems of modules that are listed. */
const PROBLEMS = 3
/** Number of questions that are listed at first. */
const QUESTIONS = 5

/**
 * What needs the operator: a default model that is not available, problems of modules, calls to decide, questions to answer, and block
 * reasons, most frequent first.
 */
export function Attention({ summary, shared }: { summary: Fleet['summary']; shared: ReadonlySet<string> }) {
  const { total, asking, statuses, stuck } = summary
  const { running = true, health, frozen = false, problems = [] } = useDaemon().data ?? {}
  const modelProblem = useModelProblem()
  const questions = useQuestions().data ?? []
  const waiting = statuses.waiting_approval ?? 0
  const queue = useWaiting().data ?? []
  const ofTasks = queue.filter(({ task_id }) => task_id !== null).length
  const others = stuck - summary.reasons.reduce((sum, { agents }) => sum + agents, 0)
  if (!modelProblem && waiting + ofTasks + stuck + questions.length + problems.length === 0)
    // The header says what keeps all agents from working.
    return total === 0 || !running || health === 'stalled' || frozen ? null : (
      <p class="calm">No agent is stuck, and nothing needs your attention.</p>
    )
  return (
    <section class="card attention" aria-labelledby="attention">
      <h2 id="attention">Needs your attention</h2>
      <ul class="plain">
        {modelProblem && (
          <li>
            <a class="button" href={to('models')}>
              Show
            </a>
            <p>
              <strong>{visible(modelProblem)}</strong>
            </p>
          </li>
        )}
        {problems.slice(0, PROBLEMS).map(problem => (
          <li key={problem}>
            <p>
              <strong>{visible(problem)}</strong>
            </p>
          </li>
        ))}
        {problems.length > PROBLEMS && (
          <li>
            <p>
              {plural(problems.length - PROBLEMS, 'more problem')}: <code>svc daemon</code>
            </p>
          </li>
        )}
        {waiting > 0 && (
          <li>
            <a class="button" href={to('approvals')}>
              Decide
            </a>
            <p>
              <strong>
                {waiting === 1 && asking[0]
                  ? `${visible(labelOf(asking[0], shared))}: ${visible(asking[0].held)}`
                  : `${plural(waiting, 'agent')} wait for your approval`}
              </strong>
              {waiting > 1 && <small>{namesOf(asking, waiting, shared)}</small>}
            </p>
          </li>
        )}
        {ofTasks > 0 && (
          <li>
            <a class="button" href={to('approvals')}>
              Decide
            </a>
            <p>
              <strong>
                {ofTasks}
                {queue.length === QUEUE && '+'} {ofTasks === 1 ? 'call of a task waits' : 'calls of tasks wait'} for
                your approval
              </strong>
            </p>
          </li>
        )}
        <AskedQuestions />
        {summary.reasons.map(({ reason, agents, first }) => (
          <li key={reason}>
            <a
              class="button"
              href={
                agents === 1
                  ? to('agents', [first[0]!.agent_id])
                  : to('', [], { status: STUCK, q: reason.slice(0, FOUND_BY) })
              }
            >
              Show
            </a>
            <p>
              <strong>
                {agents === 1 ? visible(labelOf(first[0]!, shared)) : plural(agents, 'agent')}: {visible(reason)}
              </strong>
              {agents > 1 && <small>{namesOf(first, agents, shared)}</small>}
            </p>
          </li>
        ))}
        {others > 0 && (
          <li>
            <a class="button" href={to('', [], { status: STUCK })}>
              Show
            </a>
            <p>{plural(others, 'agent is', 'agents are')} blocked for other reasons.</p>
          </li>
        )}
      </ul>
    </section>
  )
}

/** Open questions of agents, oldest first; only some at first, so that they do not push the agents out of view. */
function AskedQuestions() {
  const questions = useQuestions().data ?? []
  const [isAll, setAll] = useState(false)
  const shown = isAll ? questions : questions.slice(0, QUESTIONS)
  const others = questions.length - shown.length
  return (
    <>
      {shown.map(({ question_id, agent_id, agent_name, question }) => (
        <li key={question_id}>
          <a class="button" href={to('agents', [agent_id])}>
            Answer
          </a>
          <p>
            <strong class="clamp">
              {visible(agentOf({ agent_id, agent_name }))} asks: {visible(question.split('\n\n', 1)[0]!)}
            </strong>
          </p>
        </li>
      ))}
      {others > 0 && (
        <li>
          <button type="button" class="button" onClick={() => setAll(true)}>
            Show
          </button>
          <p>
            {others}
            {questions.length === QUEUE && '+'} more {others === 1 ? 'question' : 'questions'} to answer.
          </p>
        </li>
      )}
    </>
  )
}

/** Returns why the default model cannot be called. */
function useModelProblem(): string | null {
  const { default: chosen, error, providers = [] } = useModels().data ?? {}
  const provider = providers.find(({ name }) => name === chosen?.provider)
  if (!chosen) return error ?? null
  return provider?.available === false ? `The default model ${chosen.model} is not available: ${provider.reason}` : null
}

/** Filter for agents that neither an approval nor the work of others keeps from theirs. */
export const STUCK = 'stuck'

function namesOf(
  first: readonly Pick<Member, 'agent_id' | 'name'>[],
  agents: number,
  shared: ReadonlySet<string>,
): string {
  const names = first.map(agent => visible(labelOf(agent, shared))).join(', ')
  return agents > first.length ? `${names} and ${agents - first.length} more` : names
}
