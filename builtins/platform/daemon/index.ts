import { definePlugin, z } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { type HasWork, idsOf } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { Daemon, Freeze } from './contract.ts'
import { FREEZE_EFFECTS, frozenSince, IS_FROZEN, isThawed, thawedInTurn } from './freeze.ts'
import { findDaemon, findDaemons } from './holder.ts'
import { DaemonLife } from './life.ts'
import { leaveDaemon, takeDaemon } from './lock.ts'
import { isDriven } from './nodes.ts'
import { daemonOperations } from './operations.ts'
import { daemonStatus } from './status.ts'

export default definePlugin({
  name: 'daemon',
  description: 'The process that drives the agents: its lock, files, socket and health.',
  fixed: true,
  needs: ['store', 'agents'],
  setup(svc) {
    const life = new DaemonLife(svc)
    const daemon: Daemon = {
      start: options => life.start(options),
      isDriving: () => life.isDriving(),
      isDriven: () => isDriven(svc),
      stop: () => life.stop(),
      status: () => daemonStatus(svc),
      find: () => findDaemon(svc.ports, svc.project.svc),
      list: () => findDaemons(svc.ports, svc.project.svc),
    }
    svc.provide(Daemon, withEarlierNames(daemon, { drives: 'isDriving' }))
    for (const effect of [takeDaemon, leaveDaemon, ...FREEZE_EFFECTS]) svc.add(Effects, effect.kind)
    for (const operation of daemonOperations) svc.operation(operation)

    const since = () => frozenSince(svc.use(Store))
    const isFrozen = async () => (await since()) !== null
    svc.provide(Freeze, withEarlierNames({ since, isFrozen, condition: IS_FROZEN }, { frozen: 'isFrozen' }))
    svc.event('daemon_paused', z.object({}).describe('The operator froze all agents'))
    svc.event('daemon_resumed', z.object({}).describe('The freeze has ended'))
    const hasWork: HasWork = async due => ((await isThawed(svc.use(Store))) ? [] : idsOf(due))
    svc.guard('*', { name: 'freeze', shouldProceed: thawedInTurn(svc) }, { hasWork })

    svc.start(async () => {
      await life.start({ join: svc.roles.has('joined') })
      return () => life.stop()
    })
    // A daemon that was started by hand, in an embedding process, ends with its kernel too.
    svc.start(() => () => life.stop(), { in: ['server', 'mcp', 'cli'] })
  },
})
