import { errorMessage, type PluginHandle } from '#kernel'
import { coalesce } from '#lib/coalesce'
import { newestSeq, Store, setValue } from '#platform/store/contract'
import { TaskTypes } from './contract.ts'
import { CURSOR, cursor, listEndedGoals } from './repository.ts'
import { classify } from './task-types.ts'
import { recordGoals } from './writes.ts'

/** Number of goals recorded at a time. */
const BATCH_SIZE = 200

/**
 * Records the results of ended goals. Events serve as the queue: goals that ended in another process, or before a
 * crash, are recorded at the next check. The cursor is stored in the same commit, so each goal is recorded once.
 */
export class Records {
  readonly #svc: PluginHandle
  /** Records all goals that ended since the last check. Never rejects. */
  readonly look = coalesce(() =>
    this.#check().catch(error => this.#svc.log.warn({}, `could not record ended goals yet: ${errorMessage(error)}`)),
  )
  /** Event up to which this process has found no further goal: the cursor moves only with goals. */
  #checked = 0

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  async #check(): Promise<void> {
    const store = this.#svc.use(Store)
    const types = this.#svc.list(TaskTypes)
    const newest = await newestSeq(store)
    for (let after = Math.max(await cursor(store), this.#checked); ; ) {
      const { goals, last } = await listEndedGoals(store, after, BATCH_SIZE)
      if (last === after) {
        this.#checked = newest
        return
      }
      const records = goals.map(({ objective, status, tools, ...goal }) => {
        return { ...goal, tools, success: status === 'completed', task_type: classify(types, objective, tools) }
      })
      await store.apply([recordGoals({ goals: records }), setValue({ ...CURSOR, value: last })])
      after = last
    }
  }
}
