import { BundleParts } from '#core/checkpoints/contract'
import { definePlugin, sentenceOf } from '#kernel'
import { Achievements } from './achievements.ts'
import { memoryBundle } from './bundle.ts'
import { MemoryConfig } from './config.ts'
import { Consolidation } from './consolidation.ts'
import { Memory } from './contract.ts'
import { MemoryCache } from './memory-cache.ts'
import { memoryOperations } from './operations.ts'

export default definePlugin({
  name: 'memory',
  description: 'What agents remember: found again by its words, over restarts and for as long as it is of use.',
  needs: ['store', 'agents'],
  config: MemoryConfig,
  setup(svc, config) {
    const memories = new MemoryCache(svc, config)
    const achievements = new Achievements(svc, memories)
    const consolidation = new Consolidation(svc, config, memories)
    svc.provide(Memory, memories)
    svc.add(BundleParts, memoryBundle(svc, memories))
    for (const operation of memoryOperations(svc, memories)) svc.operation(operation)
    svc.on('goal_completed', () => achievements.look())
    svc.on('agent_deleted', ({ agent_id }) => memories.drop(agent_id))
    svc.on('beat', () => consolidation.onHeartbeat())
    svc.start(() => {
      const looked = achievements
        .look()
        .catch(error => svc.log.warn({}, `goals are not remembered: ${sentenceOf(error)}`))
      return async () => {
        await looked
        await consolidation.stop()
      }
    })
    svc.start(() => () => memories.flush(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
})
