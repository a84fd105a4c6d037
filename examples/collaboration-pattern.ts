// A collaboration pattern: several agents answer one question, and once all have answered the most frequent answer
// wins.
// A pattern keeps no state. It derives the next messages from those so far, always the same for the same input. The
// service takes care of rounds, deadline, budget and missing answers.
// Start one with: svc patterns start vote <initiator> <voter>,<voter> "Which name is better, A or B?"
import { definePlugin } from 'svc'
import { CollaborationPatterns } from 'svc/patterns'

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
        // Participants that declined, are gone or did not answer have not voted.
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
