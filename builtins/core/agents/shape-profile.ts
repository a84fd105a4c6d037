import type { Profile } from '#core/profiles/contract'
import type { NewAgent, ProfileShape } from './contract.ts'

/** Applies all shapes to a profile in order; synchronous unless a shape returns a promise, as most change nothing. */
export function shapeProfile(
  shapes: readonly ProfileShape[],
  agent: NewAgent,
  profile: Profile,
): Profile | Promise<Profile> {
  let made = profile
  for (const [n, each] of shapes.entries()) {
    const next = each.shape(agent, made)
    if (next instanceof Promise) return next.then(shaped => shapeProfile(shapes.slice(n + 1), agent, shaped))
    made = next
  }
  return made
}
