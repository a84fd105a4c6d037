import { definePlugin } from '#kernel'
import { EventReaders } from '#platform/retention/contract'
import { EventLogConfig } from './config.ts'
import { Notices, OwnNotices } from './notices.ts'
import { eventOperations } from './operations.ts'
import { EventLog } from './projection.ts'
import { eventsForget } from './retention.ts'
import { OwnTail, Tail } from './tail.ts'

export default definePlugin({
  name: 'events',
  description: 'The event log: a durable stream of all events, and a copy in files.',
  needs: ['store', 'agents'],
  setup(svc) {
    const config = svc.section('', EventLogConfig)
    eventsForget(svc)
    const tail = new Tail(svc)
    svc.provide(OwnTail, tail)
    svc.provide(OwnNotices, new Notices(svc, () => tail.wake()))
    for (const operation of eventOperations) svc.operation(operation)
    // A follower without a signal of its own would wait for ever and keep the process alive.
    svc.start(() => () => tail.close(), { in: ['daemon', 'server', 'mcp', 'cli'] })
    const log = new EventLog(svc, () => config.event_log_fsync)
    svc.add(EventReaders, { name: 'event-log', seq: () => log.writtenSeq() })
    svc.start(() => {
      const stop = new AbortController()
      const writing = log.run(stop.signal)
      return () => {
        stop.abort()
        return writing
      }
    })
  },
})
