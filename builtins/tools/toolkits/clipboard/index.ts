import { definePlugin } from '#kernel'
import { ClipboardConfig } from './config.ts'
import { HostClipboard } from './host.ts'
import { ownClipboard } from './own.ts'
import { clipboardToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-clipboard',
  description: "Tools for an agent's clipboard: copy a text, and paste it later.",
  needs: ['memory'],
  setup(svc) {
    const config = svc.section('tools', ClipboardConfig)
    const host = new HostClipboard(svc.ports)
    svc.toolkit(clipboardToolkit(svc, agent_id => (config.host_clipboard ? host : ownClipboard(svc, agent_id))))
  },
})
