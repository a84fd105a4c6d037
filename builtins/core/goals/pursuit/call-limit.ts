import type { CallLimit } from '#core/models/contract'
import { GoalEndedError } from '../contract.ts'

const ACTIVE = "EXISTS (SELECT 1 FROM goals WHERE goal_id = ? AND status = 'active')"

/** Stops model calls for a goal that was ended meanwhile, such as by the operator. */
export const endedGoalLimit: CallLimit = {
  name: 'ended goal',
  question: ({ goal_id, kind }) =>
    goal_id === null || kind !== 'goal_pursuit' ? undefined : { sql: ACTIVE, params: [goal_id] },
  async hold({ purpose }, active) {
    if (active === 0) throw new GoalEndedError({ goal_id: String(purpose.goal_id), status: 'ended' })
  },
  async settle() {},
  checks_waiting: true,
}
