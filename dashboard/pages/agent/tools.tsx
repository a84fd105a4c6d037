import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { visible } from '../../ui/text/format.ts'
import type { ViewProps } from './view.ts'

/** Tools of an agent, and the share of each prompt that they take. */
export function Tools({ agent: { agent_id: id } }: ViewProps) {
  const query = useQuery(`tools ${id}`, {
    ask: () => api.tools.list({ id }),
    on: ofKinds('plugin_', 'config_changed', 'agent_changed', 'mcp_tool_changed'),
  })
  return (
    <Loaded query={query}>
      {({ tools }) => (
        <Card title={`${tools.length} tools`}>
          <Table
            caption="Tools"
            rows={tools}
            keyOf={tool => tool.name}
            columns={[
              { name: 'Tool', kind: 'narrow', cell: ({ name }) => <code>{visible(name)}</code> },
              {
                name: 'Description',
                kind: 'grow',
                cell: ({ description }) => <span class="clamp">{visible(description)}</span>,
              },
              {
                name: 'Flags',
                cell: ({ offered, danger, requires_approval }) => (
                  <>
                    {!offered && <Tag>found with find_tools</Tag>} {danger && <Tag kind="warn">{danger}</Tag>}{' '}
                    {requires_approval && <Tag kind="warn">needs approval</Tag>}
                  </>
                ),
              },
              { name: 'Toolkit', wide: true, cell: ({ toolkit }) => visible(toolkit) },
              { name: 'Tokens', kind: 'number', cell: ({ tokens }) => tokens },
            ]}
          />
        </Card>
      )}
    </Loaded>
  )
}
