import { definePlugin, errorMessage, type PluginHandle } from '#kernel'
import { currentService } from '#lib/current-service'
import { eachRound } from '#lib/poller'
import { Effects } from '#platform/store/contract'
import { SessionsConfig } from './config.ts'
import { Sessions } from './contract.ts'
import { sessionOperations } from './operations.ts'
import { SESSION_EFFECTS } from './repository.ts'
import { sessionsForget } from './retention.ts'
import { OwnSessions, SessionBook } from './sessions.ts'

export default definePlugin({
  name: 'sessions',
  description: 'Groups the tasks of one user with one agent: their conversation and their cost.',
  needs: ['store', 'agents'],
  section: 'server',
  config: SessionsConfig,
  setup(svc, config) {
    const book = new SessionBook(svc, config)
    svc.provide(Sessions, book)
    const current = currentService(svc, Sessions, book)
    for (const effect of SESSION_EFFECTS) svc.add(Effects, effect.kind)
    sessionsForget(svc, current)
    svc.provide(OwnSessions, current)
    for (const operation of sessionOperations) svc.operation(operation)
    svc.start(() => expirePeriodically(svc, current))
  },
})

/**
 * Interval at which the daemon looks for expired sessions, in milliseconds. Resolving a session checks expiry anyway.
 */
const LOOK_MS = 60_000

function expirePeriodically(svc: PluginHandle, book: SessionBook) {
  return eachRound(svc.clock, LOOK_MS, async () => {
    if (svc.config.get('retention.enabled') !== true) return
    await book.expire().catch(error => svc.log.warn({}, `cannot expire idle sessions: ${errorMessage(error)}`))
  })
}
