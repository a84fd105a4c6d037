import { type EventName, type Events, type Hooks, type PluginHandle, type TapOptions, UnknownHookError } from '#kernel'
import type { HookSet } from './contract.ts'

/** Returns the hooks by name, as one plugin taps them. */
export function hookSet(svc: PluginHandle, hooks: Hooks): HookSet {
  const set: Record<string, unknown> = {
    on: <E extends EventName>(event: E, handler: (payload: Events[E]) => unknown) => svc.on(event, handler),
    off: <E extends EventName>(event: E, handler: (payload: Events[E]) => unknown) => svc.off(event, handler),
    registerGuard: (...given: Parameters<PluginHandle['guard']>) => svc.guard(...given),
  }
  const known = hooks.names()
  for (const name of known) {
    const tap = (options: string | TapOptions, fn: (input: never) => unknown) => svc.tap(name, options, fn)
    set[name] = { name, tap, tapPromise: tap, taps: hooks.get(name).taps }
  }
  return new Proxy(set, {
    get(hooks, name) {
      if (typeof name === 'string' && !Object.hasOwn(hooks, name)) throw new UnknownHookError({ name, known })
      return Reflect.get(hooks, name)
    },
  }) as unknown as HookSet
}
