import type { PluginHandle, Token } from '#kernel'

/**
 * Returns a proxy that forwards each call to the current provider of the service, so that callers may keep the proxy.
 * @param own the module's own implementation, used for members that the current provider lacks
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
