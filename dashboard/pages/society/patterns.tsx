import { api } from '../../api/client.ts'
import { ofKinds } from '../../api/query.ts'
import { type Place, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { dollars, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { PatternRun } from './run.tsx'
import { Start } from './start.tsx'

/** Runs of collaboration patterns, current and past, and a form to start one. */
export function Patterns({ place }: { place: Place }) {
  const id = place.parts[1]
  return id ? <PatternRun id={id} /> : <Runs />
}

function Runs() {
  const { query, isEmpty, title, pager } = usePage('pattern runs', {
    ask: window => api.patterns.runs(window),
    on: ofKinds('pattern_', 'message_sent'),
  })
  return (
    <div class="stack">
      <Start />
      <Loaded query={query}>
        {runs =>
          isEmpty ? (
            <Empty title="No patterns yet.">
              In a pattern, such as a review or a debate, agents work together by fixed rules. Start one above.
            </Empty>
          ) : (
            <Card title={title('pattern', 'Patterns')}>
              <Table
                caption="Pattern runs"
                rows={runs}
                keyOf={({ pattern_id }) => pattern_id}
                columns={[
                  {
                    name: 'Task',
                    kind: 'grow',
                    cell: ({ pattern_id, task, initiator, participants }) => (
                      <>
                        <a class="clamp" href={to('society', ['patterns', pattern_id])}>
                          {visible(task)}
                        </a>
                        <small class="clamp one">
                          {visible(initiator)} with {visible(participants.join(', '))}
                        </small>
                      </>
                    ),
                  },
                  { name: 'Pattern', cell: ({ name }) => visible(name) },
                  { name: 'Status', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
                  { name: 'Messages', kind: 'number', wide: true, cell: ({ messages }) => messages },
                  { name: 'Cost', kind: 'number', wide: true, cell: ({ spent }) => dollars(spent.usd) },
                  { name: 'Started', kind: 'narrow', cell: ({ created_at }) => <When at={created_at} /> },
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
