import { definePlugin } from '#kernel'
import { EventReaders } from '#platform/retention/contract'
import { Effects } from '#platform/store/contract'
import { agentMetrics } from './agents.ts'
import { budgetMetrics } from './budget.ts'
import { Metrics } from './contract.ts'
import { Counts } from './counts.ts'
import { Cycles, cycleMetrics } from './cycles.ts'
import { LoopLag, processMetrics } from './machine.ts'
import { FailingMetrics, metricsGet } from './operations.ts'
import { projectMetrics } from './project-metrics.ts'
import { addCounts } from './repository.ts'
import { EventTotals, totalMetrics } from './totals.ts'

/** Number of heartbeats between two writes of the totals of events. */
const SAVE_EVERY = 30

export default definePlugin({
  name: 'metrics',
  description: 'Prometheus metrics of agents, cycles, models, tools, cost and the process.',
  needs: ['store'],
  setup(svc) {
    const counts = new Counts(svc)
    const totals = new EventTotals(svc)
    const cycles = new Cycles(svc.clock, counts)
    const lag = new LoopLag(svc.clock)
    const metrics = [
      ...agentMetrics(svc),
      ...cycleMetrics(counts),
      ...totalMetrics(totals),
      ...budgetMetrics(svc),
      ...projectMetrics(svc),
      ...processMetrics(svc, lag),
    ]
    for (const metric of metrics) svc.add(Metrics, metric)
    svc.provide(FailingMetrics, new Set())
    svc.operation(metricsGet)

    svc.add(Effects, addCounts.kind)
    svc.add(EventReaders, { name: 'metrics', seq: () => totals.save() })
    svc.on('cycle_start', ({ agent_id }) => cycles.recordStart(agent_id))
    svc.on('cycle_end', ({ agent_id, result }) => cycles.endCycle(agent_id, result))
    svc.on('beat', ({ beat }) => (beat % SAVE_EVERY === 0 ? totals.save() : undefined))
    svc.start(() => () => counts.flush())
    svc.start(() => lag.watch(), { in: ['daemon', 'server'] })
  },
})
