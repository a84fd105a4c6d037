import { definePlugin } from '#kernel'
import { Metrics } from '#lib/metric'
import { TelemetrySection } from './config.ts'
import { Deliveries } from './deliveries.ts'
import { beginTelemetry, isOn } from './telemetry.ts'

export default definePlugin({
  name: 'telemetry',
  description: 'OpenTelemetry traces and metrics for a collector. Off by default.',
  section: 'telemetry',
  config: TelemetrySection,
  setup(svc, config) {
    const deliveries = new Deliveries(svc.log)
    svc.add(Metrics, deliveries.metric())
    svc.start(() => (isOn(svc, config) ? beginTelemetry(svc, config, deliveries) : undefined), {
      in: ['daemon', 'server', 'mcp', 'cli'],
    })
  },
})
