import { definePlugin } from '#kernel'
import { summaryShow } from './operations.ts'

export default definePlugin({
  name: 'summary',
  description: 'Summarizes what happened in a period, for an operator who was away.',
  needs: ['store', 'agents', 'goals'],
  setup(svc) {
    svc.operation(summaryShow)
  },
})
