// A collaboration pattern: several agents answer one question, and the initiator decides between them once all have answered.
// A pattern keeps no state. From what was said it says what comes next, the same for the same; rounds, deadline, budget and
// those who never answer are seen to by the service.
// Begin one with: svc patterns start vote <initiator> <voter>,<voter> "Which name is better, A or B?"
import { CollaborationPatterns, definePlugin } from 'svc'

export default definePlugin({
  name: 'vote',
  description: 'A pattern: agents vote on a question, and the most frequent answer wins.',
  needs: ['patterns'],
  setup(svc) {
    svc.add(CollaborationPatterns, {
      name: 'vote',
      summary: 'Each participant answers in one word; the most frequent answer wins',
      participants: { min: 2, max: 20 },
      rounds: { usual: 1, max: 1 },
      next({ initiator, participants, task, answerTo }) {
        const ballots = participants.map(voter => ({ step: `ballot-${voter}`, voter }))
        if (!ballots.every(({ step }) => answerTo(step))) {
          const body = `${task}\n\nAnswer with one word.`
          const ask = { type: 'query' as const, from: initiator, subject: 'A vote', body }
          return { send: ballots.map(({ step, voter }) => ({ ...ask, step, to: voter })) }
        }
        // Who declined, is gone or was silent has not voted.
        const votes = ballots.flatMap(({ step }) => {
          const { type, body } = answerTo(step)!
          return type === 'reject' ? [] : [body.trim().toLowerCase()]
        })
        const count = (answer: string) => votes.filter(vote => vote === answer).length
        const winner = [...new Set(votes)].sort((a, b) => count(b) - count(a))[0] ?? null
        return { end: 'completed', result: { winner, votes } }
      },
      partial: ({ messages }) => ({ votes: messages.filter(({ type }) => type === 'answer').map(({ body }) => body) }),
    })
  },
})
