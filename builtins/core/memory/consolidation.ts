import { errorMessage, type PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { Store, setValue } from '#platform/store/contract'
import type { MemoryConfig } from './config.ts'
import type { Memory } from './contract.ts'
import { agentsAfter, ROUND, round } from './repository.ts'

/** Interval between the starts of two rounds, in milliseconds. */
const EVERY_MS = 86_400_000
/** Number of agents handled at one heartbeat; the round continues at the next. */
const PAGE_SIZE = 5

/**
 * Removes memories that agents have not used for long, if configured: once a day, a few agents per heartbeat. The
 * progress of a round is stored, so that it continues after a restart.
 */
export class Consolidation {
  readonly #svc: PluginHandle
  readonly #config: MemoryConfig
  readonly #memory: Memory
  #working: Promise<void> | undefined

  constructor(svc: PluginHandle, config: MemoryConfig, memory: Memory) {
    this.#svc = svc
    this.#config = config
    this.#memory = memory
  }

  /** Starts the next piece in the background, unless one is running. */
  onHeartbeat(): void {
    if (this.#config.consolidate_days === 0) return
    this.#working ??= this.#piece()
      .catch(error => this.#svc.log.warn({}, `cannot consolidate memories: ${errorMessage(error)}`))
      .finally(() => {
        this.#working = undefined
      })
  }

  /** Resolves when no piece is running. */
  async stop(): Promise<void> {
    await this.#working
  }

  async #piece(): Promise<void> {
    const store = this.#svc.use(Store)
    const now = this.#svc.clock.ms()
    let { began_ms, after } = await round(store)
    if (after === null) {
      if (now - began_ms < EVERY_MS) return
      began_ms = now
      after = ''
    }
    const agents = await agentsAfter(store, after, PAGE_SIZE)
    for (const agent_id of agents) await this.#consolidate(agent_id)
    const next = agents.length < PAGE_SIZE ? null : agents.at(-1)
    await store.apply([setValue({ ...ROUND, value: { began_ms, after: next } })])
  }

  async #consolidate(agent_id: string): Promise<void> {
    const { consolidate_days, consolidate_min_access } = this.#config
    try {
      const removed = await this.#memory.of(agent_id).consolidate(consolidate_days, consolidate_min_access)
      if (removed > 0)
        this.#svc.log.info({ agent_id }, `${pluralize(removed, 'memory', 'memories')} removed: old and rarely used`)
    } catch (error) {
      this.#svc.log.warn({ agent_id }, `cannot consolidate the agent's memory: ${errorMessage(error)}`)
    }
  }
}
