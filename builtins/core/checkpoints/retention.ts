import type { PluginHandle } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import type { CheckpointService } from './checkpoint-service.ts'

/** Removes automatic checkpoints, except the newest of each agent. Requested ones stay. */
export function checkpointsForget(svc: PluginHandle, { files }: CheckpointService): void {
  const old = async (before: number, limit = Number.POSITIVE_INFINITY) => {
    const found: { agent_id: string; checkpoint_id: string }[] = []
    for (const agent_id of await files.agents()) {
      if (found.length >= limit) break
      const aged = (await files.list(agent_id, before)).filter(each => each.origin === 'automatic')
      if (aged.length === 0) continue
      const newest = (await files.list(agent_id))[0]?.checkpoint_id
      found.push(...aged.filter(({ checkpoint_id }) => checkpoint_id !== newest))
    }
    return found.slice(0, limit)
  }
  svc.add(RetentionRules, {
    name: 'checkpoints',
    count: async before => (await old(before)).length,
    async piece(before, limit) {
      const gone = await old(before, limit)
      for (const { agent_id, checkpoint_id } of gone) await files.remove(agent_id, checkpoint_id)
      return gone.length
    },
  })
}
