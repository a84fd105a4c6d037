import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { callerName } from '#lib/caller-name'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { Store } from '#platform/store/contract'
import { GuardrailBlockedError } from '#safety/guardrails/contract'
import {
  AgentCannotAnswerError,
  NotAnOptionError,
  QUESTION_STATUSES,
  Question,
  QuestionClosedError,
  QuestionNotFoundError,
} from './contract.ts'
import { answer, find } from './questions.ts'
import { renderQuestion, renderQuestions } from './render.ts'
import { listQuestions, numberOfQuestions, type QuestionFilter } from './repository.ts'

const question_id = idSchema("A question's id", 'q-1a2b3c4d5e6f')

async function filterOf(
  svc: PluginHandle,
  { agent, status }: { agent?: string | undefined; status: QuestionFilter['status'] },
) {
  const agent_id = agent === undefined ? undefined : (await svc.use(Agents).find(agent)).agent_id
  return { agent_id, status }
}

export const questionsList = operation({
  name: 'questions.list',
  summary: 'List questions of agents to the operator',
  description:
    'Lists open questions, oldest first, by default. The goal of an open question waits, at no cost, until it is answered.',
  input: Page.extend({
    agent: AgentRef.optional().describe('Only questions of this agent, by id or name'),
    status: z
      .enum([...QUESTION_STATUSES, 'all'])
      .default('open')
      .describe('Status of the questions; open ones are listed oldest first, all others newest first'),
  }),
  output: z.array(Question),
  http: { method: 'GET', path: '/questions' },
  cli: { usage: 'questions', short: { agent: 'a', limit: 'n', status: 's' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: async ({ limit, offset, ...filter }, { svc }) =>
    listQuestions(svc.use(Store), await filterOf(svc, filter), limit, offset),
  count: async (filter, { svc }) => numberOfQuestions(svc.use(Store), await filterOf(svc, filter)),
  render: renderQuestions,
})

export const questionsGet = operation({
  name: 'questions.get',
  summary: 'Show a question in full',
  description: 'Includes the question, its options, its default, and the answer if there is one.',
  input: z.object({ question_id }),
  output: Question,
  http: { method: 'GET', path: '/questions/{question_id}' },
  cli: { usage: 'questions show <question_id>' },
  mcp: true,
  errors: [QuestionNotFoundError],
  run: ({ question_id }, { svc }) => find(svc, question_id),
  render: renderQuestion,
})

export const questionsAnswer = operation({
  name: 'questions.answer',
  summary: 'Answer a question of an agent',
  description: 'A question can be answered only once. The agent continues at once.',
  input: z.strictObject({
    question_id,
    answer: z
      .string()
      .trim()
      .min(1)
      .max(4000)
      .meta({ examples: ['main'] })
      .describe('Answer: free text, or the text or number of an option'),
  }),
  output: Question,
  http: { method: 'POST', path: '/questions/{question_id}/answer' },
  cli: { usage: 'answer <question_id> <answer...>' },
  mcp: true,
  errors: [QuestionNotFoundError, QuestionClosedError, NotAnOptionError, AgentCannotAnswerError, GuardrailBlockedError],
  run: ({ question_id, answer: text }, call) => answer(call.svc, question_id, text, callerName(call)),
  render: ({ question_id, answer }) => `${question_id}: ${answer}`,
})

export const questionOperations = [questionsList, questionsGet, questionsAnswer]
