// A resource, and state that survives an edit: a small server that returns the number of goals reached since the daemon
// started.
// `svc.start` opens the resource and returns a function that closes it; `handOver` passes the count to the next version
// of this file.
import { createServer } from 'node:net'
import { definePlugin, z } from 'svc'

export default definePlugin({
  name: 'scoreboard',
  description: 'Serves the number of completed goals.',
  config: z.object({
    port: z.number().int().min(0).max(65535).default(0).describe('Port; 0 lets the system choose one'),
  }),
  state: z.object({ goals: z.number().int() }),
  setup(svc, config) {
    let { goals } = (svc.previous ?? { goals: 0 }) as { goals: number }
    svc.handOver(() => ({ goals }))
    svc.on('goal_completed', () => void goals++)
    svc.start(async () => {
      const server = createServer(socket => socket.end(`${goals} goals\n`))
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(config.port, '127.0.0.1', resolve)
      })
      svc.log.info({}, `the scoreboard is at ${JSON.stringify(server.address())}`)
      return () => new Promise<void>(resolve => server.close(() => resolve()))
    })
  },
})
