import { api } from '../../api/client.ts'
import { ofKinds } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { usePage } from '../../ui/lists/pager.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { deciderOf } from './decide.ts'

/** Height of a row that is shown as a card with two lines. */
const CARD_PX = 76
/** Decisions, and who made them, newest first. */
export function History() {
  const { query, isEmpty, title, pager } = usePage('approvals history', {
    ask: window => api.approvals.queue({ status: 'decided', ...window }),
    on: ofKinds('approval_'),
  })
  return (
    <Loaded query={query}>
      {all => {
        if (isEmpty)
          return (
            <Empty title="No decisions yet.">
              Approved and denied calls are listed here, with who decided, when and why.
            </Empty>
          )
        return (
          <Card title={title('decision', 'Decisions')}>
            <Table
              caption="Decided approvals"
              cardPx={CARD_PX}
              rows={all}
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
                { name: 'Agent', cell: approval => <span class="unbroken">{visible(agentOf(approval))}</span> },
                { name: 'Decision', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
                {
                  name: 'Decided by',
                  wide: true,
                  cell: ({ resolved_by }) => <span class="unbroken">{visible(deciderOf(resolved_by ?? ''))}</span>,
                },
                { name: 'Reason', kind: 'grow', wide: true, cell: ({ reason }) => visible(reason ?? '') },
                { name: 'Time', kind: 'narrow', cell: ({ resolved_at }) => <When at={resolved_at} /> },
              ]}
            />
            {pager}
          </Card>
        )
      }}
    </Loaded>
  )
}
