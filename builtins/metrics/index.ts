import { definePlugin } from '#kernel'
import { metricsGet } from './operations.ts'

export default definePlugin({
  name: 'metrics',
  description: 'Gauges of agents and goals for Prometheus.',
  setup(svc) {
    svc.operation(metricsGet(svc))
  },
})
