import { definePlugin } from '#kernel'
import { delegationToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-delegation',
  description: 'Tools to delegate a goal to another agent and to follow its result.',
  needs: ['delegation'],
  setup(svc) {
    svc.toolkit(delegationToolkit(svc))
  },
})
