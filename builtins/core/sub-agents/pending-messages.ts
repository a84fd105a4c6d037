import { type AgentRow, Agents, agentReach } from '#core/agents/contract'
import type { MessageSource, PromptSection } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { sanitize } from '#lib/sanitize'
import { Store } from '#platform/store/contract'
import {
  instructionsFor,
  markInstructionsRead,
  markReported,
  REPORTED_AT_ONCE,
  readWorkState,
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
            is_report: true,
          })),
          ...instructions.map(({ parent, message }) => ({
            from: `Message from ${parent}, the agent that you work for`,
            text: sanitize(message),
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

/** Shows a sub-agent at its beginning whom it works for, and how its result gets there. */
export function subAgentSection(svc: PluginHandle): PromptSection {
  return {
    name: 'sub-agent',
    stage: 0,
    prompts: ['goal_opening'],
    text: async agent => (agent.spawned_by === null ? undefined : openingOf(svc, agent, agent.spawned_by)),
  }
}

async function openingOf(svc: PluginHandle, agent: AgentRow, parent_agent_id: string): Promise<string> {
  const parent = await svc.use(Agents).find(parent_agent_id)
  const state = await readWorkState(svc.use(Store), agent.agent_id)
  const [own, other] = [agent, parent].map(each => agentReach(svc.project, each).workspace)
  const where =
    own === other ? 'in its workspace: write no files there but those of your task' : 'in a workspace of your own'
  return [
    `You are a sub-agent of ${parent.name}, ${where}. It reads only the summary and the evidence that you give to finish_goal: put the whole result there, however long it is.`,
    `You have at most ${pluralize(state?.max_cycles ?? 1, 'cycle')} of several steps each; without finish_goal by then, it gets no result.`,
  ].join(' ')
}
