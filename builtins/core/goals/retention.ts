import { ImageHolders, imagesIn, readImages, WITH_IMAGES } from '#core/images/contract'
import type { PluginHandle } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'

/** Registers the retention of the journal and the transcripts of ended goals. The goals stay. */
export function goalsForget(svc: PluginHandle): void {
  addRetentionRule(svc, {
    name: 'tool_calls',
    key: 'call_id',
    where: `ended_at < ? AND task_id IS NULL AND NOT EXISTS
      (SELECT 1 FROM goals g WHERE g.goal_id = tool_calls.goal_id AND g.status = 'active')`,
  })
  // Only the first message is marked, because a transcript is removed as a whole.
  addRetentionRule(svc, { name: 'goal_transcripts', key: 'goal_id', where: 'ended_at < ?' })
  // Transcripts in the older table: those of removed agents, and of goals that ended in earlier versions.
  addRetentionRule(svc, {
    name: 'ended_transcripts',
    key: 'goal_id',
    where: `ended_at < ? AND seq = (SELECT min(seq) FROM ended_transcripts f WHERE f.goal_id = ended_transcripts.goal_id)`,
  })
  svc.add(ImageHolders, {
    name: 'goals',
    async heldHashes(agent_id) {
      const store = svc.use(Store)
      const of = 'agent_id = coalesce(?, agent_id)'
      const goals = await store.all<{ images: string }>(
        `SELECT images FROM goals WHERE images IS NOT NULL AND status = 'active' AND ${of}`,
        [agent_id],
      )
      const transcripts = ['goal_transcripts', 'ended_transcripts'].map(table =>
        store.all<{ message: string }>(`SELECT message FROM ${table} WHERE ${WITH_IMAGES} AND ${of}`, [agent_id]),
      )
      const shown = goals.flatMap(({ images }) => readImages(images).map(({ sha256 }) => sha256))
      return [...shown, ...imagesIn((await Promise.all(transcripts)).flat())]
    },
  })
}
