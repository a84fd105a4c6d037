import { definePlugin } from '#kernel'
import { a2aToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-a2a',
  description: 'Tools with which agents ask, answer and review each other, in typed messages and threads.',
  needs: ['a2a'],
  setup(svc) {
    svc.toolkit(a2aToolkit(svc))
  },
})
