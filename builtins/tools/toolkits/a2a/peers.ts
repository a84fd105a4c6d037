import { type PluginHandle, z } from '#kernel'
import { Peers } from '#society/a2a/contract'
import { tool } from '#tools/toolkits/contract'

const LISTED = 20

/** Tools with which an agent finds other agents. */
export function peersTools(svc: PluginHandle) {
  return [
    tool({
      name: 'list_agents',
      description: 'List other agents with id, name, role and current goal.',
      parameters: z.object({}),
      read_only: true,
      async execute(_, { agent_id }) {
        return peerList(await svc.use(Peers).list(agent_id, LISTED))
      },
    }),
    tool({
      name: 'find_agent',
      description: 'Find agents whose name or role contains any of these words.',
      parameters: z.object({ capability: z.string().trim().min(1).max(200) }),
      read_only: true,
      async execute({ capability }, { agent_id }) {
        return peerList(await svc.use(Peers).list(agent_id, LISTED, capability))
      },
    }),
  ]
}

function peerList({ lines, more }: Awaited<ReturnType<Peers['list']>>): string {
  if (lines.length === 0) return 'No agents found.'
  return [...lines, ...(more > 0 ? [`${more} more; search for specific ones with find_agent.`] : [])].join('\n')
}
