import { errorMessage, type PluginHandle } from '#kernel'
import { Store, setValue } from '#platform/store/contract'
import { TaskTypes } from './contract.ts'
import { CURSOR, cursor, listEndedGoals } from './repository.ts'
import { classify } from './task-types.ts'
import { recordGoals } from './writes.ts'

/** Goals that are recorded at a time. */
const PIECE = 200

/**
 * Records what agents did and how it went. The events are the queue: goals that ended in another process, or before a
 * crash, are
 * recorded at the next look, with the cursor in the same commit; and each goal once, whichever process looks.
 */
export class Records {
  readonly #svc: PluginHandle
  #looking: Promise<void> = Promise.resolve()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Records all that ended since the last look, in this process one look at a time. */
  look(): Promise<void> {
    const looked = this.#looking.then(() => this.#look())
    this.#looking = looked.catch(error => {
      this.#svc.log.warn({}, `goals that ended are not recorded yet: ${errorMessage(error)}`)
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const store = this.#svc.use(Store)
    const types = this.#svc.list(TaskTypes)
    for (let after = await cursor(store); ; ) {
      const { goals, last } = await listEndedGoals(store, after, PIECE)
      if (last === after) return
      const records = goals.map(({ objective, status, tools, ...goal }) => {
        return { ...goal, tools, success: status === 'completed', task_type: classify(types, objective, tools) }
      })
      await store.apply([recordGoals({ goals: records }), setValue({ ...CURSOR, value: last })])
      after = last
    }
  }
}
