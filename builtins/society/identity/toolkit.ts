import { defineError, type PluginHandle, z } from '#kernel'
import { Store } from '#platform/store/contract'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import { QUESTIONS } from './limits.ts'
import { oneLine } from './narrative.ts'
import {
  askQuestion,
  formOpinion,
  listOpinions,
  listQuestions,
  resolveQuestion,
  reviseWorldview,
  worldviewOf,
} from './repository.ts'

const LONGEST_NOTE = 300

/** The text is empty or blocked by a guardrail, or the agent has too many open questions or no such question. */
const ReflectionRefusedError = defineError({
  code: 'reflection_refused',
  status: 422,
  title: 'Reflection refused',
  message: (p: { message: string }) => p.message,
})

const text = (longest: number) => z.string().trim().min(1).max(longest)

/**
 * Tools with which an agent changes its identity. Each write is committed with the call's outcome and records a note of
 * the change.
 */
export function identityToolkit(svc: PluginHandle): Toolkit {
  /**
   * Returns the text cleaned for use in later prompts.
   * @throws GuardrailBlockedError
   */
  const admitText = async (agent_id: string, given: string, longest: number) => {
    const clean = oneLine(given, longest)
    if (clean === '')
      throw new ReflectionRefusedError({
        message: 'The text is empty after control characters and tags were removed; write some text.',
      })
    const guardrails = svc.has(Guardrails) ? svc.use(Guardrails) : undefined
    if (!guardrails?.watches('memory')) return clean
    const { action, text, findings } = await guardrails.check('memory', clean, { agent_id })
    if (action !== 'block') return text
    throw new GuardrailBlockedError({ stage: 'memory', kinds: [...new Set(findings.map(({ kind }) => kind))] })
  }
  const note = (line: string) => oneLine(line, LONGEST_NOTE)

  return {
    name: 'identity',
    instructions: 'Your views are part of who you are: form opinions, ask yourself questions and answer them.',
    everyday: false,
    tools: [
      tool({
        name: 'form_opinion',
        description: 'Record your opinion of a subject. It replaces your earlier opinion of the same subject.',
        parameters: z.object({
          domain: text(40).describe('The subject, in a word or two'),
          opinion: text(300).describe('What you think, in a sentence'),
        }),
        async execute({ domain: subject, opinion: given }, call) {
          const { agent_id } = call
          const domain = (await admitText(agent_id, subject, 40)).toLowerCase()
          const opinion = await admitText(agent_id, given, 300)
          const before = (await listOpinions(svc.use(Store), agent_id)).find(each => each.domain === domain)
          const instead = before ? ` instead of: ${before.opinion}` : ''
          call.effect(formOpinion({ agent_id, domain, opinion, note: note(`On ${domain}: ${opinion}${instead}`) }))
          return `Your opinion of ${domain} is recorded.`
        },
      }),
      tool({
        name: 'revise_worldview',
        description:
          'Record in a few sentences how you see the world and your place in it. This replaces your earlier worldview.',
        parameters: z.object({ worldview: text(600) }),
        async execute({ worldview: given }, call) {
          const { agent_id } = call
          const worldview = await admitText(agent_id, given, 600)
          const before = await worldviewOf(svc.use(Store), agent_id)
          const words = before ? `Changed its worldview: ${worldview}` : `Formed a worldview: ${worldview}`
          call.effect(reviseWorldview({ agent_id, worldview, note: note(words) }))
          return 'Your worldview is recorded.'
        },
      }),
      tool({
        name: 'ask_question',
        description: `Keep a question about yourself or the world in mind. At most ${QUESTIONS} can be open.`,
        parameters: z.object({ question: text(300) }),
        async execute({ question: given }, call) {
          const { agent_id } = call
          const question = await admitText(agent_id, given, 300)
          const open = await listQuestions(svc.use(Store), agent_id)
          if (open.length >= QUESTIONS) throw new ReflectionRefusedError({ message: tooManyQuestions(open) })
          const question_id = svc.ports.ids.make('q', 8)
          call.effect(askQuestion({ agent_id, question_id, question, note: note(`Began to ask: ${question}`) }))
          return `The question is recorded as ${question_id}.`
        },
      }),
      tool({
        name: 'resolve_question',
        description: 'Answer one of your open questions, or drop it. This closes the question.',
        parameters: z.object({
          question_id: z.string().max(64).describe('Id of the question, such as q-1a2b3c4d'),
          answer: text(300).describe('What you found, or why it no longer matters'),
        }),
        async execute({ question_id, answer: given }, call) {
          const { agent_id } = call
          const answer = await admitText(agent_id, given, 300)
          const open = await listQuestions(svc.use(Store), agent_id)
          const question = open.find(each => each.question_id === question_id)
          if (!question) throw new ReflectionRefusedError({ message: unknownQuestion(question_id, open) })
          call.effect(
            resolveQuestion({ agent_id, question_id, note: note(`Answered "${question.question}": ${answer}`) }),
          )
          return 'The question is closed.'
        },
      }),
    ],
  }
}

type Open = readonly { question_id: string; question: string }[]

function tooManyQuestions(open: Open): string {
  return `You have ${open.length} open questions; answer one of them first: ${list(open)}`
}

function unknownQuestion(question_id: string, open: Open): string {
  return `You have no open question "${oneLine(question_id, 64)}"; these are open: ${list(open) || 'none'}`
}

function list(open: Open): string {
  return open.map(({ question_id, question }) => `${question_id} (${oneLine(question, 60)})`).join(', ')
}
