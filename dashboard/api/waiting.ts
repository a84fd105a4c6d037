import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Number of approvals shown at a time; the others follow as these are decided. */
export const QUEUE = 100

/** Returns the tool calls that wait for a decision, for the navigation's count and the page of approvals. */
export const useWaiting = () =>
  useQuery('approvals', { ask: () => api.approvals.queue({ limit: QUEUE }), on: ofKinds('approval_', 'agent_') })

/** Returns the agents' questions that wait for an answer. */
export const useQuestions = () =>
  useQuery('questions', {
    ask: () => api.questions.list({ limit: QUEUE }),
    on: ofKinds('question_', 'goal_', 'agent_'),
  })
