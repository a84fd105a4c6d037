import { definePlugin } from '#kernel'
import { Copyables } from '#tools/toolkits/clipboard/contract'
import { linkOf } from './links.ts'
import { linksToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-links',
  description:
    'Tools with which an agent keeps addresses of the web, with what stands there and under names of its own.',
  needs: ['memory'],
  setup(svc) {
    svc.toolkit(linksToolkit(svc))
    svc.add(Copyables, {
      name: 'link',
      text: async (agent_id, id) => (await linkOf(svc, agent_id, id))?.url,
    })
  },
})
