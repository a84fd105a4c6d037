import { ImageHolders, imagesIn, readImages, WITH_IMAGES } from '#core/images/contract'
import { deleteTaskCalls } from '#core/runtime/statements'
import { Sessions } from '#core/sessions/contract'
import type { PluginHandle } from '#kernel'
import { addRetentionRule } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'

/** Removes tasks of sessions that ended, with all messages and calls. */
export function tasksForget(svc: PluginHandle): void {
  addRetentionRule(svc, {
    name: 'task_runs',
    key: 'task_id',
    where: "ended_at < ? AND session_id IN (SELECT session_id FROM sessions_view WHERE status <> 'running')",
    also: keys => [deleteTaskCalls(keys)],
    later(before) {
      const { sql, params } = svc.use(Sessions).expiring(before)
      return { where: `ended_at < ? AND session_id IN (${sql})`, params: [before, ...params] }
    },
  })
  svc.add(ImageHolders, {
    name: 'tasks',
    // Tasks are not part of an exported agent.
    async heldHashes(agent_id) {
      if (agent_id !== undefined) return []
      const store = svc.use(Store)
      const tasks = await store.all<{ images: string }>('SELECT images FROM task_runs WHERE images IS NOT NULL')
      const messages = await store.all<{ message: string }>(`SELECT message FROM task_messages WHERE ${WITH_IMAGES}`)
      return [...tasks.flatMap(({ images }) => readImages(images).map(({ sha256 }) => sha256)), ...imagesIn(messages)]
    },
  })
}
