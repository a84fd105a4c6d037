import { api } from '../../api/client.ts'
import { ofKinds } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { PartyOf } from './party.tsx'

/** Goals that agents delegated to each other, and their results. */
export function Delegations() {
  const { query, isEmpty, title, pager } = usePage('delegations', {
    ask: window => api.delegations.all(window),
    on: ofKinds('message_sent', 'delegation_ended'),
  })
  return (
    <Loaded query={query}>
      {all =>
        isEmpty ? (
          <Empty title="No delegations yet.">
            Agents delegate goals with <code>delegate_task</code>. To give an agent a goal yourself, open its page and
            choose Goals.
          </Empty>
        ) : (
          <Card title={title('delegation', 'Delegations')}>
            <Table
              caption="Delegations"
              rows={all}
              keyOf={({ delegation_id }) => delegation_id}
              columns={[
                {
                  name: 'Objective',
                  kind: 'grow',
                  cell: ({ to_agent, goal_id, objective, result }) => (
                    <>
                      <a class="clamp" href={to('agents', [to_agent, 'goals', goal_id])}>
                        {visible(objective)}
                      </a>
                      {result && <small class="clamp one">{visible(result)}</small>}
                    </>
                  ),
                },
                {
                  name: 'From and to',
                  cell: ({ from_agent, to_agent }) => (
                    <>
                      <PartyOf id={from_agent} /> → <PartyOf id={to_agent} />
                    </>
                  ),
                },
                {
                  name: 'Status',
                  kind: 'narrow',
                  cell: ({ status, waits }) => (
                    <>
                      <Status of={status} /> {status === 'pending' && waits && <Tag>blocks the sender</Tag>}
                    </>
                  ),
                },
                {
                  name: 'Time',
                  kind: 'narrow',
                  cell: ({ ended_at, created_at }) => <When at={ended_at ?? created_at} />,
                },
              ]}
            />
            {pager}
          </Card>
        )
      }
    </Loaded>
  )
}
