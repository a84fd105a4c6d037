import { defineError, token, z } from '#kernel'
import type { AgentRow } from '../agents/contract.ts'
import type { Spend } from '../models/contract.ts'
import type { Profile } from '../profiles/contract.ts'

export const Goal = z.object({
  goal_id: z.string(),
  agent_id: z.string(),
  objective: z.string(),
  status: z.enum(['active', 'completed', 'abandoned']),
  priority: z.number().int().describe('Higher goes first; 4 unless told'),
  origin: z.string().describe('`generated`, or what else made it'),
  parent_goal_id: z.string().nullable(),
  reasoning: z.string().nullable(),
  result: z.string().nullable().describe('What was achieved, or why it was given up'),
  unconfirmed: z.boolean().describe('Completed by a bare answer, without finish_goal'),
  steps_completed: z.number().int(),
  created_at: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable(),
})
export type Goal = z.infer<typeof Goal>

export interface GoalRow extends Omit<Goal, 'created_at' | 'completed_at' | 'unconfirmed'> {
  unconfirmed: number
  created_at: number
  completed_at: number | null
}

/** A tool call that came to its end. */
export const ToolResult = z.object({ agent_id: z.string(), goal_id: z.string(), tool: z.string(), ok: z.boolean() })

declare module '#kernel' {
  interface Events {
    tool_result: z.infer<typeof ToolResult>
  }
  interface GoalContext {
    profile: Profile
    /** The agent's model as its row names it; null for the default. */
    model: string | null
    recent_goals: readonly GoalRow[]
    peer_summaries: readonly string[]
    nudges: readonly string[]
    memory_snippets: readonly string[]
    tools_description: string
  }
  interface GeneratedGoal {
    /** What the model call cost, where there was one; it then stands for cost_usd and tokens. */
    spend?: Spend
  }
}

/** The agent of the running cycle, as it was when the cycle began. */
export const ActiveAgent = token<AgentRow>('active_agent')
/** The goal that the running cycle pursues, if there is one. */
export const ActiveGoal = token<GoalRow>('active_goal')
/** The profile of the running cycle's agent. */
export const ActiveProfile = token<Profile>('active_profile')

export const GoalNotFoundError = defineError({
  code: 'goal_not_found',
  status: 404,
  title: 'Goal not found',
  sentence: (p: { ref: string }) => `There is no goal "${p.ref}".`,
})
