import type { PluginHandle } from '#kernel'
import { isoTime, Store } from '#platform/store/contract'
import { DaemonStatusParts, type FoundDaemon } from './contract.ts'
import { frozenSince } from './freeze.ts'
import { findDaemons } from './holder.ts'
import type { DaemonStatus } from './shape.ts'

const NO_AGENTS = { working: 0, waiting_approval: 0, waiting: 0, idle: 0, paused: 0, dead: 0 }

/**
 * Returns the status of the project's daemon from its files in `.svc/`, so every process gives the same answer, even if
 * the daemon hangs.
 */
export async function daemonStatus(svc: PluginHandle): Promise<DaemonStatus> {
  const all = await findDaemons(svc.ports, svc.project.svc)
  const found = all.find(({ alive }) => alive) ?? all[0]
  const now = svc.clock.ms()
  const parts = await Promise.all(svc.list(DaemonStatusParts).map(part => part.read()))
  const { agents = NO_AGENTS, budget = null } = Object.assign({}, ...parts) as Partial<DaemonStatus>
  const frozen = await frozenSince(svc.use(Store))
  return {
    running: found?.alive ?? false,
    ...healthOf(found, svc),
    ...timesOf(found, now),
    joined: all.filter(each => each.alive && each !== found).map(each => joinedOf(each, now)),
    heartbeat_s: Number(svc.config.get('daemon.heartbeat')),
    frozen: frozen !== null,
    frozen_since: isoTime(frozen),
    in_flight: svc.heartbeat.live ? svc.heartbeat.inFlight.length : agents.working,
    agents,
    problems: parts.flatMap(({ problems = [] }) => problems),
    budget,
  }
}

function healthOf(
  found: FoundDaemon | undefined,
  { heartbeat }: PluginHandle,
): Pick<DaemonStatus, 'health' | 'problem'> {
  if (!found) return { health: 'stopped', problem: null }
  if (!found.alive) return { health: 'dead', problem: null }
  const seen = found.failing ? 'its loop fails; svc logs shows the error' : null
  const problem = found.holder.pid === process.pid ? (heartbeat.fault ?? null) : seen
  return { health: found.stalled || problem ? 'stalled' : 'healthy', problem }
}

function timesOf(found: FoundDaemon | undefined, now: number) {
  if (!found) return { pid: null, started_at: null, uptime_s: null, last_tick_at: null, last_tick_age_s: null }
  const { holder, alive, ticked_at } = found
  return {
    pid: alive ? holder.pid : null,
    started_at: isoTime(holder.started_at),
    uptime_s: alive ? secondsBetween(holder.started_at, now) : null,
    last_tick_at: isoTime(ticked_at),
    last_tick_age_s: secondsBetween(ticked_at, now),
  }
}

function joinedOf({ holder, stalled, failing, ticked_at }: FoundDaemon, now: number) {
  const health = stalled || failing ? ('stalled' as const) : ('healthy' as const)
  const { pid, started_at } = holder
  return { pid, health, started_at: isoTime(started_at), last_tick_age_s: secondsBetween(ticked_at, now) }
}

/** Returns the seconds between two times; 0 if the clock was set back in between. */
function secondsBetween(from: number, to: number): number {
  return Math.max(0, Math.round((to - from) / 100) / 10)
}
