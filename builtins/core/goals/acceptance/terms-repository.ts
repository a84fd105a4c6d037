import { type PluginHandle, z } from '#kernel'
import { AMONG, defineEffect, insertInto, jsonList, Store } from '#platform/store/contract'
import { describeParked } from '../context/open-work.ts'
import { type GoalRow, PlanStep } from '../contract.ts'
import { COLUMNS } from '../repository.ts'

const Plan = z.array(PlanStep)

/** Parses a goal's column `plan`. */
export function readPlan(column: string | null): PlanStep[] {
  return column === null ? [] : Plan.parse(JSON.parse(column))
}

/** Replaces the plan of an active goal. */
export const setPlan = defineEffect({
  name: 'goals.set_plan',
  schema: z.object({ goal_id: z.string(), plan: Plan }),
  statements: ({ goal_id, plan }) => ({
    sql: "UPDATE goals SET plan = ? WHERE goal_id = ? AND status = 'active'",
    params: [JSON.stringify(plan), goal_id],
  }),
})

/** Sets when a goal begins, and its deadline. */
export const setTerms = defineEffect({
  name: 'goals.set_terms',
  schema: z.object({ goal_id: z.string(), deadline_at: z.int().nullable(), after: z.array(z.string()) }),
  statements: ({ goal_id, deadline_at, after }) => [
    { sql: 'UPDATE goals SET deadline_at = ? WHERE goal_id = ?', params: [deadline_at, goal_id] },
    ...after.map(each => insertInto('goal_dependencies', { goal_id, after_goal_id: each }, 'ON CONFLICT DO NOTHING')),
  ],
})

export const TERMS_EFFECTS = [setPlan, setTerms]

/** Active goals whose deadline has passed. */
export function overdueGoals(store: Store, now: number): Promise<{ goal_id: string; agent_id: string }[]> {
  return store.all(
    `SELECT goal_id, agent_id FROM goals WHERE status = 'active' AND deadline_at IS NOT NULL AND deadline_at <= ?
     ORDER BY deadline_at, goal_id`,
    [now],
  )
}

/** Returns the goals that a goal must wait for. */
export function goalsBefore(store: Store, goal_id: string): Promise<GoalRow[]> {
  return store.all<GoalRow>(
    `SELECT ${COLUMNS} FROM goals WHERE goal_id IN (SELECT after_goal_id FROM goal_dependencies WHERE goal_id = ?)
     ORDER BY created_at, goal_id`,
    [goal_id],
  )
}

/** What goals wait for, by goal id. */
export interface WaitsFor {
  /** Goals that must end first, whether or not they have. */
  after: string[]
  question_id: string | null
  approval_ids: string[]
  /** Active goals that it waits for. */
  awaited: { goal_id: string; agent_id: string }[]
  /** What it waits for until its agent is woken. */
  parked_for: string | null
}

export async function waitsOf(svc: PluginHandle, goal_ids: readonly string[]): Promise<(goal_id: string) => WaitsFor> {
  const store = svc.use(Store)
  const ids = [jsonList(goal_ids)]
  const [dependencies, questions, approvals, awaited, parked] = await Promise.all([
    store.all<{ goal_id: string; after_goal_id: string }>(
      `SELECT goal_id, after_goal_id FROM goal_dependencies WHERE goal_id ${AMONG} ORDER BY after_goal_id`,
      ids,
    ),
    store.all<{ goal_id: string; question_id: string }>(
      `SELECT goal_id, question_id FROM questions_view WHERE answered_at IS NULL AND goal_id ${AMONG} ORDER BY asked_at, question_id`,
      ids,
    ),
    store.all<{ goal_id: string; approval_id: string }>(
      `SELECT goal_id, approval_id FROM approvals_view WHERE status = 'pending' AND goal_id ${AMONG} ORDER BY created_at, approval_id`,
      ids,
    ),
    store.all<{ waiting: string; goal_id: string; agent_id: string }>(
      `SELECT parent_goal_id AS waiting, goal_id, agent_id FROM goals WHERE status = 'active' AND parent_goal_id ${AMONG}
       UNION SELECT d.goal_id, g.goal_id, g.agent_id FROM goal_dependencies d JOIN goals g ON g.goal_id = d.after_goal_id
       WHERE g.status = 'active' AND d.goal_id ${AMONG} ORDER BY 2`,
      [...ids, ...ids],
    ),
    store.all<{ goal_id: string }>(
      `SELECT goal_id FROM goals g JOIN leases_view l ON l.id = g.agent_id AND l.wakes = g.parked_wakes
       WHERE goal_id ${AMONG}`,
      ids,
    ),
  ])
  const reasons = new Map(
    await Promise.all(parked.map(async ({ goal_id }) => [goal_id, await describeParked(svc, goal_id)] as const)),
  )
  return goal_id => ({
    after: dependencies.filter(each => each.goal_id === goal_id).map(each => each.after_goal_id),
    question_id: questions.find(each => each.goal_id === goal_id)?.question_id ?? null,
    approval_ids: approvals.filter(each => each.goal_id === goal_id).map(each => each.approval_id),
    awaited: awaited.filter(each => each.waiting === goal_id),
    parked_for: reasons.get(goal_id) ?? null,
  })
}
