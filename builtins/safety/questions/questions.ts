import type { Verdict } from '#core/runtime/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { removeControlCharacters } from '#lib/sanitize'
import { appendEvent, Store, wakeAgents } from '#platform/store/contract'
import { GuardrailBlockedError, Guardrails, type Stage } from '#safety/guardrails/contract'
import {
  AgentCannotAnswerError,
  type AskingCall,
  type NewQuestion,
  NotAnOptionError,
  type Question,
  QuestionClosedError,
  QuestionNotFoundError,
  type TaskAnswer,
} from './contract.ts'
import {
  answerQuestion,
  beginAskingCall,
  findQuestion,
  insertQuestion,
  isAgent,
  overdueQuestions,
  parkAskingCall,
  questionOf,
  questionsOfTask,
  taskAnswered,
} from './repository.ts'
import { Asking } from './toolkit.ts'

/** Asks the operator on the first call; lets the call run once there is an answer. */
export async function gate(svc: PluginHandle, call: AskingCall): Promise<Verdict> {
  const known = await questionOf(svc.use(Store), call.call_id)
  if (!known) return begin(svc, call)
  if (known.answer === null) return { verdict: 'park', approval_id: known.question_id }
  if (call.isHeld) return { verdict: 'hold' }
  await svc.use(Store).apply([beginAskingCall({ call_id: call.call_id })])
  return { verdict: 'run', arguments: call.arguments, from_operator: known.answered_by !== null }
}

async function begin(
  svc: PluginHandle,
  { call_id, agent_id, goal_id, task_id, arguments: args }: AskingCall,
): Promise<Verdict> {
  const { default: default_answer = null, default_after_minutes, free_text, ...asking } = Asking.parse(args)
  const texts = [asking.question, ...asking.options]
  const checked = await Promise.all(texts.map(text => clean(svc, 'output', agent_id, text))).catch(errorMessage)
  if (typeof checked === 'string') return { verdict: 'refuse', reason: checked }
  const [question = '', ...options] = checked
  const question_id = svc.ports.ids.make('q', 12)
  const default_after = default_answer === null ? null : default_after_minutes * 60_000
  const subject = { question_id, agent_id, goal_id, task_id }
  await svc
    .use(Store)
    .apply([
      insertQuestion({ ...subject, call_id, question, options, free_text, default_answer, default_after }),
      appendEvent({ type: 'question_asked', agent_id, data: { ...subject, question } }),
      parkAskingCall({ call_id }),
    ])
  return { verdict: 'park', approval_id: question_id }
}

/** Asks a question, or returns the one already asked under this `call_id`. */
export async function ask(svc: PluginHandle, { call_id, ...asking }: NewQuestion): Promise<Question> {
  const known = await questionOf(svc.use(Store), call_id)
  if (known) return known
  const { agent_id, goal_id } = asking
  const question = removeControlCharacters(asking.question)
  const question_id = svc.ports.ids.make('q', 12)
  const subject = { question_id, agent_id, goal_id, task_id: null, question }
  await svc
    .use(Store)
    .apply([
      insertQuestion({ ...subject, call_id, options: [...asking.options], ...WITHOUT_DEFAULT }),
      appendEvent({ type: 'question_asked', agent_id, data: subject }),
    ])
  return find(svc, question_id)
}
const WITHOUT_DEFAULT = { free_text: true, default_answer: null, default_after: null }

/** Returns a question. @throws QuestionNotFoundError */
export async function find(svc: PluginHandle, question_id: string): Promise<Question> {
  const found = await findQuestion(svc.use(Store), question_id)
  if (!found) throw new QuestionNotFoundError({ question_id })
  return found
}

/**
 * Answers an open question, once, and wakes its agent.
 * @throws QuestionNotFoundError, QuestionClosedError, NotAnOptionError, AgentCannotAnswerError, GuardrailBlockedError
 */
export async function answer(
  svc: PluginHandle,
  question_id: string,
  text: string,
  by: string,
  key: string | null = null,
): Promise<Question> {
  await applyDefaults(svc)
  const question = await find(svc, question_id)
  if (question.status !== 'open') throw closedError(question)
  await refuseAgents(svc, by)
  const chosen = await clean(svc, 'input', question.agent_id, matchAnswer(question, text))
  const recorded = await record(svc, question, chosen, by, key)
  const now = await find(svc, question_id)
  if (!recorded) throw closedError(now)
  return now
}

/** Answers a task's question; see `Questions`. */
export async function answerTask(svc: PluginHandle, task_id: string, { text, by, key }: TaskAnswer): Promise<boolean> {
  const store = svc.use(Store)
  if (await taskAnswered(store, task_id, key)) return true
  const open = (await questionsOfTask(store, task_id)).find(({ status }) => status === 'open')
  if (open) await answer(svc, open.question_id, text, by, key)
  return open !== undefined
}

function closedError({ question_id, status, answered_by }: Question) {
  const answered = answered_by === null ? 'its default applies' : `it was answered already, by ${answered_by}`
  return new QuestionClosedError({
    question_id,
    problem: status === 'answered' ? answered : 'its goal or task has ended',
  })
}

/**
 * Resolves an answer to an option, by its text or number, or to free text if that is allowed. @throws NotAnOptionError
 */
function matchAnswer({ options, free_text }: Question, text: string): string {
  const same = options.find(option => option.toLowerCase() === text.toLowerCase())
  const numbered = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined
  const chosen = same ?? numbered ?? (free_text ? text : undefined)
  if (chosen === undefined) throw new NotAnOptionError({ options })
  return chosen
}

/** Applies the defaults of overdue questions. Uses the wall clock, so that a restart changes nothing. */
export async function applyDefaults(svc: PluginHandle): Promise<void> {
  for (const question of await overdueQuestions(svc.use(Store), svc.clock.ms()))
    await record(svc, question, question.default ?? '', null, null)
}

/** Records an answer. @returns false when the question is no longer open */
function record(
  svc: PluginHandle,
  { question_id, agent_id, goal_id, task_id }: Question,
  answer: string,
  answered_by: string | null,
  answer_key: string | null,
): Promise<boolean> {
  const data = { agent_id, question_id, goal_id, task_id, answered_by }
  return svc
    .use(Store)
    .apply([
      answerQuestion({ question_id, answer, answered_by, answer_key }),
      appendEvent({ type: 'question_answered', agent_id, data }),
      ...(goal_id === null ? [] : [wakeAgents({ agents: [agent_id], reason: 'answer' })]),
    ])
}

/** Ensures that only people answer, never agents. */
async function refuseAgents(svc: PluginHandle, who: string): Promise<void> {
  if (await isAgent(svc.use(Store), who)) throw new AgentCannotAnswerError({ agent_id: who })
}

/** Sanitizes a text and checks it with the guardrails. @throws GuardrailBlockedError */
async function clean(svc: PluginHandle, stage: Stage, agent_id: string, text: string): Promise<string> {
  const plain = removeControlCharacters(text)
  if (!svc.has(Guardrails)) return plain
  const { action, text: checked, findings } = await svc.use(Guardrails).check(stage, plain, { agent_id })
  if (action !== 'block') return checked
  const kinds = [...new Set(findings.map(({ kind }) => kind))]
  throw new GuardrailBlockedError({ stage: stage === 'input' ? 'answer' : 'question', kinds })
}
