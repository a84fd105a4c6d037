import type { A2AMessage } from '#society/a2a/contract'
import type { CollaborationPattern, PatternState, Step } from './contract.ts'

/**
 * Maximum number of quoted characters. A message has space for its own words and one such quote; a debate quotes two of
 * half the length.
 */
const QUOTED = 7_000
const QUOTED_TWICE = 3_500
/** Maximum number of characters that say what a message is about. */
const ABOUT = 1_000

function quote(text: string, longest = QUOTED): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

function isDeclined(answer: A2AMessage | undefined): boolean {
  return answer?.type === 'reject'
}

/** Returns whether a delegated part ended without a result; its answer has the reason. */
function hasFailed({ metadata }: A2AMessage): boolean {
  return metadata.status === 'failed'
}

/** Work is reviewed and revised until the reviewer approves or no rounds are left. */
const review: CollaborationPattern = {
  name: 'review',
  summary: "One agent reviews the initiator's work, which is revised until it is approved",
  participants: { min: 1, max: 1 },
  rounds: { usual: 3, max: 10 },
  next({ initiator, participants: [reviewer = ''], task, rounds, answerTo }) {
    let work = task
    /** What came before the work: the reviewer may read it in a goal that knows nothing of the last one. */
    let before = ''
    const sent: Step[] = []
    for (let round = 1; round <= rounds; round++) {
      sent.push({
        step: `review-${round}`,
        type: 'review',
        from: initiator,
        to: reviewer,
        subject: `Review, round ${round} of ${rounds}`,
        body: `Please review this. Begin your answer with APPROVED if it is good as it is, else with CHANGES and what to change.\n\n${before}${quote(work, QUOTED - before.length)}`,
      })
      const feedback = answerTo(`review-${round}`)
      if (!feedback) return { send: sent }
      if (isDeclined(feedback)) return { end: 'declined', result: { reason: feedback.body, rounds: round } }
      const isApproved = /^\W*approved?\b/i.test(feedback.body)
      if (isApproved || round === rounds)
        return { end: 'completed', result: { approved: isApproved, rounds: round, work, feedback: feedback.body } }
      sent.push({
        step: `revise-${round}`,
        type: 'request',
        from: reviewer,
        to: initiator,
        subject: `Changes, round ${round} of ${rounds}`,
        body: `Please revise your work and answer with the whole new version.\n\nYour work:\n${quote(work, QUOTED_TWICE)}\n\nThe review:\n${quote(feedback.body, QUOTED_TWICE)}`,
      })
      const revised = answerTo(`revise-${round}`)
      if (!revised) return { send: sent }
      if (isDeclined(revised)) return { end: 'declined', result: { reason: revised.body, rounds: round } }
      work = revised.body
      before = `The first version:\n${quote(task, ABOUT)}\n\nYour last review:\n${quote(feedback.body, ABOUT)}\n\nThe version after your last review:\n`
    }
    return { end: 'completed', result: { approved: false, rounds, work } }
  },
  partial: ({ messages }) => ({ feedback: messages.findLast(({ type }) => type === 'feedback')?.body ?? null }),
}

/** The initiator asks a mentor, and may ask follow-up questions while rounds are left. */
const mentor: CollaborationPattern = {
  name: 'mentor',
  summary: 'The initiator asks a mentor, and may ask follow-up questions until the answer is clear',
  participants: { min: 1, max: 1 },
  rounds: { usual: 2, max: 10 },
  next({ initiator, participants: [guide = ''], task, rounds, answerTo }) {
    const guidance: string[] = []
    const sent: Step[] = []
    let question = task
    /** What came before the question: the mentor may read it in a goal that knows nothing of the last one. */
    let before = ''
    for (let round = 1; round <= rounds; round++) {
      sent.push({
        step: `question-${round}`,
        type: 'query',
        from: initiator,
        to: guide,
        subject: `Guidance, round ${round} of ${rounds}`,
        body: `${before}${quote(question, QUOTED - before.length)}`,
      })
      const answer = answerTo(`question-${round}`)
      if (!answer) return { send: sent }
      if (isDeclined(answer)) return { end: 'declined', result: { reason: answer.body, guidance } }
      guidance.push(answer.body)
      if (round === rounds) break
      sent.push({
        step: `follow-${round}`,
        type: 'query',
        from: guide,
        to: initiator,
        subject: `Is this clear? Round ${round} of ${rounds}`,
        body: `If this is clear, answer with CLEAR; else with your next question.\n\nYou asked:\n${quote(question, ABOUT)}\n\nThe answer:\n${quote(answer.body, QUOTED - ABOUT)}`,
      })
      const reply = answerTo(`follow-${round}`)
      if (!reply) return { send: sent }
      if (isDeclined(reply) || /^\W*clear\b/i.test(reply.body)) break
      before = `The question before:\n${quote(question, ABOUT)}\n\nYour answer:\n${quote(answer.body, ABOUT)}\n\nThe next question:\n`
      question = reply.body
    }
    return { end: 'completed', result: { guidance } }
  },
  partial: ({ messages }) => ({ guidance: messages.filter(({ type }) => type === 'answer').map(({ body }) => body) }),
}

