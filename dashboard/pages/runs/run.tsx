import { api } from '../../api/client.ts'
import { never, ofKinds, useLasting, useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { PageButton } from '../../ui/lists/pager.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { count, dollars, duration, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Answer } from '../../ui/types.ts'
import { extentOf, Waterfall } from './waterfall.tsx'

/** Number of events in one part of a trace. */
const EVENTS = 1_000

/** One run: its outcome, and its events over time. */
export function Run({ run_id, place }: { run_id: string; place: Place }) {
  const { agent = '', before, after } = place.query
  const run = useQuery(`run ${run_id}`, { ask: () => api.runs.get({ id: run_id }), on: ofKinds('cycle_done', 'task_') })
  const isNewest = before === undefined && after === undefined
  const part =
    before !== undefined
      ? { before: Number(before) }
      : after !== undefined
        ? { after: Number(after) }
        : { newest: true }
  const fresh = useQuery(`trace ${run_id} ${agent} ${before ?? ''} ${after ?? ''}`, {
    ask: () => api.runs.trace({ run_id, limit: EVENTS, ...part, ...(agent ? { agent_id: agent } : {}) }),
    // Older parts do not change.
    on: isNewest ? ofKinds('cycle_done', 'task_', 'tool_result') : never,
  })
  const trace = useLasting(`${run_id} ${agent}`, fresh)
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
            <Figure label="Duration" value={duration(found.duration_s * 1000)} note={<When at={found.started_at} />} />
            <Figure label="Cycles" value={count(found.cycles)} />
            <Figure
              label="Goals completed"
              value={found.goals_completed}
              note={`${count(found.goals_abandoned)} abandoned`}
            />
            <Figure label="Tool calls" value={count(found.tool_calls)} note={`${found.tool_failures} failed`} />
            <Figure label="Cost" value={dollars(found.cost_usd)} note={`${count(found.tokens)} tokens`} />
            {found.exit && <Figure label="Exit reason" value={visible(found.exit)} />}
          </dl>
        )}
      </Loaded>
      {run.data && (
        <Card
          title="Timeline"
          aside={
            <input
              type="search"
              class="search"
              aria-label="Filter by agent id"
              placeholder="Agent id"
              value={agent}
              onChange={event =>
                refine({ agent: event.currentTarget.value.trim(), before: undefined, after: undefined })
              }
            />
          }
        >
          <Loaded query={trace}>
            {found =>
              found.root.children.length === 0 && found.complete ? (
                <Empty title="No events yet." />
              ) : (
                <>
                  <Part trace={found} />
                  <Waterfall root={found.root} />
                </>
              )
            }
          </Loaded>
        </Card>
      )}
    </>
  )
}

/** The displayed part of the run, and links to the others. */
function Part({ trace: { root, total_spans, left_out, next_before, next_after, broken_lines } }: { trace: Trace }) {
  if (next_before === null && next_after === null && left_out === 0) return null
  const [from, to] = extentOf(root)
  const since = (ms: number) => duration(ms - Date.parse(root.start_time))
  const shown = leavesIn(root)
  return (
    <section class="row" aria-label="Part of the run">
      <p class="soft">
        {shown.toLocaleString('en')} of {plural(shown + left_out, 'step')}
        {total_spans > 1 && `: ${since(from)} to ${since(to)} after the start of the run`}, newest first.
        {broken_lines > 0 && ` ${plural(broken_lines, 'line')} of the log could not be read.`}
      </p>
      <div class="aside row">
        <PageButton small isEnd={next_after === null} onGo={() => refine({ before: undefined, after: undefined })}>
          Newest
        </PageButton>
        <PageButton
          small
          isEnd={next_after === null}
          onGo={() => refine({ before: undefined, after: String(next_after) })}
        >
          Newer
        </PageButton>
        <PageButton
          small
          isEnd={next_before === null}
          onGo={() => refine({ before: String(next_before), after: undefined })}
        >
          Older
        </PageButton>
        <PageButton small isEnd={next_before === null} onGo={() => refine({ before: undefined, after: '0' })}>
          Oldest
        </PageButton>
      </div>
    </section>
  )
}

type Trace = Answer<'runs.trace'>

/** Counts the decisions and tool calls in a tree. */
function leavesIn({ kind, children }: Trace['root']): number {
  const own = kind === 'decision' || kind === 'tool' ? 1 : 0
  return children.reduce((sum, child) => sum + leavesIn(child), own)
}
