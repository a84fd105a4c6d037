import { operation, type PluginHandle, z } from '#kernel'
import { DaemonStatus, daemonStatus } from './status.ts'

export function daemonOperations(svc: PluginHandle) {
  return [
    operation({
      name: 'daemon.status',
      summary: 'Whether the daemon runs and moves, and what its agents do',
      input: z.object({}),
      output: DaemonStatus,
      http: { method: 'GET', path: '/daemon' },
      cli: { usage: 'daemon' },
      mcp: true,
      run: () => daemonStatus(svc),
      render,
    }),
  ]
}

function render(status: DaemonStatus): string {
  const agents = Object.entries(status.agents).filter(([, count]) => count > 0)
  const lines: [string, string][] = [
    ['daemon', headline(status)],
    ['heartbeat', `${status.heartbeat_s} s`],
    ['in flight', `${status.in_flight} cycles`],
    ['agents', agents.map(([name, count]) => `${count} ${name}`).join(', ') || 'none; spawn one with: svc spawn coder'],
  ]
  return lines.map(([name, value]) => `${name.padEnd(10)}  ${value}`).join('\n')
}

function headline({ health, pid, uptime_s, last_tick_age_s, last_tick_at }: DaemonStatus): string {
  if (health === 'stopped') return 'not running; start it with: svc start'
  if (health === 'dead') return `dead: it ended without saying so, last seen ${last_tick_at}; start it with: svc start`
  const moved = `PID ${pid}, up ${duration(uptime_s ?? 0)}, moved ${last_tick_age_s} s ago`
  return health === 'stalled' ? `stalled (${moved}); if it stays so: svc restart` : `healthy (${moved})`
}

function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`
}
