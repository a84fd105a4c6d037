import type { ToolCall } from '#tools/toolkits/contract'

/** Maximum number of runs whose use is remembered. */
const REMEMBERED = 1_000

/** Limits the number of uses in one run, which is a cycle or a task. Each run is counted separately. */
export class Allowance {
  readonly #limit: number
  readonly #used = new Map<string, number>()

  /** @param limit 0 sets no limit */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Counts one use; returns false when none is left. */
  take({ agent_id, call_id }: Pick<ToolCall, 'agent_id' | 'call_id'>): boolean {
    if (this.#limit === 0) return true
    // A call id is the run's id, followed by the step and the number of the call.
    const run = `${agent_id} ${call_id.replace(/:[^:]*:[^:]*$/, '')}`
    const used = this.#used.get(run) ?? 0
    if (used >= this.#limit) return false
    this.#used.delete(run)
    this.#used.set(run, used + 1)
    for (const oldest of this.#used.keys()) {
      if (this.#used.size <= REMEMBERED) break
      this.#used.delete(oldest)
    }
    return true
  }
}
