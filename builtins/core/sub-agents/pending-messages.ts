import type { MessageSource } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import {
  instructionsFor,
  markInstructionsRead,
  markReported,
  REPORTED_AT_ONCE,
  unreportedSubAgents,
} from './repository.ts'
import { outcomeOf } from './toolkit.ts'

/** Delivers instructions of parents to sub-agents, and results of sub-agents to parents. */
export function subAgentMessages(svc: PluginHandle): MessageSource {
  return {
    name: 'sub-agents',
    portion: REPORTED_AT_ONCE,
    async pending(agent_id) {
      const store = svc.use(Store)
      const ended = await unreportedSubAgents(store, agent_id)
      const instructions = await instructionsFor(store, agent_id)
      return {
        items: [
          ...ended.map(each => ({
            from: `Your sub-agent ${each.name} (${each.sub_agent_id}) has ended`,
            text: outcomeOf(each),
          })),
          ...instructions.map(({ parent, message }) => ({
            from: `Message from ${parent}, the agent that you work for`,
            text: message,
          })),
        ],
        acknowledgements: [
          ...(ended.length > 0 ? [markReported({ sub_agent_ids: ended.map(each => each.sub_agent_id) })] : []),
          ...(instructions.length > 0
            ? [markInstructionsRead({ instruction_ids: instructions.map(each => each.instruction_id) })]
            : []),
        ],
      }
    },
  }
}
