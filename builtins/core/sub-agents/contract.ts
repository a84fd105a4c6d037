import { defineError, z } from '#kernel'

/** Maximum depth: sub-agents and their own sub-agents, as the specification requires. */
export const MAX_DEPTH = 2
/** Maximum number of simultaneous sub-agents of one agent, as the specification requires. */
export const MAX_CHILDREN = 5

export const SUB_AGENT_STATUSES = ['running', 'completed', 'failed', 'expired', 'terminated'] as const

/** An agent created by another one for a single task. It ends with the task; its row and its result remain. */
export const SubAgent = z
  .object({
    sub_agent_id: z.string().meta({ examples: ['sub-scout-1a2b3c4d'] }),
    parent_agent_id: z.string(),
    name: z.string(),
    role: z.string(),
    task: z.string(),
    status: z
      .enum(SUB_AGENT_STATUSES)
      .describe(
        'expired: it used up its cycles; terminated: its parent or the operator ended it, it died, its parent is gone, or its task was removed',
      ),
    result: z.string().nullable().describe('Result of the task; null if there is none'),
    ending: z.string().nullable().describe('Why it ended, if it did not finish its task'),
    depth: z.int().describe('1: sub-agent of an agent; 2: sub-agent of a sub-agent'),
    cycles: z.int().describe('Number of cycles that it has worked'),
    max_cycles: z.int(),
    goal_id: z.string().nullable().describe('Goal of the sub-agent: its task'),
    profile: z.string().nullable().describe('Profile that it was given; null: the limits of its parent apply'),
    cost_usd: z.number(),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'SubAgent' })
export type SubAgent = z.infer<typeof SubAgent>

export const SubAgentSpawned = z
  .object({ agent_id: z.string(), sub_agent_id: z.string(), name: z.string() })
  .describe('An agent created a sub-agent for a task')
export const SubAgentEnded = z
  .object({
    agent_id: z.string(),
    sub_agent_id: z.string(),
    status: z.enum(SUB_AGENT_STATUSES),
  })
  .describe('A sub-agent ended; its result is kept')

declare module '#kernel' {
  interface Events {
    /** `agent_id` is the parent. */
    sub_agent_spawned: z.infer<typeof SubAgentSpawned>
    sub_agent_ended: z.infer<typeof SubAgentEnded>
  }
}

export const SubAgentNotFoundError = defineError({
  code: 'sub_agent_not_found',
  status: 404,
  title: 'Sub-agent not found',
  message: (p: { ref: string; known: string[] }) =>
    `You have no sub-agent "${p.ref}"; you have: ${p.known.join(', ') || 'none'}.`,
})
export const AmbiguousSubAgentError = defineError({
  code: 'ambiguous_sub_agent',
  status: 409,
  title: 'Ambiguous sub-agent',
  message: (p: { ref: string; ids: string[] }) =>
    `Several of your sub-agents are called "${p.ref}"; name one by its id: ${p.ids.join(', ')}.`,
})
export const SubAgentEndedError = defineError({
  code: 'sub_agent_ended',
  status: 409,
  title: 'Sub-agent ended',
  message: (p: { sub_agent_id: string; status: string }) =>
    `${p.sub_agent_id} has ended (${p.status}); you can read its result, but it no longer works.`,
})
/** The agent has the maximum number of running sub-agents, is nested too deeply, or is dead. */
export const SubAgentLimitError = defineError({
  code: 'sub_agent_limit',
  status: 409,
  title: 'Sub-agent limit',
  message: (p: { problem: string; remedy: string }) => `${p.problem}; ${p.remedy}.`,
})
