// Another plugin that adds to the point. It needs no plugin to be live: while the point has no reader, nothing happens.
// A name that is taken is refused, with an error that names both owners.
import { definePlugin } from 'svc'
import { Announcements } from './_announcements.ts'

export default definePlugin({
  name: 'agents-at-work',
  description: 'Announces how many agents are at work.',
  setup(svc) {
    svc.add(Announcements, {
      name: 'at-work',
      text: () => `${svc.heartbeat.inFlight.length} agents are at work.`,
    })
  },
})
