import { definePlugin } from '#kernel'
import { Effects } from '../store/contract.ts'
import { Daemon } from './contract.ts'
import { DaemonLife } from './life.ts'
import { leaveDaemon, takeDaemon } from './lock.ts'
import { daemonOperations } from './operations.ts'
import { daemonStatus } from './status.ts'

export default definePlugin({
  name: 'daemon',
  description: 'One process of the project drives the agents: its lock, its files, its socket, its health.',
  needs: ['store', 'agents'],
  setup(svc) {
    const life = new DaemonLife(svc)
    svc.provide(Daemon, { start: () => life.start(), stop: () => life.stop(), status: () => daemonStatus(svc) })
    for (const effect of [takeDaemon, leaveDaemon]) svc.add(Effects, effect.kind)
    for (const operation of daemonOperations(svc)) svc.operation(operation)
    svc.start(async () => {
      await life.start()
      return () => life.stop()
    })
    // One that was started by hand, in a process that embeds it, ends with the house too.
    svc.start(() => () => life.stop(), { in: ['server', 'mcp', 'cli'] })
  },
})
