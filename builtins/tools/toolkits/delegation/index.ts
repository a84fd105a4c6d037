import { definePlugin } from '#kernel'
import { delegationToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-delegation',
  description: 'Tools with which an agent hands a task on to another and asks what became of it.',
  needs: ['delegation'],
  setup(svc) {
    svc.toolkit(delegationToolkit(svc))
  },
})
