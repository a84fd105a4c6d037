import { definePlugin } from '#kernel'
import { commsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-comms',
  description: 'The two plainest tools for messages between agents: send one, read those that came.',
  needs: ['a2a'],
  setup(svc) {
    svc.toolkit(commsToolkit(svc))
  },
})
