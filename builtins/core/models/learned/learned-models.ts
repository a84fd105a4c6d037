import { hash } from 'node:crypto'
import { errorMessage, type PluginHandle, token } from '#kernel'
import { Store } from '#platform/store/contract'
import type { Target } from '../catalogue/names.ts'
import { type LearnedFacts, NOTHING_LEARNED } from './contract.ts'
import { findLearned, keepLearned } from './repository.ts'

/** Interval after which changes of other processes and of the operator take effect, in milliseconds. */
const LOOK_AGAIN_MS = 10_000

interface Known {
  configuration: string
  looked_at: number
  facts: LearnedFacts
}

/** The learned facts known to this process. */
export const OwnLearned = token<LearnedModels>('models/learned')

/**
 * Limits of models learned from refusals: context windows, unsupported parameters, missing abilities. They are stored in
 * the database, so that a restart does not repeat refused requests, and removed when the configuration of the model changes.
 */
export class LearnedModels {
  readonly #svc: PluginHandle
  readonly #known = new Map<string, Known>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  async of(target: Target): Promise<LearnedFacts> {
    const key = keyOf(target)
    const configuration = configurationOf(target)
    const known = this.#known.get(key)
    const now = this.#svc.clock.monotonic()
    if (known?.configuration === configuration && now - known.looked_at < LOOK_AGAIN_MS) return known.facts
    const facts = await this.#find(target, configuration, known)
    this.#known.set(key, { configuration, looked_at: now, facts })
    return facts
  }

  /** Stores what was learned about a model. A failed write does not prevent model calls. */
  async learn(target: Target, more: Partial<LearnedFacts>): Promise<void> {
    const before = await this.of(target)
    const facts: LearnedFacts = {
      context_window: more.context_window ?? before.context_window,
      reported_window: more.context_window === undefined ? before.reported_window : (more.reported_window ?? null),
      omitted: [...new Set([...before.omitted, ...(more.omitted ?? [])])],
      lacks: [...new Set([...before.lacks, ...(more.lacks ?? [])])],
    }
    const configuration = configurationOf(target)
    this.#known.set(keyOf(target), { configuration, looked_at: this.#svc.clock.monotonic(), facts })
    if (!this.#svc.has(Store)) return
    await this.#svc
      .use(Store)
      .apply([keepLearned({ model: target.id, endpoint: endpointOf(target), facts, configuration })])
      .catch(error =>
        this.#svc.log.error({}, `cannot save what was learned about ${target.id}: ${errorMessage(error)}`),
      )
  }

  /** Makes this process read the stored facts again at its next call. */
  invalidate(): void {
    this.#known.clear()
  }

  async #find(target: Target, configuration: string, known: Known | undefined): Promise<LearnedFacts> {
    const isSame = known?.configuration === configuration
    if (!this.#svc.has(Store)) return isSame ? known.facts : NOTHING_LEARNED
    const key = { model: target.id, endpoint: endpointOf(target), configuration }
    try {
      return (await findLearned(this.#svc.use(Store), key)) ?? NOTHING_LEARNED
    } catch {
      return isSame ? known.facts : NOTHING_LEARNED
    }
  }
}

/** Returns a fingerprint of the configuration of a model: its limits, parameters and way of calling tools. */
function configurationOf({ facts, tool_calls }: Target): string {
  const { context_window, max_output_tokens, vision, parameters } = facts
  return hash('sha256', JSON.stringify([context_window, max_output_tokens, vision, parameters, tool_calls ?? null]))
}

function keyOf(target: Target): string {
  return `${target.id} ${endpointOf(target)}`
}

function endpointOf({ provider }: Target): string {
  return provider.endpoint ?? ''
}
