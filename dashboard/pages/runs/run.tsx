import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { When } from '../../ui/time.tsx'
import { count, dollars, duration, visible } from '../../ui/words.ts'
import { Waterfall } from './waterfall.tsx'

const SPANS = 1_000

/** One run: what came of it, and when what happened. */
export function Run({ run_id, place }: { run_id: string; place: Place }) {
  const { agent = '' } = place.query
  const run = useQuery(`run ${run_id}`, { ask: () => api.runs.get({ id: run_id }), on: ofKinds('cycle_done', 'task_') })
  const trace = useQuery(`trace ${run_id} ${agent}`, {
    ask: () => api.runs.trace({ run_id, limit: SPANS, ...(agent ? { agent_id: agent } : {}) }),
    on: ofKinds('cycle_done', 'task_', 'tool_result'),
  })
  return (
    <>
      <div class="page-head">
        <h1>
          Run <code>{visible(run_id)}</code>
        </h1>
        {run.data && <Status of={run.data.status} />}
        <a class="aside" href={to('runs')}>
          All runs
        </a>
      </div>
      <Loaded query={run}>
        {found => (
          <dl class="card figures">
            <Figure label="Took" value={duration(found.duration_s * 1000)} note={<When at={found.started_at} />} />
            <Figure label="Cycles" value={count(found.cycles)} />
            <Figure
              label="Goals reached"
              value={found.goals_completed}
              note={`${count(found.goals_generated)} begun`}
            />
            <Figure label="Tool calls" value={count(found.tool_calls)} note={`${found.tool_failures} failed`} />
            <Figure label="Cost" value={dollars(found.cost_usd)} note={`${count(found.tokens)} tokens`} />
            {found.exit && <Figure label="Ended" value={visible(found.exit)} />}
          </dl>
        )}
      </Loaded>
      {run.data && (
        <Card
          title="What happened when"
          aside={
            <input
              type="search"
              class="search"
              aria-label="Only this agent"
              placeholder="Only this agent’s id"
              value={agent}
              onChange={event => refine({ agent: event.currentTarget.value.trim() })}
            />
          }
        >
          <Loaded query={trace}>
            {({ root, total_spans, complete }) =>
              root.children.length === 0 ? (
                <Empty title="Nothing happened in it yet." />
              ) : (
                <>
                  <Waterfall root={root} />
                  {!complete && (
                    <p class="hint">
                      The newest of {total_spans.toLocaleString('en')} spans; name an agent above, or{' '}
                      <code>svc trace {run_id}</code> tells all.
                    </p>
                  )}
                </>
              )
            }
          </Loaded>
        </Card>
      )}
    </>
  )
}
