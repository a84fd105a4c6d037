import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { When } from '../../ui/time.tsx'
import { dollars, newest, visible } from '../../ui/words.ts'
import { PatternRun } from './run.tsx'
import { Start } from './start.tsx'

const SHOWN = 100

/** What agents do together by a pattern: those that run and ran, and the way to begin one. */
export function Patterns({ place }: { place: Place }) {
  const id = place.parts[1]
  return id ? <PatternRun id={id} /> : <Runs />
}

function Runs() {
  const query = useQuery('pattern runs', {
    ask: () => api.patterns.runs({ limit: SHOWN }),
    on: ofKinds('pattern_', 'message_sent'),
  })
  return (
    <div class="stack">
      <Start />
      <Loaded query={query}>
        {runs =>
          runs.length === 0 ? (
            <Empty title="No pattern was started yet.">
              Reviews, debates and others let agents work together by rules: start one above.
            </Empty>
          ) : (
            <Card title={newest(runs.length, SHOWN, 'pattern')}>
              <Table
                caption="Pattern runs"
                rows={runs}
                keyOf={({ pattern_id }) => pattern_id}
                columns={[
                  {
                    name: 'About',
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
                  { name: 'Began', kind: 'narrow', cell: ({ created_at }) => <When at={created_at} /> },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
    </div>
  )
}
