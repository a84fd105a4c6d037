import { definePlugin, ROLES } from '#kernel'
import { SupervisorToken } from '#platform/plugin-files/contract'
import { WatchdogConfig } from './config.ts'
import { Watchdog } from './contract.ts'
import { Guard } from './guard.ts'

export default definePlugin({
  name: 'watchdog',
  description: 'Detects plugins that hang or end the process, quarantines them and restarts the service.',
  fixed: true,
  config: WatchdogConfig,
  setup(svc, config) {
    const guard = new Guard(svc, config)
    svc.provide(SupervisorToken, guard)
    svc.provide(Watchdog, guard)
    svc.start(
      () => {
        guard.begin()
      },
      { in: ['daemon', 'server'] },
    )
    svc.start(() => () => guard.end(), { in: ROLES })
  },
})
