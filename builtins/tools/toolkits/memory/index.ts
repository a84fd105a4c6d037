import { definePlugin } from '#kernel'
import { memoryToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-memory',
  description: 'Tools for values that an agent stores under keys, permanently.',
  needs: ['memory'],
  setup(svc) {
    svc.toolkit(memoryToolkit(svc))
  },
})
