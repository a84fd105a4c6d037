import { definePlugin } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import { RetentionConfig } from './config.ts'
import { Retention, RetentionReport } from './contract.ts'
import { retentionOperations } from './operations.ts'
import { RetentionRunner } from './retention-runner.ts'

export default definePlugin({
  name: 'retention',
  description: 'Removes old rows and files in small steps, and keeps the database file small.',
  needs: ['store'],
  section: 'retention',
  config: RetentionConfig,
  setup(svc, config) {
    const runner = new RetentionRunner(svc, config)
    svc.provide(Retention, runner)

    const isIdle = () => svc.heartbeat.inFlight.every(id => id.startsWith('sys:'))
    svc.on('beat', async ({ beat }) => {
      if (beat % config.interval_cycles === 0) runner.runInBackground()
      if (isIdle()) await svc.use(Store).trimLog()
    })
    svc.add(DaemonStarts, {
      name: 'retention',
      async begin() {
        if (config.enabled) runner.runInBackground()
      },
    })
    svc.start(() => () => runner.stop(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
  base(svc) {
    for (const operation of retentionOperations) svc.operation(operation)
    svc.event(
      'retention_done',
      RetentionReport.omit({ dry_run: true }).describe('Old data that is no longer used was removed'),
    )
  },
})
