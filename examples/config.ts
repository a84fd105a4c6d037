// Configuration: keys with defaults, validated by zod, under `plugins.config.greeter` in .svc/config.yaml.
// Read values where you need them instead of copying them: a key marked `applied` changes while the program runs.
import { definePlugin, z } from 'svc'

export default definePlugin({
  name: 'greeter',
  description: 'Greets agents at the beginning of each cycle.',
  config: z.object({
    greeting: z
      .string()
      .max(80)
      .default('Good day')
      .meta({ reload: 'applied', env: 'GREETING' })
      .describe('Greeting in the log; the environment variable GREETING takes precedence over the file'),
    token: z
      .string()
      .default('')
      .meta({ secret: true })
      .describe('Shown as *** wherever configuration or logs are shown'),
  }),
  setup(svc, config) {
    svc.on('cycle_start', ({ agent_id }) => svc.log.info({ agent_id }, `${config.greeting}, ${agent_id}!`))
  },
})
