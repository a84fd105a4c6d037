// Another plugin that contributes to the point. It depends on no other plugin: without a reader of the point, nothing
// happens.
// A name that is taken is refused, with an error that names both owners.
import { definePlugin } from 'svc'
import { Announcements } from './_announcements.ts'

export default definePlugin({
  name: 'agents-at-work',
  description: 'Announces the number of working agents.',
  setup(svc) {
    svc.add(Announcements, {
      name: 'at-work',
      text: () => `${svc.heartbeat.inFlight.length} agents are at work.`,
    })
  },
})
