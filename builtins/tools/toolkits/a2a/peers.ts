import { type PluginHandle, z } from '#kernel'
import { Peers } from '#society/a2a/contract'
import { tool } from '#tools/toolkits/contract'

const LISTED = 20

/** Tools with which an agent finds other agents. */
export function peersTools(svc: PluginHandle) {
  return [
    tool({
      name: 'list_agents',
      description: 'List other agents with id, name, role and what they are at.',
      parameters: z.object({}),
      idempotent: true,
      async execute(_, { agent_id }) {
        return peerList(await svc.use(Peers).list(agent_id, LISTED))
      },
    }),
    tool({
      name: 'find_agent',
      description: 'Find agents whose name, role or work has these words.',
      parameters: z.object({ capability: z.string().trim().min(1).max(200) }),
      idempotent: true,
      async execute({ capability }, { agent_id }) {
        return peerList(await svc.use(Peers).list(agent_id, LISTED, capability))
      },
    }),
  ]
}

function peerList({ lines, more }: Awaited<ReturnType<Peers['list']>>): string {
  if (lines.length === 0) return 'There is no such agent.'
  return [...lines, ...(more > 0 ? [`${more} more: look for some of them with find_agent.`] : [])].join('\n')
}
