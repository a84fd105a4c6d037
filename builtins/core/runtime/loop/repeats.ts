import type { Message } from '#core/models/contract'
import { canonicalJson } from '../contract.ts'

/** Number of identical turns in a row that end the run. */
const TIMES = 3

const NOTICE =
  '\n\nNotice: this is the third time in a row that the same call gave the same result. Repeating it will not change that. Try something else; if nothing else can be done, end here and say what is missing.'

/** Returns whether the last turns had the same calls, arguments and results, with no other message in between. */
export function isRepeating(messages: readonly Message[]): boolean {
  let last: string | undefined
  let at = messages.length
  for (let times = 0; times < TIMES; times++) {
    const end = at
    while (messages[at - 1]?.role === 'tool') at--
    const asked = messages[--at]
    if (asked?.role !== 'assistant' || !asked.tool_calls || end === at + 1) return false
    const turn = turnOf(asked.tool_calls, messages.slice(at + 1, end))
    if (turn !== (last ?? turn)) return false
    last = turn
  }
  return true
}

function turnOf(calls: NonNullable<Message['tool_calls']>, results: readonly Message[]): string {
  const contents = new Map(results.map(result => [result.tool_call_id, result.content.replace(NOTICE, '')]))
  return canonicalJson(calls.map(call => [call.name, call.arguments, contents.get(call.id)]))
}

/** Adds a notice to the result of a call that brought nothing new. */
export function addNotice(result: Message): Message {
  return { ...result, content: result.content + NOTICE }
}