/** Two sides argue in turn; each receives the other's last argument. */
const debate: CollaborationPattern = {
  name: 'debate',
  summary: 'Two sides argue for and against in turn; with one participant the initiator is the first side',
  participants: { min: 1, max: 2 },
  rounds: { usual: 3, max: 10 },
  next({ initiator, participants, task, rounds, answerTo }) {
    const sides = participants.length === 1 ? [initiator, participants[0]!] : [participants[0]!, participants[1]!]
    const speeches: { side: string; round: number; argument: string }[] = []
    const sent: Step[] = []
    for (let round = 1; round <= rounds; round++) {
      for (const [n, side] of sides.entries()) {
        const other = sides[1 - n]!
        const last = speeches.at(-1)
        // A side may speak in a goal that knows nothing of its last one.
        const own = speeches.at(-2)
        const said = [
          ...(own ? [`You said before:\n${quote(own.argument, ABOUT)}`] : []),
          ...(last ? [`The other side said:\n${quote(last.argument, QUOTED_TWICE - ABOUT)}`] : []),
        ]
        sent.push({
          step: `argue-${round}-${n}`,
          type: 'request',
          from: side === initiator ? other : initiator,
          to: side,
          subject: `Debate, round ${round} of ${rounds}`,
          body: [
            `Argue ${n === 0 ? 'for' : 'against'} this in a few sentences: ${quote(task, QUOTED_TWICE)}`,
            ...said,
          ].join('\n\n'),
        })
        const answer = answerTo(`argue-${round}-${n}`)
        if (!answer) return { send: sent }
        if (isDeclined(answer)) return { end: 'declined', result: { side, reason: answer.body, arguments: speeches } }
        speeches.push({ side, round, argument: answer.body })
      }
    }
    return { end: 'completed', result: { sides, rounds, arguments: speeches } }
  },
  partial: state => ({ arguments: answers(state) }),
}

/** Each participant does its part, based on the result of the previous one. */
const chain: CollaborationPattern = {
  name: 'chain',
  summary: 'A task passes from agent to agent; each is delegated its part, with the result of the previous agent',
  participants: { min: 1, max: 10 },
  rounds: { usual: 1, max: 1 },
  next({ initiator, participants, task, answerTo }) {
    const results: { agent: string; result: string }[] = []
    const sent: Step[] = []
    for (const [n, agent] of participants.entries()) {
      const before = results.at(-1)
      const place = `Part ${n + 1} of ${participants.length}`
      const result = quote(before?.result ?? '')
      sent.push({
        step: `link-${n + 1}`,
        type: 'delegate',
        from: initiator,
        to: agent,
        subject: place,
        body: before
          ? `${quote(task, QUOTED - result.length)}\n\nThis is part ${n + 1} of ${participants.length}. The result of the previous part, by ${before.agent}:\n\n${result}`
          : quote(task),
      })
      const answer = answerTo(`link-${n + 1}`)
      if (!answer) return { send: sent }
      if (isDeclined(answer) || hasFailed(answer))
        return { end: 'declined', result: { agent, reason: answer.body, results } }
      results.push({ agent, result: answer.body })
    }
    return { end: 'completed', result: { results, output: results.at(-1)?.result ?? '' } }
  },
  partial: state => ({ results: answers(state) }),
}

/** Asks all participants at once. */
const swarm: CollaborationPattern = {
  name: 'swarm',
  summary: 'The same task goes to several agents at once; it ends when each has answered or declined',
  participants: { min: 1, max: 50 },
  rounds: { usual: 1, max: 1 },
  next({ initiator, participants, task, answerTo }) {
    const parts = participants.map((agent, n) => ({ agent, step: `part-${n + 1}` }))
    if (!parts.every(({ step }) => answerTo(step)))
      return {
        send: parts.map(({ agent, step }) => ({
          step,
          type: 'request' as const,
          from: initiator,
          to: agent,
          subject: 'One task for several',
          body: quote(task),
        })),
      }
    const instructions = parts.map(({ agent, step }) => {
      const { type, body } = answerTo(step)!
      return { agent, declined: type === 'reject', answer: body }
    })
    return { end: 'completed', result: { answers: instructions } }
  },
  partial: state => ({ answers: answers(state) }),
}

/** Returns all answers, including rejections. */
function answers({ messages }: PatternState) {
  const final = messages.filter(({ type, reply_to }) => reply_to !== null && type !== 'ack')
  return final.map(({ from_agent, type, body }) => ({ agent: from_agent, declined: type === 'reject', answer: body }))
}

/** ReviewPattern, MentorPattern, DebatePattern, ChainPattern and SwarmTaskPattern. */
export const BUILT_IN: readonly CollaborationPattern[] = [review, mentor, debate, chain, swarm]
