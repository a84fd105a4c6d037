import { operation, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { isoTime, Store } from '#platform/store/contract'
import { Daemon } from './contract.ts'
import { freeze, thaw } from './freeze.ts'
import { DaemonStatus } from './shape.ts'
import { daemonStatus as statusOf } from './status.ts'

const Frozen = z.object({
  status: z.enum(['paused', 'running']),
  frozen_since: z.iso.datetime().nullable(),
})

export const daemonStatus = operation({
  name: 'daemon.status',
  summary: "Show the daemon's status",
  description:
    'Includes its health, the number of agents in each status, and the budget. As a command, it exits with 1 when the heartbeat is stalled.',
  input: z.object({}),
  output: DaemonStatus,
  http: { method: 'GET', path: '/daemon' },
  cli: { usage: 'daemon' },
  mcp: true,
  run: (_, { svc }) => statusOf(svc),
  render,
  exit: ({ health }) => (health === 'stalled' ? 1 : 0),
})

export const daemonPause = operation({
  name: 'daemon.pause',
  summary: 'Freeze the daemon',
  description:
    'No agent enters a phase and nothing is spent until the daemon is resumed, even after restarts. The status of the agents does not change: an agent that was paused before the freeze stays paused after it.',
  input: z.object({}),
  output: Frozen,
  http: { method: 'POST', path: '/daemon/pause', daemon: true },
  cli: { usage: 'daemon pause' },
  mcp: true,
  async run(_, { svc }) {
    const since = await freeze(svc.use(Store))
    return { status: 'paused' as const, frozen_since: isoTime(since) }
  },
  render: ({ frozen_since }) => `frozen since ${frozen_since}; resume it with: svc daemon resume`,
})

export const daemonResume = operation({
  name: 'daemon.resume',
  summary: 'Resume the daemon after a freeze',
  description: 'Agents continue with their next heartbeat.',
  input: z.object({}),
  output: Frozen,
  http: { method: 'POST', path: '/daemon/resume', daemon: true },
  cli: { usage: 'daemon resume' },
  mcp: true,
  async run(_, { svc }) {
    await thaw(svc.use(Store))
    return { status: 'running' as const, frozen_since: null }
  },
  notice: async services =>
    (await services.use(Daemon).isDriven()) ? undefined : 'No daemon is running. Start it with: svc start',
  render: () => 'not frozen; agents that are not paused continue with their next heartbeat',
})

export const daemonOperations = [daemonStatus, daemonPause, daemonResume]

function render(status: DaemonStatus): string {
  const agents = Object.entries(status.agents).filter(([, count]) => count > 0)
  const lines: (readonly [string, string])[] = [
    ['daemon', headline(status)],
    ...status.joined.map(
      each => ['joined', `${each.health} (PID ${each.pid}, last tick ${each.last_tick_age_s} s ago)`] as const,
    ),
    ...(status.frozen ? [['frozen', `since ${status.frozen_since}; resume it with: svc daemon resume`] as const] : []),
    ['heartbeat', `${status.heartbeat_s} s`],
    ['running', pluralize(status.in_flight, 'cycle')],
    ['agents', agents.map(([name, count]) => `${count} ${name}`).join(', ') || 'none; spawn one with: svc spawn coder'],
    ...status.problems.map(problem => ['problem', problem] as const),
    ...(status.budget ? [['budget', status.budget] as const] : []),
  ]
  return lines.map(([name, value]) => `${name.padEnd(10)}  ${value}`).join('\n')
}

function headline({ health, problem, pid, uptime_s, last_tick_age_s, last_tick_at }: DaemonStatus): string {
  if (health === 'stopped') return 'not running; start it with: svc start'
  if (health === 'dead')
    return `dead: the process ended unexpectedly, last seen ${last_tick_at}; start it with: svc start`
  const moved = `PID ${pid}, up ${duration(uptime_s ?? 0)}, last tick ${last_tick_age_s} s ago`
  if (health === 'healthy') return `healthy (${moved})`
  return `stalled (${moved}): ${problem ?? 'if it does not recover: svc restart'}`
}

function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`
}
