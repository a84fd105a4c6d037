import { idAndName } from '../../../builtins/lib/id-and-name.ts'
import { api } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { markAsSeen, useLastVisit } from '../../api/last-visit.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { Once } from '../../ui/once.ts'
import { Status } from '../../ui/status.tsx'
import { dollars, integer, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Answer } from '../../ui/types.ts'
import { spanOver } from '../spend/index.tsx'

type Summary = Answer<'summary.show'>

const HOUR_MS = 3_600_000
/** Maximum number of ended goals, and of failures. */
const [MOST_GOALS, MOST_PROBLEMS] = [5, 3]

/** What happened while the reader was away; nothing in a first visit, if nothing happened, or without the module. */
export function LastVisit() {
  const since = useLastVisit()
  const { data } = useQuery(since === undefined ? null : `summary since ${since}`, {
    // The server's clock may differ from this machine's.
    ask: () => api.summary.show({ since: new Date(since! + now() - Date.now()).toISOString(), top: MOST_GOALS }),
    on: ofKinds('goal_completed', 'goal_abandoned', 'agent_deleted'),
  })
  if (!data || data.completed + data.abandoned + data.problems.length + data.cost_usd === 0) return null
  return <Once of={[data]} draw={() => <Happened summary={data} />} />
}

function Happened({ summary }: { summary: Summary }) {
  const { since, until, goals, problems, cost_usd, model_calls, names } = summary
  const away_ms = Date.parse(until) - Date.parse(since)
  const others = problems.slice(MOST_PROBLEMS).reduce((sum, { times }) => sum + times, 0)
  return (
    <Card
      title="Since your last visit"
      aside={
        <>
          <small>
            <When at={since} />
          </small>
          <button type="button" class="small" onClick={markAsSeen}>
            Mark as seen
          </button>
        </>
      }
    >
      <dl class="figures">
        <Ended summary={summary} label="Goals completed" of="completed" />
        <Ended summary={summary} label="Of these, not confirmed" of="unconfirmed" />
        <Ended summary={summary} label="Goals abandoned" of="abandoned" />
        <Figure
          label="Spent"
          value={<a href={to('spend', [], { span: spanOver(away_ms) })}>{dollars(cost_usd)}</a>}
          note={plural(model_calls, 'model call')}
        />
      </dl>
      {goals.length + problems.length > 0 && (
        <ul class="plain list happened">
          {goals.map(goal => (
            <EndedGoal key={goal.goal_id} goal={goal} names={names} />
          ))}
          {problems.slice(0, MOST_PROBLEMS).map(problem => (
            <Problem key={`${problem.agent_id} ${problem.text}`} problem={problem} names={names} />
          ))}
        </ul>
      )}
      {others > 0 && (
        <p class="hint">
          {plural(others, 'more failure')}: <code>svc summary --hours {Math.ceil(away_ms / HOUR_MS)}</code>
        </p>
      )}
    </Card>
  )
}

interface EndedProps {
  summary: Summary
  label: string
  of: 'completed' | 'unconfirmed' | 'abandoned'
}

/** Number of ended goals, with a link to them if they are all of one agent. */
function Ended({ summary, label, of }: EndedProps) {
  const [one, other] = summary.agents.filter(agent => agent[of] > 0)
  const number = integer(summary[of])
  const status = of === 'abandoned' ? of : 'completed'
  return (
    <Figure
      label={label}
      value={one && !other ? <a href={to('agents', [one.agent_id, 'goals'], { status })}>{number}</a> : number}
    />
  )
}

type Names = Summary['names']

function EndedGoal({ goal, names }: { goal: Summary['goals'][number]; names: Names }) {
  const { goal_id, agent_id, objective, status, unconfirmed, result, completed_at } = goal
  return (
    <li>
      <Status of={unconfirmed ? 'not_confirmed' : status} />
      <div>
        <a class="clamp one" title={visible(objective)} href={to('agents', [agent_id, 'goals', goal_id])}>
          {visible(objective)}
        </a>
        {result && <small class="clamp one">{visible(firstLineOf(result))}</small>}
      </div>
      <Of agent_id={agent_id} names={names} at={completed_at} />
    </li>
  )
}

function Problem({ problem, names }: { problem: Summary['problems'][number]; names: Names }) {
  const { agent_id, text, times, last_at } = problem
  return (
    <li>
      <Status of="failed" />
      <div>
        <span class="clamp" title={visible(text)}>
          {visible(text)}
        </span>
        {times > 1 && <small>{integer(times)} times</small>}
      </div>
      <Of agent_id={agent_id} names={names} at={last_at} />
    </li>
  )
}

/** Agent of an entry, and its time. */
const Of = ({ agent_id, names, at }: { agent_id: string | null; names: Names; at: string }) => (
  <small>
    {agent_id && <a href={to('agents', [agent_id])}>{visible(idAndName({ agent_id, name: names[agent_id] }))}</a>}
    {agent_id && ' · '}
    <When at={at} />
  </small>
)

const firstLineOf = (text: string) => text.trim().split('\n', 1)[0]!
