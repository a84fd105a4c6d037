import { definePlugin, z } from '#kernel'
import { Memory } from './contract.ts'
import { memoryOperations } from './operations.ts'
import { MemoryShelf } from './shelf.ts'

export default definePlugin({
  name: 'memory',
  description: 'What agents remember: found again by its words, over restarts and for as long as it is of use.',
  needs: ['agents'],
  config: z.object({
    unified: z
      .boolean()
      .default(true)
      .describe('One memory for the toolkits memory and knowledge and for pursuits; false keeps plain values in JSON'),
  }),
  setup(svc) {
    const shelf = new MemoryShelf(svc)
    svc.provide(Memory, shelf)
    for (const operation of memoryOperations(svc, shelf)) svc.operation(operation)
  },
})
