import { HostToken, type PluginHandle } from '#kernel'
import { shareCalls } from '#lib/share-calls'
import { Daemon, Freeze } from '#platform/daemon/contract'
import type { Metric } from './contract.ts'

const PLUGIN_STATES = ['live', 'suspended', 'failed', 'disabled'] as const

/** Returns metrics of the daemon, in whichever process it runs, and of this process's plugins. */
export function projectMetrics(svc: PluginHandle): Metric[] {
  const daemon = shareCalls(async () => (svc.has(Daemon) ? svc.use(Daemon).find() : undefined))
  return [
    {
      name: 'svc_daemon_up',
      help: '1 while a daemon drives the agents, otherwise 0.',
      type: 'gauge',
      collect: async () => Number(svc.heartbeat.live || ((await daemon())?.alive ?? false)),
    },
    {
      name: 'svc_daemon_frozen',
      help: '1 while the daemon is frozen by the operator, otherwise 0.',
      type: 'gauge',
      collect: async () => (svc.has(Freeze) ? Number(await svc.use(Freeze).isFrozen()) : undefined),
    },
    {
      name: 'svc_last_tick_age_seconds',
      help: "Time since the last tick of the daemon's loop, in seconds.",
      type: 'gauge',
      async collect() {
        const at = svc.heartbeat.live ? svc.heartbeat.lastTick : (await daemon())?.ticked_at
        return at ? Math.max(0, svc.clock.ms() - at) / 1000 : undefined
      },
    },
    {
      name: 'svc_plugins',
      help: 'Plugins of this process, by state.',
      type: 'gauge',
      collect() {
        const states = svc.use(HostToken).list()
        return PLUGIN_STATES.map(state => ({
          labels: { state },
          value: states.filter(plugin => plugin.state === state).length,
        }))
      },
    },
  ]
}
