import { definePlugin } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import { Effects, Store } from '#platform/store/contract'
import { ChangesRecorded, ChangesUndone } from './contract.ts'
import { FolderChanges, OwnFolderChanges } from './folder-changes.ts'
import { snapshotOperations } from './operations.ts'
import { beginChange, countOldChanges, endChange, forgetChanges, markUndone, oldChanges } from './repository.ts'

/** How long changes can be undone, in milliseconds. */
const KEPT_MS = 14 * 24 * 3_600_000

export default definePlugin({
  name: 'snapshots',
  description: 'Shows what each goal and task changed in the folders that you gave agents, and undoes it.',
  needs: ['store', 'agents', 'sandbox', 'runtime'],
  setup(svc) {
    const changes = new FolderChanges(svc)
    for (const effect of [beginChange, endChange, markUndone, forgetChanges]) svc.add(Effects, effect.kind)
    svc.provide(OwnFolderChanges, changes)
    for (const operation of snapshotOperations) svc.operation(operation)
    svc.event('changes_recorded', ChangesRecorded)
    svc.event('changes_undone', ChangesUndone)
    svc.interceptTools({
      name: 'snapshots',
      applies: tool => !tool.read_only,
      async intercept(_, call, next) {
        if (call.folders?.length) await changes.begin(call)
        return next()
      },
    })
    const endGoal = ({ agent_id, goal_id }: { agent_id: string; goal_id: string }) =>
      changes.end({ agent_id, goal_id, task_id: null })
    svc.on('goal_completed', endGoal)
    svc.on('goal_abandoned', endGoal)
    svc.on('task_ended', ({ agent_id, task_id }) => changes.end({ agent_id, goal_id: null, task_id }))
    svc.add(RetentionRules, {
      name: 'folder_changes',
      always: true,
      kept_ms: () => KEPT_MS,
      count: before => countOldChanges(svc.use(Store), before),
      async piece(before, limit) {
        const old = await oldChanges(svc.use(Store), before, limit)
        if (old.length > 0) await changes.forget(old.map(({ change_id }) => change_id))
        return old.length
      },
    })
  },
})
