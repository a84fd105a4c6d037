import type { Config } from './config.ts'
import { ConflictError } from './errors.ts'
import { type Hooks, UnknownHookError } from './hooks.ts'
import { InvalidConfigError } from './keys.ts'
import { NeedsError } from './order.ts'
import { ServiceMissingError, type Services } from './services.ts'
import type { Outcome } from './state.ts'

/** Whether what a refused plugin waits for may have come by now. Told what became of others. */
export type Waits = (outcomes: readonly Outcome[]) => boolean

/** @returns undefined for what only the plugin's own file can mend */
export function waitsFor(
  cause: unknown,
  { config, hooks, services }: { config: Config; hooks: Hooks; services: Services },
): Waits | undefined {
  if (cause instanceof NeedsError) return () => true
  if (cause instanceof ConflictError) return went
  if (cause instanceof UnknownHookError) return isAnother(() => String(hooks.names()))
  if (cause instanceof ServiceMissingError) return isAnother(() => JSON.stringify(services.list()))
  if (cause instanceof InvalidConfigError) return isAnother(() => config.text())
  return undefined
}

const went: Waits = outcomes => outcomes.some(({ outcome }) => outcome === 'removed' || outcome === 'reloaded')

function isAnother(look: () => string): Waits {
  const before = look()
  return () => look() !== before
}
