import { definePlugin } from '#kernel'
import { settingsOperations } from './operations.ts'

export default definePlugin({
  name: 'settings',
  description: 'The configuration, shown and changed: three views of it, and patches that keep what people wrote.',
  setup(svc) {
    for (const operation of settingsOperations(svc)) svc.operation(operation)
  },
})
