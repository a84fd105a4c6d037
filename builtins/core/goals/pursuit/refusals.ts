import type { AgentRow } from '#core/agents/contract'
import { isRefusedForGood, isUnknownRefusal, type ModelError } from '#core/models/contract'

/** Failures in a row after which requests that are refused for an unknown reason count as refused for good: a server may have been in trouble. */
const MAX_UNKNOWN_REFUSALS = 3

/** Whether the next cycle of an agent would send what its provider has just refused, and would be refused as well. */
export function isRefusedAgain(error: unknown, { error: before, failures }: AgentRow): error is ModelError {
  if (isRefusedForGood(error)) return true
  if (!isUnknownRefusal(error) || before === null || failures + 1 < MAX_UNKNOWN_REFUSALS) return false
  return wordsOf(error.message) === wordsOf(before)
}

/** Without numbers and ids, which differ from refusal to refusal. */
function wordsOf(message: string): string {
  return message.replace(/\S*\d\S*/g, '')
}
