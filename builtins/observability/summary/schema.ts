import { z } from '#kernel'

const outcomes = {
  completed: z.int().describe('Goals completed, those not confirmed included'),
  unconfirmed: z.int().describe('Goals completed by an answer alone, without finish_goal'),
  abandoned: z.int(),
  cost_usd: z.number(),
}

/** What happened in a period, for an operator who was away. */
export const Summary = z
  .object({
    since: z.iso.datetime(),
    until: z.iso.datetime(),
    ...outcomes,
    model_calls: z.int(),
    waiting: z
      .array(
        z.object({
          kind: z.enum(['approval', 'question']),
          id: z.string(),
          agent_id: z.string(),
          text: z.string().describe('The question, or the tool with its arguments'),
          at: z.iso.datetime(),
        }),
      )
      .describe('What waits for the operator now, oldest first'),
    agents: z
      .array(z.object({ agent_id: z.string(), ...outcomes }))
      .describe('Agents that ended goals or cost money in the period; sub-agents count for the agent they work for'),
    goals: z
      .array(
        z.object({
          goal_id: z.string(),
          agent_id: z.string(),
          objective: z.string(),
          status: z.enum(['completed', 'abandoned']),
          unconfirmed: z.boolean(),
          result: z.string().nullable(),
          completed_at: z.iso.datetime(),
        }),
      )
      .describe(
        'Goals that ended in the period: the newest of each agent, newest first, or those that top asks for; without subgoals and tasks of sub-agents',
      ),
    tasks: z
      .object({
        ended: z.int(),
        completed: z.int(),
        cancelled: z.int().describe('Tasks cancelled by their client or on request'),
        cost_usd: z.number().describe('Part of the cost of all agents'),
        open: z
          .array(
            z.object({
              task_id: z.string(),
              agent_id: z.string(),
              instruction: z.string(),
              status: z.string().describe('Status of the task, or `cancelled`'),
              at: z.iso.datetime(),
            }),
          )
          .describe('Tasks that ended without an answer in the period, and those that wait now, newest first'),
      })
      .describe('One-shot tasks'),
    problems: z
      .array(
        z.object({
          agent_id: z.string().nullable(),
          text: z.string(),
          times: z.int(),
          last_at: z.iso.datetime(),
        }),
      )
      .describe('Failures in the period, most recent first; equal ones are counted'),
    names: z.record(z.string(), z.string()).describe('Current names of these agents by id, without deleted ones'),
  })
  .meta({ id: 'Summary' })
export type Summary = z.infer<typeof Summary>
