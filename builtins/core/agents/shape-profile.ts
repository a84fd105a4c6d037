import type { Profile } from '#core/profiles/contract'
import type { NewAgent, ProfileShape } from './contract.ts'

/** What all of these make of a profile, one after another; most agents are nothing special to most of them, which say so at once. */
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
