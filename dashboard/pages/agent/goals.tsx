import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofAgent, useQuery } from '../../api/query.ts'
import { to, usePlace } from '../../routes.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { Card } from '../../ui/card.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Choice, chosenIn, Order, orderIn } from '../../ui/lists/list-filters.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { Conversation, Words } from '../../ui/text/conversation.tsx'
import { count, dollars, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Agent } from '../../ui/types.ts'
import { AcceptanceFields, acceptanceIn, ChangeAcceptance } from './acceptance.tsx'
import { Steps } from './conversation/steps.tsx'
import { ChangesOfGoal } from './folder-changes.tsx'
import { AcceptanceList, GoalStatus, PlanList } from './goal-state.tsx'
import type { ViewProps } from './view.ts'

const CALLS = 200

/** Height of a row that is shown as a card with three lines. */
const CARD_PX = 92
const STATUSES = ['active', 'completed', 'abandoned'] as const

/** Goals of an agent, past and current; one of them in full. */
export function Goals({ agent, place }: ViewProps) {
  const goal_id = place.parts[2]
  return goal_id ? <OneGoal agent={agent} goal_id={goal_id} /> : <AllGoals agent={agent} />
}

function AllGoals({ agent: { agent_id: id } }: { agent: Agent }) {
  const place = usePlace()
  const wanted = { status: chosenIn(place.query, 'status', STATUSES), order: orderIn(place.query) }
  const { query, isEmpty, title, pager } = usePage(`goals ${id}`, {
    filter: JSON.stringify(wanted),
    ask: window => api.goals.history({ id, ...window, ...wanted }),
    on: ofAgent(id),
  })
  return (
    <div class="stack">
      <GiveGoal id={id} isOpen={place.query.add === 'true'} onGiven={query.reload} />
      <Loaded query={query}>
        {goals =>
          isEmpty && wanted.status === undefined ? (
            <Empty title="No goals yet.">
              The agent looks for a goal in its next cycle. You can also add one above.
            </Empty>
          ) : (
            <Card
              title={title('goal', 'Goals')}
              aside={
                <>
                  <Choice label="Status" name="status" values={STATUSES} />
                  <Order />
                </>
              }
            >
              <Table
                caption="Goals"
                cardPx={CARD_PX}
                rows={goals}
                keyOf={goal => goal.goal_id}
                columns={[
                  {
                    name: 'Objective',
                    kind: 'grow',
                    cell: ({ goal_id, objective }) => (
                      <a class="clamp" title={visible(objective)} href={to('agents', [id, 'goals', goal_id])}>
                        {visible(objective)}
                      </a>
                    ),
                  },
                  { name: 'Status', kind: 'narrow', cell: goal => <GoalStatus goal={goal} /> },
                  { name: 'Origin', kind: 'narrow', wide: true, cell: ({ origin }) => <Tag>{visible(origin)}</Tag> },
                  { name: 'Steps', kind: 'number', wide: true, cell: ({ steps_completed }) => steps_completed },
                  {
                    name: 'Cost',
                    kind: 'number',
                    cell: ({ cost_usd, tokens }) => (
                      <span title={tokens === null ? undefined : `${count(tokens)} tokens`}>
                        {cost_usd === null ? '–' : dollars(cost_usd)}
                      </span>
                    ),
                  },
                  { name: 'Priority', kind: 'number', wide: true, cell: ({ priority }) => priority },
                  {
                    name: 'Time',
                    kind: 'narrow',
                    cell: ({ completed_at, created_at }) => <When at={completed_at ?? created_at} />,
                  },
                ]}
              />
              {pager}
            </Card>
          )
        }
      </Loaded>
    </div>
  )
}

function GiveGoal({ id, isOpen, onGiven }: { id: string; isOpen: boolean; onGiven: () => void }) {
  const give = useAction(async (element: HTMLFormElement) => {
    const form = new FormData(element)
    const [objective, priority] = [String(form.get('objective')), Number(form.get('priority'))]
    const deadline = String(form.get('deadline'))
    const until = deadline === '' ? {} : { deadline: new Date(deadline).toISOString() }
    await api.goals.add({ id, objective, priority, acceptance: acceptanceIn(form), ...until })
    element.reset()
    onGiven()
  }, 'Goal added.')
  return (
    <details class="card" open={isOpen}>
      <summary>Add a goal</summary>
      <ActionForm action={give} submit="Add goal" onSubmit={give.run}>
        <label>
          Objective
          <textarea name="objective" rows={2} required maxLength={4000} />
        </label>
        <label>
          Priority (1 to 10)
          <input name="priority" type="number" min="1" max="10" defaultValue="4" required />
        </label>
        <label>
          Deadline
          <input name="deadline" type="datetime-local" />
        </label>
        <AcceptanceFields />
      </ActionForm>
    </details>
  )
}

