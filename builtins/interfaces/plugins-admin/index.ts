import { definePlugin } from '#kernel'
import { pluginsList, pluginsReload } from './operations.ts'
import { pluginsToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'plugins-admin',
  description: 'Shows the plugins of a process and what each registered, and reloads them.',
  setup(svc) {
    for (const operation of [pluginsList, pluginsReload]) svc.operation(operation)
    svc.toolkit(pluginsToolkit(svc))
  },
})
