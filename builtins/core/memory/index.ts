import { BundleParts } from '#core/checkpoints/contract'
import { definePlugin, errorMessage } from '#kernel'
import { currentService } from '#lib/current-service'
import { Achievements } from './achievements.ts'
import { memoryBundle } from './bundle.ts'
import { MemoryConfig } from './config.ts'
import { Consolidation } from './consolidation.ts'
import { Memory, MemoryState } from './contract.ts'
import { MemoryCache } from './memory-cache.ts'
import { memoryOperations } from './operations.ts'

export default definePlugin({
  name: 'memory',
  description: 'Memory of agents: records that are searched by words and kept across restarts.',
  needs: ['store', 'agents'],
  config: MemoryConfig,
  state: MemoryState,
  setup(svc, config) {
    const memory = new MemoryCache(svc, config)
    const consolidation = new Consolidation(svc, config, memory)
    svc.provide(Memory, memory)
    svc.handOver((): MemoryState => memory)
    svc.on('agent_deleted', ({ agent_id }) => memory.drop(agent_id))
    svc.on('beat', () => consolidation.onHeartbeat())
    svc.start(async () => {
      const before = svc.previous as MemoryState | undefined
      for await (const [agent_id, records, removed = []] of before?.records() ?? []) {
        for (const memory_id of removed) await memory.of(agent_id).forget(memory_id)
        await memory.of(agent_id).take(records)
      }
      return () => consolidation.stop()
    })
    svc.start(() => () => memory.flush(), { in: ['daemon', 'server', 'mcp', 'cli'] })
  },
  base(svc) {
    const memory = currentService(svc, Memory)
    const achievements = new Achievements(svc, memory)
    svc.add(BundleParts, memoryBundle(memory))
    for (const operation of memoryOperations) svc.operation(operation)
    svc.on('goal_completed', () => achievements.look())
    svc.start(() => {
      const firstLook = achievements
        .look()
        .catch(error => svc.log.warn({}, `cannot add completed goals to memory: ${errorMessage(error)}`))
      return () => firstLook
    })
  },
})
