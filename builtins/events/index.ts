import { definePlugin } from '#kernel'
import { eventOperations } from './operations.ts'
import { EventLog, EventLogConfig } from './projection.ts'
import { Tail } from './tail.ts'

export default definePlugin({
  name: 'events',
  description: 'What happened: a durable stream of events to follow, and a log of them in files.',
  needs: ['store', 'agents'],
  setup(svc) {
    const config = svc.section('', EventLogConfig)
    for (const operation of eventOperations(svc, new Tail(svc))) svc.operation(operation)
    svc.start(() => {
      const stop = new AbortController()
      const writing = new EventLog(svc, () => config.event_log_fsync).run(stop.signal)
      return () => {
        stop.abort()
        return writing
      }
    })
  },
})
