import { useRef } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useHeartbeat } from '../../api/daemon.ts'
import { useLatest } from '../../api/feed.ts'
import { ofAgent, useQuery } from '../../api/query.ts'
import { useQuestions } from '../../api/waiting.ts'
import { to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { count, dollars, duration, visible, withLocalTimes } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Agent } from '../../ui/types.ts'
import { Request } from '../approvals/request.tsx'
import { useShown } from '../approvals/shown.ts'
import { Persona } from './character/persona.tsx'
import { Nudge } from './conversation/nudge.tsx'
import { Questions } from './conversation/question.tsx'
import { Steps } from './conversation/steps.tsx'
import { AcceptanceList, GoalStatus, PlanList } from './goal-state.tsx'
import type { ViewProps } from './view.ts'

/** Overview of an agent: its current work, what blocks it, when it runs next, and its state. */
export function Overview({ agent, reload }: ViewProps) {
  const asks = useRef(false)
  const heartbeat = useHeartbeat()
  const every = agent.status === 'idle' ? heartbeat : undefined
  if (agent.status === 'waiting_approval') asks.current = true
  return (
    <>
      {asks.current && <Asked key={agent.agent_id} id={agent.agent_id} onDecided={reload} />}
      <Questions key={`questions ${agent.agent_id}`} id={agent.agent_id} onAnswered={reload} />
      <dl class="card figures">
        <Figure label="Next run" value={agent.next.at ? <When at={agent.next.at} ahead every={every} /> : '–'} />
        <Figure label="Cycles" value={agent.cycle_count.toLocaleString('en')} />
        <Figure label="Spent" value={dollars(agent.cost_usd)} note={`${count(agent.tokens)} tokens`} />
        <Limits agent={agent} />
        <Figure label="Last cycle" value={<When at={agent.last_active} none="never" every={every} />} />
      </dl>
      <Hindrance agent={agent} />
      <div class="columns">
        <div class="stack">
          <Now agent={agent} />
          <Nudge agent={agent} onSent={reload} />
        </div>
        <div class="stack">
          <Persona agent={agent} />
          <Recent agent={agent} />
          <Folders agent={agent} />
          <Happened agent={agent} />
        </div>
      </div>
    </>
  )
}

/** What keeps the agent from going on with its goal, unless it is shown above as a call or a question. */
function Hindrance({ agent: { status, goal, error, next } }: { agent: Agent }) {
  const questions = useQuestions().data ?? []
  const isAsked =
    status === 'waiting_approval' || questions.some(({ question_id }) => next.reason.includes(question_id))
  const reason = goal && !isAsked ? next.reason : ''
  const isSame = error !== null && reason.includes(error)
  return (
    <>
      {reason && !isSame && <p class="soft">{visible(withLocalTimes(reason))}</p>}
      {error && <p class="trouble">{visible(isSame ? withLocalTimes(reason) : error)}</p>}
    </>
  )
}

function Limits({ agent: { agent_id, budget } }: { agent: Agent }) {
  if (!budget) return null
  const limit = ({ limit_usd }: { limit_usd: number | null }) => (limit_usd === null ? 'none' : dollars(limit_usd))
  const spentText = (of: { agent_id: string; spent_usd: number }) =>
    `${dollars(of.spent_usd)} spent${of.agent_id === agent_id ? '' : ` by ${of.agent_id}`}`
  return (
    <>
      <Figure label="Cost limit for goals" value={limit(budget.pursuits)} note={spentText(budget.pursuits)} />
      <Figure label="Total cost limit" value={limit(budget.total)} note={spentText(budget.total)} />
    </>
  )
}

/**
 * Calls that wait for approval, decided here as in the queue. They come first and stay, so that no decision moves them.
 */
