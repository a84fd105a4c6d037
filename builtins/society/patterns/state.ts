import { isoTime } from '#platform/store/contract'
import type { A2AMessage } from '#society/a2a/contract'
import type { PatternState, Step } from './contract.ts'

/** Returns a step's message id, made of the run and the step's name. */
export function idOf(pattern_id: string, step: string): string {
  return `msg-${pattern_id}-${step}`
}

export function stateOf(
  pattern_id: string,
  { initiator, participants, task, rounds }: Pick<PatternState, 'initiator' | 'participants' | 'task' | 'rounds'>,
  messages: PatternState['messages'],
  declined: ReadonlyMap<string, A2AMessage>,
): PatternState {
  return {
    initiator,
    participants,
    task,
    rounds,
    messages,
    answerTo(step) {
      const id = idOf(pattern_id, step)
      // An ACK is not the answer. Only the recipient of the step can answer it.
      const to = messages.find(({ message_id }) => message_id === id)?.to_agent
      const answer = messages.find(
        ({ reply_to, type, from_agent }) => reply_to === id && type !== 'ack' && from_agent === to,
      )
      return answer ?? declined.get(step)
    },
  }
}

/** Returns the rejection that stands for the answer of a missing or silent agent. */
export function rejection(pattern_id: string, { step, from, to, subject }: Step, body: string): A2AMessage {
  const reply_to = idOf(pattern_id, step)
  return {
    message_id: `${reply_to}-reject`,
    type: 'reject',
    from_agent: to,
    to_agent: from,
    subject,
    body,
    reply_to,
    thread_id: reply_to,
    priority: 4,
    expects_reply: false,
    read: true,
    metadata: {},
    ts: isoTime(0),
  }
}
