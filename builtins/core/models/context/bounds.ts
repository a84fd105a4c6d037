import { textTokens } from '#lib/text-tokens'
import type { Message } from '../contract.ts'
import { shorten } from './shorten.ts'
import { messagesTokens, messageTokens } from './tokens.ts'

/** Minimum size of each message where all are cut, in tokens. */
const LEAST_TOKENS = 32

/** Counts the messages, or parts of the system prompt, of which the middle was cut out. */
export interface CutTally {
  cut: number
}

/** Returns how the model can get the rest of a shortened message. */
function restHint({ role, name = 'the tool' }: Message): string {
  if (role === 'user') return '; ask for the rest if you need it'
  // The end of a page says how to read on, as if the middle had been read.
  return role === 'tool' ? `; you have not seen this part, whatever the end says: call ${name} again for it` : ''
}

/** Returns the message, with its middle cut out where it is longer than `limit` tokens. */
export function boundMessage(message: Message, limit: number): Message {
  if (messageTokens(message) <= limit || textTokens(message.content) <= limit) return message
  return { ...message, content: shorten(message.content, limit, restHint(message)) }
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

/** Cuts messages to `limit` tokens in total, except the model's own; the longest are cut. */
export function cutMessages(messages: readonly Message[], limit: number, tally: CutTally): Message[] {
  const others = messages.filter(({ role }) => role !== 'assistant')
  const fixed = messagesTokens(messages) - others.reduce((sum, { content }) => sum + textTokens(content), 0)
  const left = Math.max(limit - fixed, others.length * LEAST_TOKENS)
  const texts = cutToShares(
    others.map(({ content }) => content),
    left,
    tally,
    others.map(restHint),
  )
  return messages.map(message => {
    const content = texts[others.indexOf(message)]
    return content === undefined || content === message.content ? message : { ...message, content }
  })
}

/** Cuts strings to `limit` tokens in total. Shares that short strings do not use go to the longer ones. */
function cutToShares(texts: readonly string[], limit: number, tally: CutTally, ways: readonly string[] = []): string[] {
  const sizes = texts.map(textTokens)
  const shortestFirst = texts.map((_, at) => at).sort((a, b) => sizes[a]! - sizes[b]!)
  const kept = [...texts]
  let left = limit
  for (const [n, at] of shortestFirst.entries()) {
    const share = left / (texts.length - n)
    if (sizes[at]! > share) {
      kept[at] = shorten(texts[at]!, share, ways[at])
      tally.cut++
    }
    left -= Math.min(sizes[at]!, share)
  }
  return kept
}
