import { ImageHolders, readImages } from '#core/images/contract'
import type { PluginHandle } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { trashForgets } from './trash.ts'

/** Registers the retention of messages that were read, and of the files of deleted agents. */
export function agentsForget(svc: PluginHandle): void {
  addRetentionRule(svc, { name: 'nudges', key: 'nudge_id', where: 'delivered_at < ?' })
  trashForgets(svc)
  svc.add(ImageHolders, {
    name: 'nudges',
    async heldHashes(agent_id) {
      const rows = await svc
        .use(Store)
        .all<{ images: string }>(
          'SELECT images FROM nudges WHERE images IS NOT NULL AND agent_id = coalesce(?, agent_id)',
          [agent_id],
        )
      return rows.flatMap(({ images }) => readImages(images).map(({ sha256 }) => sha256))
    },
  })
}
