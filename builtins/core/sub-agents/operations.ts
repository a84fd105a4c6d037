import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { SubAgent } from './contract.ts'
import { OwnSubAgents } from './sub-agents.ts'

export const subAgentsList = operation({
  name: 'sub_agents.list',
  summary: "List an agent's sub-agents and their results",
  description: 'Sub-agents that have ended are included, with their results.',
  input: z.object({ id: AgentRef }),
  output: z.array(SubAgent),
  http: { method: 'GET', path: '/agents/{id}/sub-agents' },
  cli: { usage: 'sub-agents <id>' },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ id }, { svc }) => svc.use(OwnSubAgents).of((await svc.use(Agents).find(id)).agent_id),
  render: list => list.map(line).join('\n') || 'no sub-agents yet',
})

export const subAgentOperations = [subAgentsList]

function line({ sub_agent_id, status, cycles, max_cycles, task, result, ending }: SubAgent): string {
  const end = (result ?? ending)?.split('\n')[0]
  return `${sub_agent_id}  ${status}  ${cycles}/${max_cycles} cycles  ${task}${end ? `\n    ${end}` : ''}`
}
