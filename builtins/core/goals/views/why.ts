import type { AgentRow, BlockReason } from '#core/agents/contract'
import { Models } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { isoTime, Store } from '#platform/store/contract'
import { OwnCommands } from '../acceptance/commands.ts'
import { describeWait } from '../context/assembly.ts'
import { lastSearch, NEVER, type NoGoal, RESTS } from '../generation/idle.ts'
import { activeGoal, awaitedGoals, runningCall } from '../repository.ts'

/** Number of approvals and questions of other agents that are named. */
const MOST_ASKS = 3

/** Describes the tool that a cycle runs, or the model that it waits for in this process. */
async function currentWork(
  svc: PluginHandle,
  { agent_id, goal_id }: Pick<AgentRow, 'agent_id' | 'goal_id'>,
): Promise<string | undefined> {
  const tool = goal_id === null ? undefined : await runningCall(svc.use(Store), goal_id)
  if (tool) return `${tool.tool} since ${isoTime(tool.since)}`
  const call = svc.use(Models).runningCall?.(agent_id)
  return call && `it waits for ${call.model} since ${isoTime(call.since)}`
}

/** This module's reasons why an agent does not run. */
export function goalBlockReasons(svc: PluginHandle): BlockReason[] {
  return [
    {
      name: 'tool',
      // Before `working` of all agents, which cannot say what the cycle does.
      stage: 1.5,
      async why(agent) {
        if (agent.status !== 'working' || svc.heartbeat.fault !== undefined) return undefined
        const work = await currentWork(svc, agent)
        return work === undefined ? undefined : { reason: `Its cycle runs now: ${work}.`, at: null }
      },
    },
    {
      name: 'blocked',
      // Before `waiting`, the same text without whether the operator is needed.
      stage: 41,
      async why({ agent_id, goal_id }) {
        const goal = goal_id === null ? undefined : await activeGoal(svc.use(Store), agent_id)
        if (!goal?.blocked) return undefined
        const awaited = await awaitedGoals(svc.use(Store), goal.goal_id)
        const asks = awaited.flatMap(each => (each.asks === null ? [] : `${each.agent_id} waits for your ${each.asks}`))
        const reason = [await describeWait(svc, goal, awaited), ...asks.slice(0, MOST_ASKS)].join('; ')
        return { reason, at: null, needsOperator: goal.question_id !== null || asks.length > 0 }
      },
    },
    {
      name: 'acceptance',
      stage: 42,
      async why({ goal_id }) {
        if (goal_id === null || !svc.use(OwnCommands).areRunning(goal_id)) return undefined
        return { reason: `Its goal ${goal_id} is checked by its acceptance commands, which still run`, at: null }
      },
    },
    {
      name: 'refused',
      // Before the time of the next cycle, because that cycle asks no model.
      stage: 55,
      async why({ agent_id, goal_id }) {
        const search = goal_id === null ? await lastSearch(svc, agent_id) : undefined
        return search?.ask_again_at === NEVER
          ? { reason: refusedReason(search), at: null, needsOperator: true }
          : undefined
      },
    },
    {
      name: 'idle',
      stage: 70,
      async why({ agent_id, goal_id, run_at }) {
        const search = goal_id === null ? await lastSearch(svc, agent_id) : undefined
        const now = svc.clock.ms()
        if (!search) return undefined
        return { reason: reasonOf(search), at: search.ask_again_at > now ? search.ask_again_at : run_at }
      },
    },
  ]
}

/** Renders the model's reason, and when it is asked again. */
function reasonOf({ said, refused }: NoGoal): string {
  const again = 'It is asked again at its next run, or as soon as something happens to it.'
  if (said?.startsWith(RESTS)) return `${said} ${again}`
  if (refused !== null) return `Its last goal was refused, because ${said}: "${refused}". ${again}`
  return `It is idle: it found nothing to do${said ? ` ("${said}")` : ''}. ${again}`
}

function refusedReason({ said }: NoGoal): string {
  return `Its model does not accept the request for a new goal: ${said} It is asked again when its model, its profile or the configuration under "model" changes, or when something happens to the agent.`
}
