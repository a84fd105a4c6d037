import { deprecate } from 'node:util'

/**
 * Adds earlier names of a service's methods to it, for one version; the first call of each warns once
 * (`DeprecationWarning`).
 * @param service an instance, or the prototype of its class
 * @param names the present name of each earlier one
 */
export function withEarlierNames<T extends object>(service: T, names: { [earlier: string]: keyof T & string }): T {
  for (const [earlier, present] of Object.entries(names)) {
    const call = function (this: T, ...given: unknown[]) {
      return (this[present] as (...given: unknown[]) => unknown)(...given)
    }
    Object.defineProperty(service, earlier, {
      value: deprecate(call, `\`${earlier}\` is deprecated: use \`${present}\`.`),
    })
  }
  return service
}
