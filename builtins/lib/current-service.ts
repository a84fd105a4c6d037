import type { PluginHandle, Token } from '#kernel'

/**
 * Returns an object that stands for the provider of the service at the moment of each call, so that it may be kept.
 * @param own the module's own implementation, which is used for what the current provider does not have
 */
export function currentService<T extends object, O extends T = T>(
  svc: Pick<PluginHandle, 'use'>,
  token: Token<T>,
  own?: O,
): O {
  return new Proxy({} as O, {
    get(_, key) {
      const current = svc.use(token)
      const service = own && !(key in current) ? own : current
      const value: unknown = Reflect.get(service, key)
      return typeof value === 'function' ? value.bind(service) : value
    },
  })
}
