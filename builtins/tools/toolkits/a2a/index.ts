import { definePlugin } from '#kernel'
import { a2aToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-a2a',
  description: 'Tools for typed messages between agents: requests, questions, reviews and replies.',
  needs: ['a2a'],
  setup(svc) {
    svc.toolkit(a2aToolkit(svc))
  },
})
