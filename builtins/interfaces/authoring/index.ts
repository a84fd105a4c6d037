import { definePlugin } from '#kernel'
import { pluginsCheck } from './operations.ts'

export default definePlugin({
  name: 'authoring',
  description: 'Checks plugin files and reports what they would register.',
  setup(svc) {
    svc.operation(pluginsCheck)
  },
})
