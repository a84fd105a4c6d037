import { definePlugin } from '#kernel'
import { pluginsList, pluginsReload } from './operations.ts'
import { pluginsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'plugins-admin',
  description: 'Lists plugins with what each registered, and reloads them.',
  setup(svc) {
    for (const operation of [pluginsList, pluginsReload]) svc.operation(operation)
    svc.toolkit(pluginsToolkit(svc))
  },
})
