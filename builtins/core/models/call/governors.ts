import type { PluginHandle } from '#kernel'
import type { ModelConfig } from '../config.ts'
import { Governor } from './governor.ts'

/** One governor for each provider that this process has used or queried. */
export class Governors {
  readonly #svc: PluginHandle
  readonly #config: ModelConfig
  readonly #made = new Map<string, Governor>()

  constructor(svc: PluginHandle, config: ModelConfig) {
    this.#svc = svc
    this.#config = config
  }

  of(provider: string): Governor {
    const made = this.#made.get(provider)
    if (made) return made
    const { clock, log } = this.#svc
    const { max_concurrent, breaker_failures, breaker_cooldown, providers } = this.#config
    const limit = providers[provider]?.max_concurrent ?? max_concurrent
    const governor = new Governor(
      provider,
      { max_concurrent: limit, breaker_failures, breaker_cooldown },
      { clock, log },
    )
    this.#made.set(provider, governor)
    return governor
  }

  all(): Iterable<Governor> {
    return this.#made.values()
  }
}
