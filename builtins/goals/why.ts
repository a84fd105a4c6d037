import type { PluginHandle } from '#kernel'
import type { Hold } from '../agents/contract.ts'
import { Store } from '../store/contract.ts'
import { asleepUntil } from './idle.ts'
import { activeGoal } from './repository.ts'

/** What this room knows of why an agent does not run. */
export function goalHolds(svc: PluginHandle): Hold[] {
  return [
    {
      name: 'subgoals',
      stage: 65,
      async why({ agent_id, goal_id }) {
        const goal = goal_id === null ? undefined : await activeGoal(svc.use(Store), agent_id)
        return goal?.blocked
          ? { reason: `Its goal ${goal.goal_id} waits for subgoals of others.`, at: null }
          : undefined
      },
    },
    {
      name: 'idle',
      stage: 70,
      async why({ agent_id, goal_id }) {
        const until = goal_id === null ? await asleepUntil(svc, agent_id) : null
        if (until === null) return undefined
        const reason =
          'It is idle: its model found nothing to do, and is asked again then, or as soon as something changes.'
        return { reason, at: until }
      },
    },
  ]
}
