import type { PluginHandle, Token } from '#kernel'

/** Returns an object that stands for whatever provides the service at the moment of each call, so that it may be kept. */
export function currentService<T extends object>(svc: Pick<PluginHandle, 'use'>, token: Token<T>): T {
  return new Proxy({} as T, {
    get(_, key) {
      const service = svc.use(token)
      const value: unknown = Reflect.get(service, key)
      return typeof value === 'function' ? value.bind(service) : value
    },
  })
}
