import type { PluginHandle } from '#kernel'
import { Daemon, Freeze } from '#platform/daemon/contract'
import type { Cycle } from '#platform/heartbeat/contract'
import { isoTime, Store } from '#platform/store/contract'
import { type AgentRow, type Block, type BlockReason, BlockReasons, type NextRun } from './contract.ts'
import { agentHeld, approvalOfTask, countCycles } from './repository.ts'

/** Returns what keeps an agent from running; undefined while it only waits for its next heartbeat. */
export function blockOf(svc: PluginHandle, agent: AgentRow): Promise<Block | undefined> {
  return svc.ask<BlockReason, AgentRow, Block>(BlockReasons, agent)
}

/** Returns when an agent runs next, and what blocks it until then. */
export async function nextOf(svc: PluginHandle, agent: AgentRow): Promise<NextRun> {
  const { reason, at } = (await blockOf(svc, agent)) ?? {
    reason: 'It waits for its next heartbeat.',
    at: timeOf(agent),
  }
  const approval = await approvalOfTask(svc.use(Store), agent.agent_id)
  const task = approval
    ? ` Its task ${approval.task_id} waits for your decision on ${approval.tool_name}: svc approve ${approval.approval_id}`
    : ''
  return { reason: `${reason}${task}`, at: isoTime(at) }
}

/**
 * Returns when the lease is due; null where it is parked at a time beyond all dates, because it never comes due by
 * itself.
 */
function timeOf({ run_at }: AgentRow): number | null {
  return run_at === null || run_at > 8.64e15 ? null : run_at
}

/**
 * Returns since when the daemon is frozen, in milliseconds; null when it is not, or when the freeze cannot be read: the
 * freeze guard handles that error.
 */
export async function frozenSince(svc: PluginHandle): Promise<number | null> {
  if (!svc.has(Freeze)) return null
  return svc
    .use(Freeze)
    .since()
    .catch(() => null)
}

/** Returns why no agent of the project runs: there is no daemon, or it is stalled, or its heartbeats fail. */
export async function daemonProblem(svc: PluginHandle): Promise<string | undefined> {
  const { live, fault } = svc.heartbeat
  if (live) return fault && `The daemon's heartbeats fail: ${fault}`
  if (!svc.has(Daemon)) return undefined
  const daemon = svc.use(Daemon)
  const found = await daemon.find()
  if (found?.alive && found.stalled) return 'The daemon is stalled. If it does not recover: svc restart'
  if (found?.alive) return found.failing ? "The daemon's heartbeats fail. See why with: svc daemon" : undefined
  return (await daemon.isDriven()) ? undefined : 'No daemon is running. Start it with: svc start'
}

/** Block reasons of this module, and those that apply to all agents. */
export function agentBlockReasons(svc: PluginHandle): BlockReason[] {
  return [
    {
      name: 'dead',
      stage: 0,
      why: async ({ died_at }) =>
        died_at === null ? undefined : { reason: 'It is dead. A dead agent can only be removed.', at: null },
    },
    {
      name: 'paused',
      stage: 1,
      why: async ({ agent_id, paused_at }) =>
        paused_at === null ? undefined : { reason: `It is paused. Resume it with: svc resume ${agent_id}`, at: null },
    },
    {
      name: 'working',
      stage: 2,
      // While heartbeats fail, the agent may be working only because the end of its cycle cannot be written.
      why: async ({ status }) =>
        status === 'working' && svc.heartbeat.fault === undefined
          ? { reason: 'Its cycle runs now.', at: null }
          : undefined,
    },
    {
      name: 'no-daemon',
      stage: 3,
      async why() {
        const reason = await daemonProblem(svc)
        return reason === undefined ? undefined : { reason, at: null, needsOperator: true }
      },
    },
    {
      name: 'frozen',
      stage: 10,
      async why() {
        const since = await frozenSince(svc)
        if (since === null) return undefined
        return {
          reason: `The daemon has been frozen since ${isoTime(since)}. Resume it with: svc daemon resume`,
          at: null,
          needsOperator: true,
        }
      },
    },
    {
      name: 'failures',
      stage: 30,
      why: async agent =>
        agent.failures === 0
          ? undefined
          : {
              reason: `Its last ${times(agent.failures)} failed, so it waits before it tries again: ${agent.error}`,
              at: timeOf(agent),
            },
    },
    {
      name: 'waiting',
      stage: 42,
      why: async agent =>
        agent.waiting_for === null ? undefined : { reason: agent.waiting_for, at: timeOf(agent), needsOperator: true },
    },
    {
      name: 'guarded',
      stage: 50,
      why: async agent =>
        agent.held_by === null
          ? undefined
          : { reason: `The guard "${agent.held_by}" skipped the work of its last cycle.`, at: timeOf(agent) },
    },
    {
      name: 'crowded',
      stage: 60,
      async why({ run_at }) {
        const now = svc.clock.ms()
        if (run_at === null || run_at > now) return undefined
        const { running, due } = await countCycles(svc.use(Store), now)
        const cap = Number(svc.config.get('daemon.max_concurrent_agents'))
        if (running < cap) return { reason: 'It is due and starts at once.', at: now }
        return {
          reason: `It is due, like ${due} others, and waits for a free slot: daemon.max_concurrent_agents is ${cap}.`,
          at: null,
        }
      },
    },
  ]
}

function times(failures: number): string {
  return failures === 1 ? 'cycle' : `${failures} cycles`
}

/** Records which guard blocked the agent, if that has changed. */
export function noteGuard(cycle: Cycle, agent: AgentRow | undefined): void {
  const held_by = cycle.vetoedBy ?? null
  if (agent ? agent.held_by === held_by : held_by === null) return
  cycle.effects.push(agentHeld({ agent_id: cycle.agent_id, held_by }))
}
