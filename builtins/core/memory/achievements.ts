import { errorMessage, type PluginHandle } from '#kernel'
import { coalesce } from '#lib/coalesce'
import { Store, setValue } from '#platform/store/contract'
import { GuardrailBlockedError } from '#safety/guardrails/contract'
import type { Memory } from './contract.ts'
import { type Achievement, CURSOR, completedAfter, cursor } from './repository.ts'
import { GOAL, lineOf } from './search/excerpts.ts'

/** Maximum length of a goal's result, in characters. */
const LONGEST_RESULT = 4_000

/**
 * Stores completed goals as memories. The events are the queue: goals completed without a daemon, or left by an
 * interrupted run, are stored at the next one. The memory's id is derived from the goal's, so each is stored once, in
 * any process.
 */
export class Achievements {
  readonly #svc: PluginHandle
  readonly #memory: Memory
  /** Stores the goals completed since the last run. One that could not be stored is tried again at the next. */
  readonly look = coalesce(() => this.#look())
  /** Seq of the last event that this process has handled. */
  #cursor: number | undefined

  constructor(svc: PluginHandle, memory: Memory) {
    this.#svc = svc
    this.#memory = memory
  }

  async #look(): Promise<void> {
    const store = this.#svc.use(Store)
    const after = this.#cursor ?? (await cursor(store))
    let upTo = after
    for await (const goal of completedAfter(store, after)) {
      if (!(await this.#store(goal))) break
      upTo = goal.seq
    }
    if (upTo > after) await store.apply([setValue({ ...CURSOR, value: upTo })])
    this.#cursor = upTo
  }

  async #store({ agent_id, goal_id, run_id, objective, result, unconfirmed }: Achievement): Promise<boolean> {
    const end = unconfirmed ? 'Completed, not confirmed' : 'Completed'
    const thought = [`${end}: ${lineOf(objective, Number.POSITIVE_INFINITY)}`, result?.slice(0, LONGEST_RESULT)]
      .filter(Boolean)
      .join('\n')
    const metadata = { kind: GOAL, goal_id, run_id, ...(unconfirmed ? { unconfirmed: true } : {}) }
    try {
      await this.#memory.of(agent_id).store(thought, metadata, this.#memory.idOf(goal_id))
      return true
    } catch (error) {
      if (error instanceof GuardrailBlockedError) return true
      this.#svc.log.warn({ agent_id, goal_id }, `cannot add a completed goal to memory yet: ${errorMessage(error)}`)
      return false
    }
  }
}
