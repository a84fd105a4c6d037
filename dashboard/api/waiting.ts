import { api } from './client.ts'
import { ofKinds, useQuery } from './query.ts'

/** Number of approvals shown at a time; the others follow as these are decided. */
export const QUEUE = 100

/** The tool calls that wait for a decision: the navigation counts what the page of approvals lists. */
export const useWaiting = () =>
  useQuery('approvals', { ask: () => api.approvals.queue({ limit: QUEUE }), on: ofKinds('approval_', 'agent_') })

/** The questions of agents that wait for an answer. */
export const useQuestions = () =>
  useQuery('questions', {
    ask: () => api.questions.list({ limit: QUEUE }),
    on: ofKinds('question_', 'goal_', 'agent_'),
  })
