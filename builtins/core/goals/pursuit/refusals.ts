import type { AgentRow } from '#core/agents/contract'
import { isRefusedForGood, isUnknownRefusal, type ModelError } from '#core/models/contract'

/**
 * Number of failures in a row after which a refusal of unknown reason counts as permanent. Fewer may be a temporary
 * problem of the server.
 */
const MAX_UNKNOWN_REFUSALS = 3

/** Returns whether the agent's next cycle would send the same request and be refused again. */
export function isRefusedAgain(error: unknown, { error: before, failures }: AgentRow): error is ModelError {
  if (isRefusedForGood(error)) return true
  if (!isUnknownRefusal(error) || before === null || failures + 1 < MAX_UNKNOWN_REFUSALS) return false
  return wordsOf(error.message) === wordsOf(before)
}

/** Returns whether an agent failed the maximum number of times in a row, the last time for the same reason. */
export function failsOnAndOn(error: Error, { error: before, failures }: AgentRow, max_failures: number): boolean {
  return before !== null && failures + 1 >= max_failures && wordsOf(error.message) === wordsOf(before)
}

/** Removes numbers and ids, which differ between refusals. */
function wordsOf(message: string): string {
  return message.replace(/\S*\d\S*/g, '')
}