function Abandon({ goal_id, onDone, onClose }: { goal_id: string; onDone: () => Promise<void>; onClose: () => void }) {
  const abandon = useAction(async () => {
    await api.goals.abandon({ goal_id })
    await onDone()
  }, 'Goal abandoned.')
  return (
    <Confirm title="Abandon this goal?" label="Abandon goal" action={abandon} onClose={onClose}>
      <p>The agent stops working on the goal and its subgoals. Abandoned goals do not start again.</p>
    </Confirm>
  )
}

function OneGoal({ agent: { agent_id: id }, goal_id }: { agent: Agent; goal_id: string }) {
  const query = useQuery(`goal ${goal_id}`, { ask: () => api.goals.get({ goal_id }), on: ofAgent(id) })
  const [isAbandoning, setAbandoning] = useState(false)
  const [isChanging, setChanging] = useState(false)
  return (
    <Loaded query={query}>
      {goal => (
        <div class="stack">
          <Card
            title="Goal"
            aside={
              <>
                <GoalStatus goal={goal} />
                {goal.status === 'active' && (
                  <>
                    <button type="button" class="small" onClick={() => setChanging(true)}>
                      Change criteria…
                    </button>
                    <button type="button" class="danger small" onClick={() => setAbandoning(true)}>
                      Abandon…
                    </button>
                  </>
                )}
              </>
            }
          >
            <div class="stack">
              <p>{visible(goal.objective)}</p>
              {goal.reasoning && <p class="soft">Reasoning: {visible(goal.reasoning)}</p>}
              {goal.result && <Words text={goal.result} open markdown />}
              <ChangesOfGoal id={id} goal_id={goal_id} />
              <p class="soft">
                {goal.origin} · priority {goal.priority} · {goal.steps_completed} steps ·{' '}
                {goal.tokens !== null && (
                  <>
                    {dollars(goal.cost_usd ?? 0)} for {count(goal.tokens)} tokens ·{' '}
                  </>
                )}
                created <When at={goal.created_at} />
                {goal.completed_at && (
                  <>
                    {' '}
                    · ended <When at={goal.completed_at} />
                  </>
                )}
                {goal.deadline && (
                  <>
                    {' '}
                    · deadline <When at={goal.deadline} />
                  </>
                )}
                {goal.after.map(each => (
                  <span key={each}>
                    {' '}
                    · after <code>{each}</code>
                  </span>
                ))}
                {goal.parent_goal_id && (
                  <>
                    {' '}
                    · subgoal of <a href={to('agents', [id, 'goals', goal.parent_goal_id])}>{goal.parent_goal_id}</a>
                  </>
                )}
              </p>
              <PlanList goal={goal} />
              <AcceptanceList goal={goal} />
            </div>
          </Card>
          {isChanging && <ChangeAcceptance goal={goal} onDone={query.reload} onClose={() => setChanging(false)} />}
          {isAbandoning && <Abandon goal_id={goal_id} onDone={query.reload} onClose={() => setAbandoning(false)} />}
          <div class="columns">
            <Card title="Tool calls">
              <Steps goal_id={goal_id} agent_id={id} limit={CALLS} />
            </Card>
            {goal.status === 'active' && <Transcript goal_id={goal_id} agent_id={id} />}
          </div>
        </div>
      )}
    </Loaded>
  )
}

function Transcript({ goal_id, agent_id }: { goal_id: string; agent_id: string }) {
  const query = useQuery(`transcript ${goal_id}`, {
    ask: () => api.goals.transcript({ goal_id }),
    on: ofAgent(agent_id),
  })
  return (
    <Card title="Transcript">
      <Loaded query={query}>
        {messages =>
          messages.length === 0 ? <p class="soft">No messages yet.</p> : <Conversation messages={messages} />
        }
      </Loaded>
    </Card>
  )
}
