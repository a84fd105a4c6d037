import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { Code } from '../../ui/text/code.tsx'
import { visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'

/** Approval rules: what runs without approval and until when, with a button to revoke each. */
export function Rules() {
  const query = useQuery('approval rules', { ask: () => api.approvals.rules(), on: ofKinds('approval_') })
  const revoke = useAction(async (rule_id: string) => {
    await api.approvals.revoke({ rule_id })
    await query.reload()
  }, 'Revoked.')
  return (
    <>
      <Trouble fault={revoke.fault} />
      <Loaded query={query}>
        {rules =>
          rules.length === 0 ? (
            <Empty title="No rules. Every gated call needs approval.">
              To add a rule, choose “Allow similar calls” at a pending call.
            </Empty>
          ) : (
            <Card title="Approval rules">
              <Table
                caption="Approval rules"
                rows={rules}
                keyOf={rule => rule.rule_id}
                columns={[
                  { name: 'Tool', cell: ({ tool_name }) => <code>{visible(tool_name)}</code> },
                  { name: 'Agent', cell: rule => visible(whoseRule(rule)) },
                  {
                    name: 'Arguments',
                    kind: 'grow',
                    labelled: true,
                    cell: ({ arguments: args }) => (args === null ? 'any' : <Code value={args} label="Arguments" />),
                  },
                  {
                    name: 'Expires',
                    kind: 'narrow',
                    labelled: true,
                    cell: ({ until }) => <When at={until} none="when used up" />,
                  },
                  {
                    name: 'Used',
                    kind: 'number',
                    cell: ({ used, uses }) => (uses === null ? used : `${used} of ${uses}`),
                  },
                  {
                    name: 'Action',
                    kind: 'narrow',
                    cell: rule => (
                      <RowButton
                        of={`${rule.tool_name} for ${whoseRule(rule)}`}
                        danger
                        onClick={() => void revoke.run(rule.rule_id)}
                      >
                        Revoke
                      </RowButton>
                    ),
                  },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
    </>
  )
}

const whoseRule = ({ agent_id, agent_name }: { agent_id: string | null; agent_name: string | null }) =>
  agent_id === null ? 'every agent' : agentOf({ agent_id, agent_name })
