import type { Message } from '#core/models/contract'
import { canonicalJson } from '../contract.ts'

/** Number of identical turns in a row that end the run, and of identical cycles of turns. */
const REPEATED = 3
/** Maximum number of turns of a cycle. */
const LONGEST_CYCLE = 4
/** Matches arguments of calls that wait: taking turns with others, they are a way to wait for something. */
const WAITS = /"wait_seconds":[1-9]|\bsleep \d/

const NOTICE =
  '\n\nNotice: the same calls have given the same results at least three times in a row. Repeating them will not change that. Try something else; if nothing else can be done, end here and say what is missing.'

interface Turn {
  names: readonly string[]
  /** The same for turns with the same calls and results. */
  fingerprint: string
  waits: boolean
}

/**
 * Returns the names of the calls that the last turns repeat, with the same arguments and results and no message in
 * between: one turn again and again, or a short cycle of turns. Undefined if they do not.
 */
export function repeatedCalls(messages: readonly Message[]): string[] | undefined {
  const turns = lastTurns(messages)
  for (let size = 1; size <= LONGEST_CYCLE && size * REPEATED <= turns.length; size++) {
    const all = turns.slice(0, size * REPEATED)
    const isSame = all.every(({ fingerprint }, n) => fingerprint === turns[n % size]!.fingerprint)
    if (isSame && (size === 1 || !all.some(({ waits }) => waits)))
      return [...new Set(all.flatMap(({ names }) => names))]
  }
  return undefined
}

/** Returns the last turns, newest first, up to a message that may have changed what the model does. */
function lastTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = []
  let end = messages.length
  for (let index = end - 1; index >= 0 && turns.length < LONGEST_CYCLE * REPEATED; index--) {
    const { role, content, tool_calls = [], is_notice } = messages[index]!
    if (role === 'assistant') {
      turns.push(turnOf(content, tool_calls, messages.slice(index + 1, end)))
      end = index
    } else if (role !== 'tool' && !is_notice) break
  }
  return turns
}

function turnOf(text: string, calls: NonNullable<Message['tool_calls']>, results: readonly Message[]): Turn {
  const contents = new Map(results.map(result => [result.tool_call_id, result.content.replace(NOTICE, '')]))
  const parts = calls.map(call => [call.name, call.arguments, contents.get(call.id)])
  return {
    names: calls.map(({ name }) => name),
    fingerprint: canonicalJson(calls.length > 0 ? parts : text),
    waits: calls.some(call => WAITS.test(JSON.stringify(call.arguments))),
  }
}

/** Adds a notice to the result of a call that brought nothing new. */
export function addNotice(result: Message): Message {
  return { ...result, content: result.content + NOTICE }
}
