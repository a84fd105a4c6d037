import type { Message } from '#core/models/contract'
import { canonicalJson } from '../contract.ts'

/** Number of identical turns in a row that end the run. */
const REPEATED_TURNS = 3

const NOTICE =
  '\n\nNotice: the same call has given the same result at least three times in a row. Repeating it will not change that. Try something else; if nothing else can be done, end here and say what is missing.'

/** Returns whether the last turns had the same calls, arguments and results, with no other message in between. */
export function isRepeating(messages: readonly Message[]): boolean {
  let later: string | undefined
  let index = messages.length
  for (let times = 0; times < REPEATED_TURNS; times++) {
    const end = index
    while (messages[index - 1]?.role === 'tool') index--
    const request = messages[--index]
    if (request?.role !== 'assistant' || !request.tool_calls || end === index + 1) return false
    const turn = fingerprint(request.tool_calls, messages.slice(index + 1, end))
    if (turn !== (later ?? turn)) return false
    later = turn
  }
  return true
}

/** Returns a string that is the same for turns with the same calls and results. */
function fingerprint(calls: NonNullable<Message['tool_calls']>, results: readonly Message[]): string {
  const contents = new Map(results.map(result => [result.tool_call_id, result.content.replace(NOTICE, '')]))
  return canonicalJson(calls.map(call => [call.name, call.arguments, contents.get(call.id)]))
}

/** Adds a notice to the result of a call that brought nothing new. */
export function addNotice(result: Message): Message {
  return { ...result, content: result.content + NOTICE }
}
