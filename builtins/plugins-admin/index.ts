import { definePlugin } from '#kernel'
import { pluginsList, pluginsReload } from './operations.ts'

export default definePlugin({
  name: 'plugins-admin',
  description: 'Shows the plugins of a process and what each registered.',
  setup(svc) {
    svc.operation(pluginsList(svc))
    svc.operation(pluginsReload(svc))
  },
})
