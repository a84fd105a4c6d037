import { defineError } from './errors.ts'
import type { Undo } from './scope.ts'

/** The typed name of a service, or of a value that modules share during a cycle. */
export interface Token<T> {
  readonly name: string
  /** Never set: carries the type. */
  readonly type?: T
}

/**
 * Names a service, or a value of a cycle; two tokens of one name are the same. A name with a slash, such as
 * `schedules/book`, is for the module itself: a plugin that takes its place need not provide it.
 */
export function token<T>(name: string): Token<T> {
  return Object.freeze({ name })
}

export const ServiceMissingError = defineError({
  code: 'service_missing',
  status: 500,
  title: 'Service not provided',
  message: (p: { name: string }) => `No plugin provides the service "${p.name}"; is its plugin switched off?`,
})

interface Provider {
  owner: string
  value: unknown
}

/** Who provides what. The newest provider of a token wins; when it leaves, the one before it is back. */
export class Services {
  readonly #providers = new Map<string, Provider[]>()
  readonly #withheld = new Map<string, () => Error>()

  /** Makes each use of a service throw this error, whatever plugin provides it. */
  withhold(name: string, error: () => Error): void {
    this.#withheld.set(name, error)
  }

  provide<T>(token: Token<T>, value: T, owner: string): Undo {
    const provider = { owner, value }
    const stack = this.#providers.get(token.name) ?? []
    this.#providers.set(token.name, [...stack, provider])
    return () => {
      const rest = (this.#providers.get(token.name) ?? []).filter(other => other !== provider)
      if (rest.length > 0) this.#providers.set(token.name, rest)
      else this.#providers.delete(token.name)
    }
  }

  /** The current provider's value. @throws ServiceMissingError, or why it is withheld */
  use<T>(token: Token<T>): T {
    const refused = this.#withheld.get(token.name)
    if (refused) throw refused()
    const provider = this.#providers.get(token.name)?.at(-1)
    if (!provider) throw new ServiceMissingError({ name: token.name })
    return provider.value as T
  }

  has(token: Token<unknown>): boolean {
    return this.#providers.has(token.name) || this.#withheld.has(token.name)
  }

  list(): { name: string; owner: string }[] {
    return [...this.#providers].map(([name, stack]) => ({ name, owner: stack.at(-1)!.owner }))
  }
}
