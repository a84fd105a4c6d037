import type { OpenWorkSource } from '#core/goals/contract'
import type { PluginHandle } from '#kernel'
import { Store, wakeAgents } from '#platform/store/contract'
import { awaitedFor, HAS_UNANSWERED, sendersWithoutAnswer, unansweredDuring } from './repository.ts'

/** Maximum time for which a goal waits for the answer to a message, in milliseconds. */
export const LONGEST_WAIT_MS = 3_600_000

/**
 * Lets a goal wait for the answers to messages that its agent sent during it, and reminds the agent at its end of those
 * that it read and did not answer, because an agent without goals of its own is not shown them again.
 */
export function awaitedAnswers(svc: PluginHandle): OpenWorkSource {
  return {
    name: 'a2a',
    async open(goal_id) {
      const messages = await awaitedFor(svc.use(Store), goal_id, svc.clock.ms() - LONGEST_WAIT_MS)
      return messages.map(({ message_id, to_agent }) => ({ what: `the answer of ${to_agent} to ${message_id}` }))
    },
    condition: HAS_UNANSWERED,
    async owed(goal_id) {
      const messages = await unansweredDuring(svc.use(Store), goal_id)
      const named = messages.map(({ message_id, from_agent }) => `${message_id} of ${from_agent}`)
      if (named.length === 0) return []
      return [
        `You have not answered ${named.join(', ')}: your summary does not reach them. Answer with reply, or decline with reject_request.`,
      ]
    },
  }
}

/**
 * Wakes agents whose goals wait for an answer that has not come in time.
 * @param since when this was last done, in milliseconds
 */
export async function endLongWaits(svc: PluginHandle, since: number, now: number): Promise<void> {
  const store = svc.use(Store)
  const agents = await sendersWithoutAnswer(store, since - LONGEST_WAIT_MS, now - LONGEST_WAIT_MS)
  if (agents.length > 0) await store.apply([wakeAgents({ agents, reason: 'no_answer' })])
}
