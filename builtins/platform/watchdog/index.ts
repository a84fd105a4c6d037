import { definePlugin, ROLES } from '#kernel'
import { SupervisorToken } from '#platform/plugin-files/contract'
import { WatchdogConfig } from './config.ts'
import { Watchdog } from './contract.ts'
import { Guard } from './guard.ts'

export default definePlugin({
  name: 'watchdog',
  description: 'Keeps a plugin that goes wrong beyond catching from taking the process with it, and says which it was.',
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
