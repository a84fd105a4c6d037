import { api } from '../../api/client.ts'
import { ofKinds } from '../../api/query.ts'
import { type Place, to, usePlace } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Choice, chosenIn, Order, orderIn } from '../../ui/lists/list-filters.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { count, dollars, duration, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { Run } from './run.tsx'

/** Height of a row that is shown as a card with three lines. */
const CARD_PX = 92
const KINDS = ['daemon', 'task'] as const
const STATUSES = ['running', 'ended', 'crashed'] as const

/** Runs of the daemon and of one-shot tasks; one of them as a waterfall. */
export function Runs({ place }: { place: Place }) {
  const [id] = place.parts
  return id ? <Run run_id={id} place={place} /> : <List />
}

function List() {
  const place = usePlace()
  const wanted = {
    kind: chosenIn(place.query, 'kind', KINDS),
    status: chosenIn(place.query, 'status', STATUSES),
    order: orderIn(place.query),
  }
  const isNarrowed = wanted.kind !== undefined || wanted.status !== undefined
  const { query, isEmpty, title, pager } = usePage('runs', {
    filter: JSON.stringify(wanted),
    ask: window => api.runs.list({ ...window, ...wanted }),
    on: ofKinds('task_', 'cycle_done', 'status_changed'),
  })
  return (
    <>
      <h1>Runs</h1>
      <Loaded query={query}>
        {runs =>
          isEmpty && !isNarrowed ? (
            <Empty title="No runs yet.">Each daemon start and each task creates a run.</Empty>
          ) : (
            <Card
              title={title('run', 'Runs')}
              aside={
                <>
                  <Choice label="Kind" name="kind" values={KINDS} />
                  <Choice label="Status" name="status" values={STATUSES} />
                  <Order />
                </>
              }
            >
              <Table
                caption="Runs"
                cardPx={CARD_PX}
                rows={runs}
                keyOf={run => run.run_id}
                columns={[
                  { name: 'Run', kind: 'narrow', cell: ({ run_id }) => <a href={to('runs', [run_id])}>{run_id}</a> },
                  { name: 'Kind', kind: 'narrow', wide: true, cell: ({ kind }) => <Tag>{visible(kind)}</Tag> },
                  { name: 'Status', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
                  { name: 'Model', wide: true, cell: ({ model }) => visible(model) },
                  {
                    name: 'Goals',
                    kind: 'number',
                    wide: true,
                    cell: ({ goals_completed, goals_generated }) =>
                      goals_generated + goals_completed > 0 ? count(goals_completed) : '–',
                  },
                  {
                    name: 'Tool calls',
                    kind: 'number',
                    wide: true,
                    cell: ({ tool_calls, tool_failures }) => (
                      <>
                        {count(tool_calls)} {tool_failures > 0 && <Tag kind="bad">{tool_failures} failed</Tag>}
                      </>
                    ),
                  },
                  { name: 'Cost', kind: 'number', cell: ({ cost_usd }) => dollars(cost_usd) },
                  { name: 'Duration', kind: 'number', cell: ({ duration_s }) => duration(duration_s * 1000) },
                  { name: 'Started', kind: 'narrow', cell: ({ started_at }) => <When at={started_at} /> },
                ]}
              />
              {pager}
            </Card>
          )
        }
      </Loaded>
    </>
  )
}
