import { AgentName } from '#core/agents/contract'
import type { Verdict } from '#core/runtime/contract'
import { defineError, token, z } from '#kernel'

export { ASK_OPERATOR } from '#core/runtime/contract'

export const QUESTION_STATUSES = ['open', 'answered', 'expired'] as const

/** A question from an agent to the operator. */
export const Question = z
  .object({
    question_id: z.string().meta({ examples: ['q-1a2b3c4d5e6f'] }),
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    agent_name: AgentName,
    goal_id: z.string().nullable().describe('Goal that waits for the answer; null if a task waits'),
    task_id: z.string().nullable().describe('The one-shot task that waits for the answer'),
    question: z.string().meta({ examples: ['Which of the two databases is the one to migrate?'] }),
    options: z.array(z.string()).describe('Answers to choose from; empty for none'),
    free_text: z.boolean().describe('Whether answers other than the options are allowed'),
    default: z.string().nullable().describe('Answer that applies if no one answers in time'),
    default_at: z.iso.datetime().nullable().describe('Time at which the default applies'),
    status: z.enum(QUESTION_STATUSES).describe('`expired`: its goal or task ended before it was answered'),
    answer: z.string().nullable(),
    answered_by: z.string().nullable().describe('Who answered: `X-Svc-User` or `cli`; null if the default applied'),
    asked_at: z.iso.datetime(),
    answered_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Question' })
export type Question = z.infer<typeof Question>

/** A question with the idempotency key of its answer. */
export type KeyedQuestion = Question & { answer_key: string | null }

/** A call of `ask_operator` before it runs. */
export interface AskingCall {
  /** Id in the tool journal; the row in `tool_calls` must exist. */
  call_id: string
  agent_id: string
  /** The goal that waits for the answer; null when a task does. */
  goal_id: string | null
  task_id: string | null
  arguments: unknown
  /** Whether an earlier call of the answer waits: this one is asked, but has no result before it. */
  isHeld?: boolean | undefined
}

/** A question that is not asked by the tool. */
export interface NewQuestion {
  /** Idempotency key: the same id asks only once. */
  call_id: string
  agent_id: string
  goal_id: string
  question: string
  options: readonly string[]
}

export interface Questions {
  /**
   * Asks a question, or returns the one already asked under this `call_id`. The goal waits until there is an answer.
   */
  ask(question: NewQuestion): Promise<Question>
  /** Asks the operator on the first call, and lets the call run once there is an answer, which becomes its result. */
  gate(call: AskingCall): Promise<Verdict>
  /** Returns the questions of a task, oldest first. */
  ofTask(task_id: string): Promise<KeyedQuestion[]>
  /**
   * Answers the oldest open question of a task. The same key never answers another question.
   * @returns whether a question was open, or was answered earlier with this key
   * @throws NotAnOptionError, AgentCannotAnswerError, GuardrailBlockedError, QuestionClosedError when another answer
   * came first
   */
  answerTask(task_id: string, answer: TaskAnswer): Promise<boolean>
}

/** An answer to a task's question. */
export interface TaskAnswer {
  text: string
  /** Name of the person who answers. */
  by: string
  key: string
}
export const Questions = token<Questions>('questions')

const subject = {
  agent_id: z.string(),
  question_id: z.string(),
  goal_id: z.string().nullable(),
  task_id: z.string().nullable(),
}
export const QuestionAsked = z
  .object({ ...subject, question: z.string() })
  .describe('An agent asks the operator; its goal or task waits for the answer')
export const QuestionAnswered = z
  .object({ ...subject, answered_by: z.string().nullable() })
  .describe('A question was answered, or its default applies')

declare module '#kernel' {
  interface Events {
    question_asked: z.infer<typeof QuestionAsked>
    question_answered: z.infer<typeof QuestionAnswered>
  }
}

export const QuestionNotFoundError = defineError({
  code: 'question_not_found',
  status: 404,
  title: 'Question not found',
  message: (p: { question_id: string }) =>
    `There is no question "${p.question_id}"; list the open ones with: svc questions`,
})
export const QuestionClosedError = defineError({
  code: 'question_closed',
  status: 409,
  title: 'Question closed',
  message: (p: { question_id: string; problem: string }) =>
    `Question ${p.question_id} can no longer be answered: ${p.problem}.`,
})
export const NotAnOptionError = defineError({
  code: 'not_an_option',
  status: 422,
  exit: 2,
  title: 'Not an option',
  message: (p: { options: readonly string[] }) =>
    `The answer must be one of the options, by its text or its number: ${p.options.map((option, n) => `${n + 1}. ${option}`).join('; ')}.`,
})
export const AgentCannotAnswerError = defineError({
  code: 'agent_cannot_answer',
  status: 403,
  title: 'Agent cannot answer',
  message: (p: { agent_id: string }) => `${p.agent_id} is an agent; only people can answer questions.`,
})
