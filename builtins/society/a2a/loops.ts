import type { PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import type { A2AConfig } from './config.ts'
import { type A2AMessage, type Draft, OPERATOR, PingPongError } from './contract.ts'
import { openQuestions, recentExchange } from './repository.ts'

/** Period in which messages count, in milliseconds. */
const RECENT_MS = 600_000
/** Maximum number of identical messages from one agent to another. */
const SAME = 2
/** Number of an agent's open questions that are examined. */
const QUESTIONS = 20

/**
 * Stops agents from sending messages in circles, by three rules over the last ten minutes. Patterns, people and
 * rule-based replies are exempt.
 * 1. Ping-pong: two agents that have both written, and exchanged `a2a.max_exchange` messages, may exchange no more.
 * 2. Repetition: the same words, except in replies, may go to the same agent only twice.
 * 3. Cycle: an agent may not ask another one in the same words as a question of the latter that is still unanswered.
 * (Delegations are exempt: they have their own rules.)
 * @throws PingPongError
 */
export async function refuseLoops(
  svc: PluginHandle,
  { max_exchange }: A2AConfig,
  { pattern_id, message_id, taken_from }: Omit<Draft, 'pattern_id'> & { pattern_id: string | undefined },
  { type, from_agent: from, to_agent: to, reply_to, body, expects_reply }: A2AMessage,
): Promise<void> {
  if (from === OPERATOR || to === OPERATOR || pattern_id !== undefined) return
  if (message_id !== undefined && taken_from === undefined) return
  const store = svc.use(Store)
  const since = svc.clock.ms() - RECENT_MS
  const between = await recentExchange(store, from, to, since, max_exchange)
  const refuse = (problem: string) => {
    throw new PingPongError({ from, to, problem })
  }
  if (between.length >= max_exchange && new Set(between.map(each => each.from_agent)).size === 2)
    refuse(`the two have exchanged ${max_exchange} messages within ten minutes (a2a.max_exchange)`)
  if (reply_to !== null) return
  const words = wordsOf(body)
  const before = between.filter(each => each.from_agent === from && each.reply_to === null)
  if (before.filter(each => wordsOf(each.body) === words).length >= SAME)
    refuse(`the same text was already sent ${SAME} times within ten minutes`)
  if (!expects_reply || type === 'delegate') return
  const questions = await openQuestions(store, to, since, QUESTIONS)
  if (questions.some(question => wordsOf(question.body) === words))
    refuse(`${to} has asked the same question and waits for the answer, so asking it back would be circular`)
}

/** Returns the words of a text, in lower case and without punctuation. */
function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
