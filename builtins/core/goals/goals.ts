import type { CallLimit } from '#core/models/contract'
import type { Effect, PluginHandle } from '#kernel'
import { Freeze } from '#platform/daemon/contract'
import { appendEvent, Store, wakeAgents } from '#platform/store/contract'
import { setAcceptance, uncheckedTerms } from './acceptance/repository.ts'
import { overdueGoals } from './acceptance/terms-repository.ts'
import { GoalEndedError, GoalNotFoundError, type GoalRow, type NewGoal, TooManySubgoalsError } from './contract.ts'
import { wokeUp } from './generation/idle.ts'
import { goalEnding } from './pursuit/outcome.ts'
import { activeBelow, depthOf, findGoal, insertGoal, mayRunTools } from './repository.ts'

/** Maximum nesting depth of subgoals. */
const MAX_DEPTH = 3
/** Maximum number of active subgoals of one goal, at any depth. */
const MAX_SUBGOALS = 8

/** Returns the writes that add a goal to an agent. */
export function addGoal(svc: PluginHandle, goal: NewGoal): { goal_id: string; effects: Effect[] } {
  const goal_id = svc.ports.ids.make('goal', 12)
  const { agent_id, objective, origin, parent_goal_id } = goal
  const { acceptance = [], ...row } = goal
  const data = { agent_id, goal_id, objective, origin, parent_goal_id }
  return {
    goal_id,
    effects: [
      insertGoal({ place: 0, ...row, goal_id, reasoning: null }),
      appendEvent({ type: 'goal_added', agent_id, data }),
      wokeUp({ agent_id }),
      ...(acceptance.length > 0
        ? [setAcceptance({ goal_id, acceptance: uncheckedTerms(acceptance), refused: false })]
        : []),
    ],
  }
}

/** @throws GoalNotFoundError, GoalEndedError, TooManySubgoalsError when it cannot be divided (further) */
export async function parentFor(svc: PluginHandle, goal_id: string, agent_id: string, more: number): Promise<GoalRow> {
  const store = svc.use(Store)
  const parent = await findGoal(store, goal_id)
  if (!parent || parent.agent_id !== agent_id) throw new GoalNotFoundError({ ref: goal_id })
  if (parent.status !== 'active') throw new GoalEndedError({ goal_id, status: parent.status })
  if ((await depthOf(store, goal_id)) + 1 >= MAX_DEPTH) {
    throw new TooManySubgoalsError({
      problem: `Goal ${goal_id} cannot be divided further, because goals are at most ${MAX_DEPTH} levels deep; pursue it without subgoals`,
    })
  }
  if ((await activeBelow(store, goal_id)).length + more > MAX_SUBGOALS) {
    throw new TooManySubgoalsError({
      problem: `A goal has at most ${MAX_SUBGOALS} active subgoals; finish or abandon some first`,
    })
  }
  return parent
}

/** Returns the writes that abandon a goal and everything done only for it. */
export async function abandonGoal(
  svc: PluginHandle,
  goal: { goal_id: string; agent_id: string },
  reason: string,
): Promise<Effect[]> {
  const below = await activeBelow(svc.use(Store), goal.goal_id)
  return [
    ...goalEnding(goal, 'abandoned', reason),
    ...below.flatMap(each => goalEnding(each, 'abandoned', 'Its parent goal was abandoned.')),
  ]
}

/** Ends active goals whose deadline has passed. */
export async function endOverdue(svc: PluginHandle): Promise<void> {
  const store = svc.use(Store)
  for (const goal of await overdueGoals(store, svc.clock.ms())) {
    const effects = await abandonGoal(svc, goal, 'Its deadline passed before it was reached.')
    await store.apply([...effects, wakeAgents({ agents: [goal.agent_id], reason: 'deadline' })])
  }
}

/** Returns whether the agent of a goal may run programs for it: `later` while it is paused or the daemon frozen. */
export function mayRun(svc: PluginHandle, goal_id: string): Promise<'now' | 'later' | 'never'> {
  const frozen = (svc.has(Freeze) && svc.use(Freeze).condition) || '1 = 0'
  return mayRunTools(svc.use(Store), goal_id, frozen)
}

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
