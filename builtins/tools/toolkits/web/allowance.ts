import type { ToolCall } from '#tools/toolkits/contract'

/** Runs of which it is known how much they used. */
const REMEMBERED = 1_000

/**
 * How often something may be done in one cycle, or in one task: the count belongs to the run that a call is part of, and a new
 * run begins anew.
 */
export class Allowance {
  readonly #limit: number
  readonly #used = new Map<string, number>()

  /** @param limit 0 sets none */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Takes one of them; false when there is none left. */
  take({ agent_id, call_id }: Pick<ToolCall, 'agent_id' | 'call_id'>): boolean {
    if (this.#limit === 0) return true
    // A call's id is that of its run, with its step and its number behind.
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
