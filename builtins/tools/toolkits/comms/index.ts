import { definePlugin } from '#kernel'
import { commsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-comms',
  description: 'Tools for simple messages between agents: send one, and read the inbox.',
  needs: ['a2a'],
  setup(svc) {
    svc.toolkit(commsToolkit(svc))
  },
})
