import { definePlugin, sentenceOf, z } from '#kernel'
import { Achievements } from './achievements.ts'
import { Memory } from './contract.ts'
import { memoryOperations } from './operations.ts'
import { MemoryShelf } from './shelf.ts'

export default definePlugin({
  name: 'memory',
  description: 'What agents remember: found again by its words, over restarts and for as long as it is of use.',
  needs: ['store', 'agents'],
  config: z.object({
    unified: z
      .boolean()
      .default(true)
      .describe('One memory for the toolkits memory and knowledge and for pursuits; false keeps plain values in JSON'),
  }),
  setup(svc, config) {
    const shelf = new MemoryShelf(svc, config)
    const achievements = new Achievements(svc, shelf)
    svc.provide(Memory, shelf)
    for (const operation of memoryOperations(svc, shelf)) svc.operation(operation)
    svc.on('goal_completed', () => achievements.look())
    svc.on('agent_deleted', ({ agent_id }) => shelf.drop(agent_id))
    svc.start(() => {
      const looked = achievements
        .look()
        .catch(error => svc.log.warn({}, `goals are not remembered: ${sentenceOf(error)}`))
      return () => looked
    })
  },
})
