// A guard for convenience: agents look for new goals during office hours only.
// It fails open: if it throws, the phase is entered anyway and the error is logged.
import { definePlugin, z } from 'svc'

const hour = z.number().int().min(0).max(24)

export default definePlugin({
  name: 'office-hours',
  description: 'Agents look for new goals during office hours (UTC) only.',
  config: z.object({
    from: hour.default(9).meta({ reload: 'applied' }).describe('Hour from which agents look for goals'),
    to: hour.default(17).meta({ reload: 'applied' }).describe('Hour from which agents no longer look for goals'),
  }),
  setup(svc, config) {
    svc.guard('goal_generation', {
      shouldProceed: ({ at }) => at.getUTCHours() >= config.from && at.getUTCHours() < config.to,
    })
  },
})
