import {
  type Clock,
  checkFields,
  HANDLER_LIMIT_MS,
  type Interceptor,
  intercept,
  UnknownHookError,
  withTimeLimit,
} from '#kernel'
import { type Gate, type Guard, Guards, PHASES, type Phase, type RegisteredGuard, verdictOf } from './contract.ts'

export interface GuardParts extends Pick<RegisteredGuard, 'name' | 'failClosed' | 'failed'> {
  /** Plugin that adds the guard, as named in errors. */
  owner: string
  /** Wraps the guard and limits its duration; without it, only the time limit applies. */
  interceptor?: Interceptor | undefined
  clock: Clock
}

/**
 * Returns the contribution for a guard of a phase, or of all with `*`.
 * @throws UnknownHookError when there is no such phase; TypeError for a guard without `shouldProceed`
 */
export function registeredGuard(phase: Phase | '*', guard: Guard, parts: GuardParts): RegisteredGuard {
  const { name, owner, interceptor, clock, failClosed, failed } = parts
  const phases: readonly string[] = [...PHASES, '*']
  if (!phases.includes(phase)) throw new UnknownHookError({ name: phase, known: [...phases] })
  checkFields(Guards.name, { shouldProceed: 'function' }, guard, owner)
  const ask = intercept(interceptor, { kind: 'guard', name: phase }, (gate: Gate) =>
    verdictOf(name, guard.shouldProceed(gate)),
  )
  const shouldProceed = (gate: Gate) => {
    const verdict = ask(gate)
    if (interceptor || !(verdict instanceof Promise)) return verdict
    return withTimeLimit(clock, HANDLER_LIMIT_MS, `The guard "${name}"`, verdict)
  }
  return { name, phase, guard: { shouldProceed }, failClosed, failed }
}
