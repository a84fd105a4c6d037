import { defineError } from './errors.ts'
import type { Fields } from './points.ts'
import type { Undo } from './scope.ts'

/** Typed name of a service, or of a value that modules share during a cycle. */
export interface Token<T> {
  readonly name: string
  /** Never set: carries the type. */
  readonly type?: T
}

/** Methods that a service must have, without optional ones. */
export type Methods<T> = { [M in keyof T as T[M] extends (...args: never[]) => unknown ? M : never]: 'function' }

/** Required methods by the name of the service. */
const METHODS = new Map<string, Fields>()

/**
 * Creates the token of a service, or of a value of a cycle; tokens with the same name are the same. A service with a
 * slash in its name, such as `schedules/book`, is internal to its module: a replacement need not provide it.
 * @param methods those without which a service of a plugin is refused
 */
export function token<T>(name: string, methods?: Methods<T>): Token<T> {
  if (methods) METHODS.set(name, methods)
  return Object.freeze({ name })
}

export const ServiceMissingError = defineError({
  code: 'service_missing',
  status: 500,
  title: 'Service not provided',
  message: (p: { name: string }) =>
    `No plugin provides the service "${p.name}"; is its plugin disabled? In setup it may not exist yet: call svc.use where you need it.`,
})

interface Provider {
  owner: string
  value: unknown
}

/** Services and their providers. The newest provider of a token is used; when it is removed, the previous one is used again. */
export class Services {
  readonly #providers = new Map<string, Provider[]>()
  readonly #withheld = new Map<string, () => Error>()

  /** Makes every use of a service throw this error, whichever plugin provides it. @returns a function that ends that */
  withhold(name: string, error: () => Error): Undo {
    this.#withheld.set(name, error)
    return () => void this.#withheld.delete(name)
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

  /** Returns the current provider's value. @throws ServiceMissingError, or the error of `withhold` */
  use<T>(token: Token<T>): T {
    const refused = this.#withheld.get(token.name)
    if (refused) throw refused()
    if (typeof token === 'string') throw new TypeError(`use() takes a token such as Memory, not "${token}"`)
    const provider = this.#providers.get(token.name)?.at(-1)
    if (!provider) throw new ServiceMissingError({ name: token.name })
    return provider.value as T
  }

  /** Returns the methods that a provider must have. */
  methodsOf({ name }: Token<unknown>): Fields | undefined {
    return METHODS.get(name)
  }

  has(token: Token<unknown>): boolean {
    return this.#providers.has(token.name) || this.#withheld.has(token.name)
  }

  list(): { name: string; owner: string }[] {
    return [...this.#providers].map(([name, stack]) => ({ name, owner: stack.at(-1)!.owner }))
  }
}
