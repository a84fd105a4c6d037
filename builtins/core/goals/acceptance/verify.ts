import { errorMessage, type PluginHandle, withTimeLimit } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { type GoalClaim, type GoalVerifier, GoalVerifiers } from '../contract.ts'

/** Maximum length of a reason shown to the agent, in characters. */
const LONGEST = 2_000

/**
 * Returns why a goal is not reached, from the first verifier that objects.
 * @param limit time limit of each verifier, in seconds; 0 sets none
 * @throws the abort reason of the claim's signal, so that a goal whose cycle is over does not complete
 */
export async function refuteClaim(svc: PluginHandle, claim: GoalClaim, limit: number): Promise<string | undefined> {
  for (const verifier of svc.list(GoalVerifiers)) {
    const reason = await recordInput(`verifier ${verifier.name}`, () => reasonOf(svc, verifier, claim, limit))
    claim.signal.throwIfAborted()
    if (reason !== null) return reason
  }
  return undefined
}

async function reasonOf(svc: PluginHandle, verifier: GoalVerifier, claim: GoalClaim, limit: number) {
  const what = `The verifier "${verifier.name}"`
  try {
    const work = (async () => verifier.verify(claim))()
    const reason: unknown = (await (limit === 0 ? work : withTimeLimit(svc.clock, limit * 1000, what, work))) ?? null
    if (reason === null) return null
    if (typeof reason !== 'string' || reason.trim() === '')
      throw new TypeError('it must return a non-empty reason, or nothing')
    return reason.trim().slice(0, LONGEST)
  } catch (error) {
    const { agent_id, goal_id } = claim
    svc.log.error({ agent_id, goal_id }, `${what} failed, which counts as no objection: ${errorMessage(error)}`)
    return null
  }
}
