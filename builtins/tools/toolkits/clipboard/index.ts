import { definePlugin } from '#kernel'
import { ClipboardConfig } from './config.ts'
import { HostClipboard } from './host.ts'
import { ownClipboard } from './own.ts'
import { clipboardToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-clipboard',
  description: 'Tools with which an agent puts a text aside and takes it up again.',
  needs: ['memory'],
  setup(svc) {
    const config = svc.section('tools', ClipboardConfig)
    const host = new HostClipboard(svc.ports)
    svc.toolkit(clipboardToolkit(svc, agent_id => (config.host_clipboard ? host : ownClipboard(svc, agent_id))))
  },
})
