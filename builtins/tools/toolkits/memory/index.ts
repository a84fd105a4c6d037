import { definePlugin } from '#kernel'
import { memoryToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-memory',
  description: 'Tools with which an agent keeps values under keys, and has them for good.',
  needs: ['memory'],
  setup(svc) {
    svc.toolkit(memoryToolkit(svc))
  },
})
