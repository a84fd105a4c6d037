import type { BundlePart } from '#core/checkpoints/contract'
import { Message } from '#core/models/contract'
import { type PluginHandle, z } from '#kernel'
import { defineEffect, insertInto, Store } from '#platform/store/contract'
import { readAcceptance, termOf, uncheckedTerms } from '../acceptance/repository.ts'
import { readPlan } from '../acceptance/terms-repository.ts'
import { Acceptance, Goal, PlanStep, sanitize } from '../contract.ts'
import { listGoals } from '../repository.ts'
import { transcriptOf, writeTranscript } from './checkpoint.ts'

/** Maximum number of goals in a bundle, the newest ones; also the limit of an import. */
const MOST_GOALS = 5_000
const LONGEST = 100_000
/** A time in milliseconds, up to the maximum date. */
const time = z.int().min(0).max(8.64e15)
const text = z.string().max(LONGEST)

/** A message from or to a model. System messages are ours, and are not imported. */
const Said = Message.extend({ role: z.enum(['user', 'assistant', 'tool']), content: z.string().max(4_000_000) })
const Packed = z.strictObject({
  goal_id: z.string().min(1).max(128),
  objective: text.min(1),
  status: Goal.shape.status,
  priority: z.int().min(-1000).max(1000),
  origin: z.string().max(64),
  parent_goal_id: z.string().max(128).nullable(),
  reasoning: text.nullable(),
  result: text.nullable(),
  unconfirmed: z.boolean(),
  steps_completed: z.int().min(0),
  created_at: time,
  completed_at: time.nullable(),
  acceptance: z.array(Acceptance).max(20).default([]),
  plan: z.array(PlanStep).max(30).default([]),
  transcript: z
    .array(z.strictObject({ seq: z.int().min(0), message: Said, at: time }))
    .max(10_000)
    .refine(rows => new Set(rows.map(({ seq }) => seq)).size === rows.length, 'has two messages with the same seq'),
})
const Goals = z
  .array(Packed)
  .max(MOST_GOALS)
  .refine(goals => new Set(goals.map(({ goal_id }) => goal_id)).size === goals.length, 'has a goal_id twice')
  .refine(
    goals => goals.filter(({ status, origin }) => status === 'active' && origin === 'generated').length < 2,
    'has two active generated goals, but an agent can have only one',
  )
type Goals = z.infer<typeof Goals>

/** Inserts goals of the exported agent. */
export const insertHistory = defineEffect({
  name: 'goals.history',
  schema: z.object({ agent_id: z.string(), goals: Goals }),
  statements: ({ agent_id, goals }) =>
    goals.flatMap(({ acceptance, plan, transcript, ...goal }) => [
      insertInto('goals', {
        ...goal,
        agent_id,
        told_at: goal.completed_at,
        acceptance: acceptance.length > 0 ? JSON.stringify(uncheckedTerms(acceptance)) : null,
        plan: plan.length > 0 ? JSON.stringify(plan) : null,
      }),
      ...writeTranscript(goal.goal_id, agent_id, goal.status === 'active' ? transcript : []),
    ]),
})

/** Packs all goals of an agent, oldest first, with the conversations of its active goals. */
export function goalsBundle(svc: PluginHandle): BundlePart {
  const part: BundlePart<Goals> = {
    name: 'goals',
    // Before the parts that refer to goals by the new ids assigned here.
    stage: -10,
    schema: Goals,
    async pack(agent_id) {
      const store = svc.use(Store)
      const goals: Goals = []
      for (const row of (await listGoals(store, agent_id, { limit: MOST_GOALS })).reverse()) {
        const { agent_id: _, refusals: __, claims_refused: ___, deadline_at: ____, ...goal } = row
        const acceptance = readAcceptance(row.acceptance).map(termOf)
        const plan = readPlan(row.plan)
        const rows = goal.status === 'active' ? await transcriptOf(store, goal.goal_id) : []
        const transcript = Goals.element.shape.transcript.parse(rows.filter(({ message }) => message.role !== 'system'))
        goals.push({ ...goal, acceptance, plan, unconfirmed: goal.unconfirmed === 1, transcript })
      }
      return goals.length > 0 ? goals : undefined
    },
    async unpack(agent_id, goals, ids) {
      for (const { goal_id } of goals) ids.set(goal_id, svc.ports.ids.make('goal', 12))
      const here = (goal_id: string) => ids.get(goal_id) ?? goal_id
      const remapped = goals.map(goal => ({
        ...goal,
        goal_id: here(goal.goal_id),
        objective: sanitize(goal.objective) || goal.goal_id,
        parent_goal_id: goal.parent_goal_id === null ? null : (ids.get(goal.parent_goal_id) ?? null),
      }))
      return { effects: [insertHistory({ agent_id, goals: remapped })] }
    },
  }
  return part as BundlePart
}
