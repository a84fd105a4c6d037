import { definePlugin } from '#kernel'
import { Copyables } from '#tools/toolkits/clipboard/contract'
import { noteOf } from './notes.ts'
import { noteOperations } from './operations.ts'
import { knowledgeToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-knowledge',
  description: 'Tools for notes that an agent saves and searches by words.',
  needs: ['memory'],
  setup(svc) {
    svc.toolkit(knowledgeToolkit(svc))
    for (const operation of noteOperations) svc.operation(operation)
    svc.add(Copyables, { name: 'note', text: async (agent_id, id) => (await noteOf(svc, agent_id, id))?.thought })
  },
})