function Asked({ id, onDecided }: { id: string; onDecided: () => Promise<void> }) {
  const query = useQuery(`asked ${id}`, { ask: () => api.approvals.list({ id }), on: ofAgent(id) })
  const { shown } = useShown(query.data)
  const onDecision = () => void Promise.all([query.reload(), onDecided()])
  return (
    <Loaded query={query} below>
      {() => (
        <ul class="stack plain">
          {shown.map(({ approval, isOpen }) => (
            <Request key={approval.approval_id} approval={approval} isOpen={isOpen} onDecided={onDecision} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function Now({ agent }: { agent: Agent }) {
  const { goal, goal_id, agent_id } = agent
  if (!goal || !goal_id)
    return (
      <Card title="Goal">
        <Empty
          title="No current goal."
          actions={
            <a class="button" href={to('agents', [agent_id, 'goals'], { add: 'true' })}>
              Add a goal
            </a>
          }
        >
          {visible(withLocalTimes(agent.next.reason))}
        </Empty>
      </Card>
    )
  return (
    <Card title="Goal" aside={<a href={to('agents', [agent_id, 'goals', goal_id])}>Goal details</a>}>
      <div class="stack">
        <p>{visible(goal)}</p>
        <Progress id={agent_id} goal_id={goal_id} />
        <Steps goal_id={goal_id} agent_id={agent_id} limit={8} />
      </div>
    </Card>
  )
}

/** Folders, workspace and sandbox of the agent. */
function Folders({ agent: { folders, workspace, sandbox } }: { agent: Agent }) {
  const isOwn = folders.every(({ path }) => path !== workspace)
  return (
    <Card title="Folders">
      <ul class="plain list">
        {isOwn && (
          <li>
            <Tag>read-write</Tag>
            <code>{visible(workspace)}</code>
            <small>workspace</small>
          </li>
        )}
        {folders.map(({ path, access, purpose }) => (
          <li key={path}>
            <Tag kind={access === 'read-write' ? 'warn' : ''}>{access}</Tag>
            <code>{visible(path)}</code>
            {path === workspace && <small>workspace{purpose === 'worktree' && ', git worktree'}</small>}
          </li>
        ))}
      </ul>
      {sandbox && (
        <p class="soft">
          {sandbox.wall === 'none'
            ? visible(`Programs of the agent run with your permissions, without a sandbox: ${sandbox.reason}.`)
            : `Programs of the agent run in a sandbox, ${sandbox.network ? 'with' : 'without'} network access.`}
        </p>
      )}
    </Card>
  )
}

/** Plan and acceptance criteria of a goal, kept up to date. */
function Progress({ id, goal_id }: { id: string; goal_id: string }) {
  const { data } = useQuery(`goal ${goal_id}`, { ask: () => api.goals.get({ goal_id }), on: ofAgent(id) })
  if (!data) return null
  return (
    <>
      <PlanList goal={data} />
      <AcceptanceList goal={data} />
    </>
  )
}

function Recent({ agent: { agent_id: id } }: { agent: Agent }) {
  const query = useQuery(`history ${id}`, { ask: () => api.goals.history({ id, limit: 6 }), on: ofAgent(id) })
  return (
    <Card title="Recent goals" aside={<a href={to('agents', [id, 'goals'])}>All goals</a>}>
      <Loaded query={query}>
        {goals =>
          goals.length === 0 ? (
            <Empty title="No goals yet.">
              The agent looks for a goal when it wakes. You can also add one under Goals.
            </Empty>
          ) : (
            <ul class="plain list">
              {goals.map(goal => (
                <li key={goal.goal_id}>
                  <span>
                    <GoalStatus goal={goal} />
                  </span>
                  <a class="clamp" href={to('agents', [id, 'goals', goal.goal_id])}>
                    {visible(goal.objective)}
                  </a>
                  <small>
                    <When at={goal.completed_at ?? goal.created_at} />
                  </small>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  )
}

function Happened({ agent: { agent_id } }: { agent: Agent }) {
  const events = useLatest(event => event.agent_id === agent_id && event.type === 'cycle_done', 8)
  if (events.length === 0) return null
  return (
    <Card title="Recent cycles" aside={<a href={to('events', [], { agent: agent_id })}>All events</a>}>
      <ul class="plain list">
        {events.map(({ seq, at, cycle_num, data }) => (
          <li key={seq}>
            <Tag>{String(data.result ?? '')}</Tag>
            <span>
              cycle {cycle_num}
              {typeof data.duration_ms === 'number' && ` · ${duration(data.duration_ms)}`}
            </span>
            <small>
              <When at={at} />
            </small>
          </li>
        ))}
      </ul>
    </Card>
  )
}
