import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds } from '../../api/query.ts'
import { type Place, to, usePlace } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Choice, chosenIn, Order, orderIn } from '../../ui/lists/list-filters.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { count, dollars, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { Transcript } from './transcript.tsx'

/** Height of a row that is shown as a card with four lines and a button. */
const CARD_PX = 156
const STATUSES = ['running', 'expired', 'closed'] as const

/** Page of this tenant's sessions, newest first, with the transcript of each. */
export function Sessions({ place }: { place: Place }) {
  const [id] = place.parts
  if (id) return <Transcript session_id={id} />
  return (
    <>
      <h1>Sessions</h1>
      <List />
    </>
  )
}

function List() {
  const place = usePlace()
  const wanted = { status: chosenIn(place.query, 'status', STATUSES), order: orderIn(place.query) }
  const { query, isEmpty, title, pager } = usePage('sessions', {
    filter: JSON.stringify(wanted),
    ask: window => api.sessions.list({ ...window, ...wanted }),
    on: ofKinds('session_', 'task_'),
  })
  const close = useAction(async (session_id: string) => {
    await api.sessions.close({ session_id })
    await query.reload()
  }, 'Closed.')
  return (
    <>
      <Trouble fault={close.fault} />
      <Loaded query={query}>
        {sessions =>
          isEmpty && wanted.status === undefined ? (
            <Empty title="No sessions yet.">
              The first task creates a session. To start one, open Chat on an agent’s page.
            </Empty>
          ) : (
            <Card
              title={title('session', 'Sessions')}
              aside={
                <>
                  <Choice label="Status" name="status" values={STATUSES} />
                  <Order />
                </>
              }
            >
              <Table
                caption="Sessions"
                cardPx={CARD_PX}
                rows={sessions}
                keyOf={each => each.session_id}
                columns={[
                  {
                    name: 'Session',
                    kind: 'narrow',
                    cell: ({ session_id, session_key }) => (
                      <a href={to('sessions', [session_id])}>{visible(session_key || session_id)}</a>
                    ),
                  },
                  {
                    name: 'Agent',
                    cell: session => (
                      <a class="unbroken" href={to('agents', [session.agent_id])}>
                        {visible(agentOf(session))}
                      </a>
                    ),
                  },
                  { name: 'Status', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
                  {
                    name: 'Subject',
                    kind: 'grow',
                    cell: ({ task }) => <span class="clamp">{visible(task)}</span>,
                  },
                  {
                    name: 'Cost',
                    kind: 'number',
                    wide: true,
                    cell: ({ cost_usd, tokens }) => <span title={`${count(tokens)} tokens`}>{dollars(cost_usd)}</span>,
                  },
                  { name: 'Last active', kind: 'narrow', cell: ({ last_active }) => <When at={last_active} /> },
                  {
                    name: 'Action',
                    kind: 'narrow',
                    cell: ({ session_id, session_key, status }) =>
                      status === 'running' && (
                        <RowButton of={session_key || session_id} onClick={() => void close.run(session_id)}>
                          Close
                        </RowButton>
                      ),
                  },
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
