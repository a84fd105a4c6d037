import { definePlugin, SupervisorToken, z } from '#kernel'
import { Watchdog } from './contract.ts'
import { Guard } from './guard.ts'

export default definePlugin({
  name: 'watchdog',
  description: 'Keeps a plugin that goes wrong beyond catching from taking the process with it, and says which it was.',
  config: z.object({
    limit: z
      .number()
      .min(0.3)
      .max(3600)
      .default(15)
      .describe('Seconds without a turn of the event loop after which the process counts as held up'),
  }),
  setup(svc, config) {
    const guard = new Guard(svc, config)
    svc.provide(SupervisorToken, guard)
    svc.provide(Watchdog, guard)
    svc.start(
      () => {
        guard.begin()
        return () => guard.end()
      },
      { in: ['daemon', 'server'] },
    )
  },
})
