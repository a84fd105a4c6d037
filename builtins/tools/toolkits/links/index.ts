import { definePlugin } from '#kernel'
import { Copyables } from '#tools/toolkits/clipboard/contract'
import { linkOf } from './links.ts'
import { linksToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-links',
  description: 'Tools for web addresses that an agent saves, under names or with a summary of the page.',
  needs: ['memory'],
  setup(svc) {
    svc.toolkit(linksToolkit(svc))
    svc.add(Copyables, {
      name: 'link',
      text: async (agent_id, id) => (await linkOf(svc, agent_id, id))?.url,
    })
  },
})
