import { operation, type PluginHandle, z } from '#kernel'
import { Agents } from '../agents/contract.ts'
import { exposition } from './exposition.ts'

export function metricsGet(svc: PluginHandle) {
  return operation({
    name: 'metrics.get',
    summary: 'Gauges of agents and goals, in the text format of Prometheus',
    input: z.object({}),
    output: z.string(),
    http: { method: 'GET', path: '/metrics', produces: 'text/plain; version=0.0.4; charset=utf-8' },
    async run() {
      const { working, idle, waiting, waiting_approval, paused, dead, goals_active } = await svc.use(Agents).counts()
      return exposition([
        { name: 'svc_agents_working', help: 'Agents in a cycle now.', value: working },
        { name: 'svc_agents_idle', help: 'Agents between two cycles.', value: idle },
        {
          name: 'svc_agents_waiting',
          help: 'Agents that wait for an approval or for something else.',
          value: waiting + waiting_approval,
        },
        { name: 'svc_agents_paused', help: 'Agents that were paused.', value: paused },
        { name: 'svc_agents_dead', help: 'Agents that are dead and not deleted.', value: dead },
        { name: 'svc_goals_active', help: 'Goals that are being pursued.', value: goals_active },
      ])
    },
  })
}
