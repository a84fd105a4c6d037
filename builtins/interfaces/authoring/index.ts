import { definePlugin } from '#kernel'
import { pluginsCheck } from './operations.ts'

export default definePlugin({
  name: 'authoring',
  description: 'Helps those who write plugins: says what a file would register.',
  setup(svc) {
    svc.operation(pluginsCheck)
  },
})
