import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { Store } from '#platform/store/contract'
import { Delegation } from './contract.ts'
import { allDelegations, countAllDelegations, countDelegations, delegationOf, listDelegations } from './repository.ts'

const id = AgentRef

const idOf = async (svc: PluginHandle, ref: string) => (await svc.use(Agents).find(ref)).agent_id

export const delegationsAll = operation({
  name: 'delegations.all',
  summary: 'List delegations, newest first',
  description: 'A delegation is a goal that one agent gave to another.',
  input: Page,
  output: z.array(Delegation),
  http: { method: 'GET', path: '/delegations' },
  run: async ({ limit, offset }, { svc }) =>
    (await allDelegations(svc.use(Store), limit ?? -1, offset)).map(delegationOf),
  count: (_, { svc }) => countAllDelegations(svc.use(Store)),
})

export const delegationsList = operation({
  name: 'delegations.list',
  summary: "List an agent's delegations, newest first",
  description: 'Lists goals that the agent delegated to others, and goals that others delegated to it.',
  input: Page.extend({ id }),
  output: z.array(Delegation),
  http: { method: 'GET', path: '/agents/{id}/delegations' },
  cli: { usage: 'delegations <id>', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ id: ref, limit, offset }, { svc }) {
    return (await listDelegations(svc.use(Store), await idOf(svc, ref), limit ?? -1, offset)).map(delegationOf)
  },
  count: async ({ id: ref }, { svc }) => countDelegations(svc.use(Store), await idOf(svc, ref)),
  render: all =>
    all
      .map(each => `${each.delegation_id}  ${each.status}  ${each.from_agent} → ${each.to_agent}  ${each.objective}`)
      .join('\n') || 'none',
})

export const delegationOperations = [delegationsAll, delegationsList]
