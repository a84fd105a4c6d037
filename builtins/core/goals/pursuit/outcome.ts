import { Agents } from '#core/agents/contract'
import { isNotReady, type Spend } from '#core/models/contract'
import { type Effect, errorMessage, type PluginHandle, SvcError } from '#kernel'
import { DaemonFrozenError } from '#platform/daemon/contract'
import { type Cycle, FencedError } from '#platform/heartbeat/contract'
import { appendEvent } from '#platform/store/contract'
import { AgentBudgetExhaustedError, BudgetExhaustedError, bookSpend, UnknownPriceError } from '#safety/budget/contract'
import type { GoalsConfig } from '../config.ts'
import { ActiveAgent, GoalEndedError } from '../contract.ts'
import { endGoal, endTranscript } from '../repository.ts'

/** Maximum rest of an agent whose model fails, in milliseconds. */
const LONGEST_REST_MS = 600_000
/** Maximum rest while no server of the model is ready: another attempt costs nothing, and it may start at any time. */
const LONGEST_WAIT_MS = 60_000

/** The writes that end a goal: its state, its transcript, its event. */
export function goalEnding(
  goal: { goal_id: string; agent_id: string },
  status: 'completed' | 'abandoned',
  result: string,
  unconfirmed = false,
): Effect[] {
  const { goal_id, agent_id } = goal
  return [
    endGoal({ goal_id, status, result, unconfirmed }),
    endTranscript({ goal_id }),
    appendEvent({ type: `goal_${status}`, agent_id, data: { agent_id, goal_id } }),
  ]
}

/** Books the cost of a model call for the agent and its parent. */
export function recordSpend(cycle: Cycle, kind: string, goal_id: string | null, spend: Spend, step?: number): Effect {
  const { agent_id, cycle_num } = cycle
  const root_agent_id = cycle.get(ActiveAgent)?.root_agent_id ?? agent_id
  return bookSpend({ agent_id, root_agent_id, cycle_num, goal_id, kind, step, ...spend })
}

/** Returns the writes that clear a failure of an earlier cycle. */
export function clearFailure(svc: PluginHandle, cycle: Cycle): Effect[] {
  const agent = cycle.get(ActiveAgent)
  if (agent && agent.failures === 0 && agent.waiting_for === null) return []
  return [svc.use(Agents).recordOutcome({ agent_id: cycle.agent_id, error: null, waiting_for: null })]
}

/**
 * Records that the budget allows no model call now, which is not a failure. The agent shows what it waits for, and
 * tries again at the next heartbeat.
 */
function outOfBudget(svc: PluginHandle, cycle: Cycle, waiting_for: string): void {
  const { agent_id, cycle_num } = cycle
  if (cycle.get(ActiveAgent)?.waiting_for !== waiting_for) {
    cycle.effects.push(svc.use(Agents).recordOutcome({ agent_id, error: null, waiting_for }))
    svc.log.info({ agent_id, cycle_num, code: 'guarded' }, waiting_for)
  }
  cycle.result = 'guarded'
  cycle.done = true
}

/**
 * Records a failure of the agent, which then rests, longer after each failure in a row.
 * @param error sets the minimum rest by its `retryAfter`, and the maximum by whether a server was ready
 */
export function restAfter(
  svc: PluginHandle,
  config: Pick<GoalsConfig, 'max_failures'>,
  cycle: Cycle,
  sentence: string,
  error?: unknown,
): void {
  const failures = (cycle.get(ActiveAgent)?.failures ?? 0) + 1
  const waiting_for = failures >= config.max_failures ? sentence : null
  cycle.effects.push(svc.use(Agents).recordOutcome({ agent_id: cycle.agent_id, error: sentence, waiting_for }))
  const heartbeat = Number(svc.config.get('daemon.heartbeat')) * 1000
  const longest = isNotReady(error) ? LONGEST_WAIT_MS : LONGEST_REST_MS
  const rest = Math.min(heartbeat * 2 ** Math.min(failures, 16), Math.max(longest, heartbeat))
  const retryAfter = error instanceof SvcError ? (error.retryAfter ?? 0) : 0
  cycle.run_at = svc.clock.ms() + Math.max(rest, Math.min(retryAfter * 1000, LONGEST_REST_MS))
}

/**
 * Runs a phase so that a failure, usually of the model, ends the cycle but not the goal: it is recorded, and the agent
 * rests, longer after each failure in a row. The cost of a failed call has been booked by then.
 */
export async function orFail(
  svc: PluginHandle,
  config: GoalsConfig,
  cycle: Cycle,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    // A cycle that was stopped or ran out of time is not a failure of the agent.
    if (cycle.signal.aborted) throw cycle.signal.reason
    if (error instanceof FencedError) throw error
    if (error instanceof GoalEndedError) {
      cycle.run_at = svc.clock.ms()
      return
    }
    const isBudget = error instanceof BudgetExhaustedError || error instanceof AgentBudgetExhaustedError
    if (isBudget || error instanceof UnknownPriceError) {
      return outOfBudget(svc, cycle, error.message)
    }
    if (error instanceof DaemonFrozenError) {
      cycle.result = 'guarded'
      cycle.done = true
      return
    }
    const sentence = errorMessage(error)
    restAfter(svc, config, cycle, sentence, error)
    cycle.result = 'error'
    cycle.error = error
    cycle.done = true
    const code = error instanceof SvcError ? error.code : 'error'
    svc.log.warn({ agent_id: cycle.agent_id, cycle_num: cycle.cycle_num, code }, sentence)
  }
}
