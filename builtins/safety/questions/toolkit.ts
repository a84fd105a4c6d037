import { type PluginHandle, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import { ASK_OPERATOR } from './contract.ts'
import { questionOf } from './repository.ts'

const answer = z.string().trim().min(1).max(500)

export const Asking = z
  .object({
    question: z.string().trim().min(5).max(2000).describe('The question, with everything needed to answer it'),
    options: z.array(answer).max(8).default([]).describe('Answers to choose from'),
    free_text: z.boolean().default(true).describe('Whether answers other than the options are allowed'),
    default: answer.optional().describe('Answer with which you continue if no one answers'),
    default_after_minutes: z.int().min(1).max(43_200).default(60).describe('Minutes after which the default applies'),
  })
  .refine(({ options, free_text }) => free_text || options.length > 0, {
    path: ['options'],
    message: 'must contain at least one answer if free_text is false',
  })

/** The tool with which agents ask the operator. */
export function questionsToolkit(svc: PluginHandle): Toolkit {
  return {
    name: 'questions',
    group: 'goals',
    everyday: true,
    tools: [
      tool({
        name: ASK_OPERATOR,
        description:
          'Ask the operator a question that only a person can answer: a choice, a missing fact, a permission. Your work waits for the answer, which becomes the result of this call. Do not ask what you can find out, or whether to continue. Example: {"question": "Which branch is released?", "options": ["main", "stable"], "default": "main"}',
        parameters: Asking,
        idempotent: true,
        async execute(_, { call_id }) {
          const question = await questionOf(svc.use(Store), call_id)
          if (question?.answer == null) throw new Error('the question was not recorded; ask again')
          // A task's client, who is not an operator, may answer its questions.
          if (question.answered_by !== null)
            return question.task_id === null
              ? `The operator answered: ${question.answer}`
              : `The answer: ${question.answer}`
          return `No one answered in time, so your default applies: ${question.answer}`
        },
      }),
    ],
  }
}
