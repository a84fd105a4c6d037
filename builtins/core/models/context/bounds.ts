import { textTokens } from '#lib/text-tokens'
import type { Message } from '../contract.ts'
import { shorten } from './shorten.ts'
import { messageTokens } from './tokens.ts'

/** Counts the messages, or parts of the system prompt, of which the middle was cut out. */
export interface CutTally {
  cut: number
}

/** Hints for each role on how the model can get the rest of a shortened message. */
const WAYS: Record<Message['role'], string> = {
  system: '',
  user: '; ask for the rest if you need it',
  assistant: '',
  tool: '; call the tool again for a smaller part',
}

/** Returns the message, with its middle cut out where it is longer than `limit` tokens. */
export function boundMessage(message: Message, limit: number): Message {
  if (messageTokens(message) <= limit || textTokens(message.content) <= limit) return message
  return { ...message, content: shorten(message.content, limit, WAYS[message.role]) }
}

/** Bounds a system prompt of several parts: the longest parts are cut, the others are kept whole. */
export function boundedSystem(
  messages: readonly Message[],
  parts: readonly string[] | undefined,
  limit: number,
  tally: CutTally,
): readonly Message[] {
  const kept = messages.map(message => boundMessage(message, limit))
  const cut = kept.filter((message, n) => message !== messages[n]).length
  if (cut > 0 && parts) return [{ role: 'system', content: cutToShares(parts, limit, tally).join('\n\n') }]
  tally.cut += cut
  return kept
}

/** Cuts strings to `limit` tokens in total. Shares that short strings do not use go to the longer ones. */
function cutToShares(texts: readonly string[], limit: number, tally: CutTally): string[] {
  const sizes = texts.map(textTokens)
  const shortestFirst = texts.map((_, at) => at).sort((a, b) => sizes[a]! - sizes[b]!)
  const kept = [...texts]
  let left = limit
  for (const [n, at] of shortestFirst.entries()) {
    const share = left / (texts.length - n)
    if (sizes[at]! > share) {
      kept[at] = shorten(texts[at]!, share)
      tally.cut++
    }
    left -= Math.min(sizes[at]!, share)
  }
  return kept
}
