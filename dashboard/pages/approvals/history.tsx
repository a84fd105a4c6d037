import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { When } from '../../ui/time.tsx'
import { plural, visible } from '../../ui/words.ts'

const SHOWN = 200

/** What was decided, by whom, newest first. */
export function History() {
  const query = useQuery('approvals history', {
    ask: () => api.approvals.queue({ status: 'all', limit: SHOWN }),
    on: ofKinds('approval_'),
  })
  return (
    <Loaded query={query}>
      {all => {
        const decided = all.filter(({ status }) => status !== 'pending')
        if (decided.length === 0)
          return (
            <Empty title="Nothing was decided yet.">
              What is approved or denied is kept here, with who decided, when, and why.
            </Empty>
          )
        return (
          <Card title={plural(decided.length, 'decision')}>
            <Table
              caption="Approvals that were decided"
              rows={decided}
              keyOf={each => each.approval_id}
              columns={[
                {
                  name: 'Tool',
                  cell: ({ tool_name, approval_id, edited }) => (
                    <>
                      <a href={to('approvals', ['item', approval_id])}>{visible(tool_name)}</a>{' '}
                      {edited && <Tag kind="warn">edited</Tag>}
                    </>
                  ),
                },
                { name: 'Agent', cell: ({ agent_id }) => visible(agent_id) },
                { name: 'Decision', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
                { name: 'By', wide: true, cell: ({ resolved_by }) => visible(resolved_by ?? '') },
                { name: 'Reason', kind: 'grow', wide: true, cell: ({ reason }) => visible(reason ?? '') },
                { name: 'When', kind: 'narrow', cell: ({ resolved_at }) => <When at={resolved_at} /> },
              ]}
            />
          </Card>
        )
      }}
    </Loaded>
  )
}
