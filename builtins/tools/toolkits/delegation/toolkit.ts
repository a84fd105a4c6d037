import { type PluginHandle, z } from '#kernel'
import { markUntrusted } from '#safety/net/contract'
import { Peers } from '#society/a2a/contract'
import { BEST_PEER, Delegations, LONGEST_DETAILS, LONGEST_OBJECTIVE } from '#society/delegation/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'

const LISTED = 20

/**
 * Tools for delegating tasks. A delegation is committed with the call's outcome, so a repeated call creates none.
 * @param hasBestPeer whether the swarm can choose the agent
 */
export function delegationToolkit(svc: PluginHandle, hasBestPeer: boolean): Toolkit {
  const agent = hasBestPeer
    ? `Agent's name or id, or ${BEST_PEER}: the agent with the best results in such work, or with a role that fits it`
    : "Agent's name or id"
  return {
    name: 'delegation',
    tools: [
      tool({
        name: 'delegate_task',
        description:
          'Give a task to another agent as its goal. With wait, your goal is suspended until the task has ended, and then gets its result. Without wait, you continue, and the result comes as a message; an answer without a tool call then waits for it.',
        parameters: z.object({
          agent_name: z.string().min(1).max(128).describe(agent),
          objective: z
            .string()
            .trim()
            .min(10)
            .max(LONGEST_OBJECTIVE)
            .describe(`The task in one or two sentences, at most ${LONGEST_OBJECTIVE} characters`),
          details: z
            .string()
            .trim()
            .max(LONGEST_DETAILS)
            .optional()
            .describe(`All else that it needs to know, at most ${LONGEST_DETAILS} characters`),
          files: z
            .array(z.string().min(1))
            .max(10)
            .default([])
            .describe('Paths of your files that it needs; it cannot read your own folder'),
          wait: z.boolean().default(false),
        }),
        idempotent: true,
        async execute({ agent_name, objective, details, files: paths, wait }, call) {
          const { agent_id: from_agent, goal_id: from_goal_id } = call
          const waits = wait && from_goal_id !== null
          const task = { from_agent, to: agent_name, objective, details, files: { call, paths }, from_goal_id, waits }
          const { delegation_id, to_agent, answer, effects } = await svc.use(Delegations).give(task)
          for (const effect of effects) call.effect(effect)
          if (delegation_id === null) return `${to_agent} declined the task: ${answer}`
          if (from_goal_id === null)
            return `${to_agent} accepted the task as ${delegation_id}. Its result does not come to this conversation by itself: say so to the person, and look with check_delegation when they write again.`
          const after = wait
            ? 'Your goal is suspended until the task has ended.'
            : 'Its result will come as a message. When you have nothing else to do, answer without a tool call to wait for it.'
          return `${to_agent} accepted the task as ${delegation_id}. ${after}`
        },
      }),
      tool({
        name: 'check_delegation',
        description: 'Show the status and the result of a task that you delegated.',
        parameters: z.object({ id: z.string().min(1).max(128) }),
        read_only: true,
        async execute({ id }, { agent_id }) {
          const { status, to_agent, objective, result } = await svc.use(Delegations).find(id, agent_id)
          const resultText = result ? `\n${markUntrusted(`the result from ${to_agent}`, result)}` : ''
          return `${id} (${objective}) is ${status}.${resultText}`
        },
      }),
      tool({
        name: 'list_peers',
        description: 'List the agents to whom you can delegate, with their current goals.',
        parameters: z.object({}),
        read_only: true,
        async execute(_, { agent_id }) {
          const { lines, more } = await svc.use(Peers).list(agent_id, LISTED)
          if (lines.length === 0) return 'There are no other agents.'
          return [...lines, ...(more > 0 ? [`${more} more ${more === 1 ? 'is' : 'are'} not listed.`] : [])].join('\n')
        },
      }),
    ],
  }
}
