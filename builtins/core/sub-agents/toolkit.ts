import { type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { removeControlCharacters } from '#lib/sanitize'
import { Store, wakeAgents } from '#platform/store/contract'
import { untrustedLines } from '#safety/net/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import { MAX_CHILDREN, type SubAgent } from './contract.ts'
import { type SubAgentsConfig, toolkitsSentence } from './profile.ts'
import { instruct, lastActions, markReported, waitFor } from './repository.ts'
import type { SubAgents } from './sub-agents.ts'

/** Maximum number of characters of one journal entry. */
const LONGEST_ENTRY = 300

const which = z.string().trim().min(1).max(128).describe('Id or name of the sub-agent')
const one = z.object({ sub_agent_id: which })

/** Tools for sub-agents. Each agent sees only its own ones. */
export function subAgentsToolkit(svc: PluginHandle, subAgents: SubAgents, config: SubAgentsConfig): Toolkit {
  return {
    name: 'sub_agents',
    instructions: `For work that can be done in parallel with yours, you can create sub-agents with \`spawn_sub_agent\` (at most ${MAX_CHILDREN} at a time). Each does one task and knows nothing of what you know: give it all the information that it needs. You get a message when it ends.`,
    tools: [
      tool({
        name: 'spawn_sub_agent',
        description: `Create a helper: a sub-agent that works on one task in parallel with you, and ends with it. You get its result. ${toolkitsSentence(config)}`,
        parameters: z.object({
          name: z
            .string()
            .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'must be one word of up to 32 letters, digits, "_" or "-"')
            .describe('Name of the sub-agent: one word'),
          role: z.string().trim().min(1).max(500).describe('Role of the sub-agent, in a few words'),
          task: z
            .string()
            .trim()
            .min(10)
            .max(4000)
            .describe('Task of the sub-agent: what it must achieve, with all the information that it needs'),
          max_cycles: z.coerce
            .number()
            .int()
            .min(1)
            .max(1000)
            .default(10)
            .describe('Maximum number of cycles that it may work; each has several steps'),
          profile: z.string().min(1).max(64).optional().describe('Profile for the sub-agent, if one fits exactly'),
        }),
        idempotent: true,
        async execute(wanted, { agent_id, goal_id, idempotency_key }) {
          const id = await subAgents.spawn(agent_id, { ...wanted, call_id: idempotency_key })
          return goal_id === null
            ? `${id} works on the task. Its result does not come to this conversation by itself: say so to the person, and look with get_sub_agent_result when they write again.`
            : `${id} works on the task. Go on with your own work, or call wait_for_sub_agents.`
        },
      }),
      tool({
        name: 'list_sub_agents',
        description: 'List your sub-agents with their status and task.',
        parameters: z.object({}),
        idempotent: true,
        async execute(_, { agent_id }) {
          return (await subAgents.of(agent_id)).slice(0, 50).map(line).join('\n') || 'You have no sub-agents.'
        },
      }),
      tool({
        name: 'get_sub_agent_status',
        description: 'Show the status and progress of one of your sub-agents.',
        parameters: one,
        idempotent: true,
        execute: async ({ sub_agent_id }, { agent_id }) => {
          const { task, result, ...status } = await subAgents.find(agent_id, sub_agent_id)
          return { ...status, task: cut(task), has_result: result !== null }
        },
      }),
      tool({
        name: 'read_sub_agent_journal',
        description: 'Show the last actions of one of your sub-agents, newest first.',
        parameters: one.extend({ limit: z.coerce.number().int().min(1).max(50).default(10) }),
        idempotent: true,
        async execute({ sub_agent_id, limit }, { agent_id }) {
          const { sub_agent_id: id } = await subAgents.find(agent_id, sub_agent_id)
          const actions = await lastActions(svc.use(Store), id, limit)
          const lines = actions.map(({ tool, arguments: args, outcome, is_error }) => {
            const came =
              outcome === null
                ? 'not finished'
                : `${is_error ? 'failed: ' : ''}${cut(removeControlCharacters(outcome))}`
            return `- ${tool} ${cut(args)} → ${came}`
          })
          return subAgents.redact(lines.join('\n') || 'It has done nothing yet.', agent_id)
        },
      }),
      tool({
        name: 'send_instruction',
        description: 'Send a message to one of your running sub-agents; the sub-agent reads it before its next step.',
        parameters: one.extend({ message: z.string().trim().min(1).max(4000) }),
        async execute({ sub_agent_id, message }, call) {
          const { sub_agent_id: id } = await subAgents.findRunning(call.agent_id, sub_agent_id)
          call.effect(instruct({ instruction_id: `ins-${call.call_id}`, sub_agent_id: id, message }))
          call.effect(wakeAgents({ agents: [id], reason: 'instruction' }))
          return `Sent. ${id} reads it before its next step.`
        },
      }),
      tool({
        name: 'get_sub_agent_result',
        description: 'Read the result of one of your sub-agents, once it has ended.',
        parameters: one,
        idempotent: true,
        async execute({ sub_agent_id }, call) {
          const found = await subAgents.find(call.agent_id, sub_agent_id)
          if (found.status === 'running') return `${found.sub_agent_id} is still running.`
          call.effect(markReported({ sub_agent_ids: [found.sub_agent_id] }))
          return subAgents.redact(outcomeOf(found), call.agent_id)
        },
      }),
      tool({
        name: 'wait_for_sub_agents',
        description: 'Pause your goal until your sub-agents have ended. The goal then continues with their results.',
        parameters: z.object({
          sub_agent_ids: z.array(which).max(MAX_CHILDREN).optional().describe('Sub-agents to wait for (default: all)'),
        }),
        async execute({ sub_agent_ids }, call) {
          const { agent_id: parent_agent_id, goal_id } = call
          if (goal_id === null) throw new Error('there is no active goal that can wait')
          const own = sub_agent_ids
            ? await Promise.all(sub_agent_ids.map(ref => subAgents.find(parent_agent_id, ref)))
            : await subAgents.of(parent_agent_id)
          const ids = own.filter(({ status }) => status === 'running').map(each => each.sub_agent_id)
          if (ids.length === 0) return 'None of them is running. Read their results with get_sub_agent_result.'
          call.effect(waitFor({ goal_id, parent_agent_id, sub_agent_ids: ids }))
          return `Your goal is paused until ${ids.join(', ')} ${ids.length === 1 ? 'has' : 'have'} ended.`
        },
      }),
      tool({
        name: 'terminate_sub_agent',
        description: 'End one of your sub-agents now. Its unfinished work is lost.',
        parameters: one,
        danger: 'ends a sub-agent',
        async execute({ sub_agent_id }, { agent_id }) {
          const { sub_agent_id: id } = await subAgents.terminate(agent_id, sub_agent_id)
          return `${id} has ended.`
        },
      }),
    ],
  }
}

/** Describes how a sub-agent ended, for its parent. */
export function outcomeOf({ status, result, ending }: Pick<SubAgent, 'status' | 'result' | 'ending'>): string {
  const report = [result, ending].flatMap(text => (text ? removeControlCharacters(text) : [])).join(' ')
  return `[${status}] ${untrustedLines('the report of the sub-agent', report)}`.trim()
}

function line({ sub_agent_id, name, status, cycles, max_cycles, task }: SubAgent): string {
  return `- ${name} (${sub_agent_id}): ${status}, ${cycles} of ${pluralize(max_cycles, 'cycle')}; ${cut(task)}`
}

function cut(text: string): string {
  return text.length > LONGEST_ENTRY ? `${text.slice(0, LONGEST_ENTRY)}…` : text
}
