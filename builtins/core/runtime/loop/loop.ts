import type { Message, ModelAnswer, ModelCall } from '#core/models/contract'
import { resultTokens } from '#lib/output-limit'
import {
  ASK_OPERATOR,
  isEmptyAnswer,
  type PlannedCall,
  type Rejection,
  type RunEnd,
  type RunEvent,
  type RunRequest,
  type Waiting,
} from '../contract.ts'
import { repeatedCalls } from './repeats.ts'
import { answerLimit, type CallParts } from './tool-call.ts'
import { planCalls, resumeTurn, runTurn, type TurnEnd } from './turn.ts'

export interface LoopParts extends CallParts {
  callModel(call: ModelCall): Promise<ModelAnswer>
}

/** Number of useless answers in a row that end the run. */
const MAX_USELESS = 3
/** The same for answers whose calls cannot run: models often correct these. */
const MAX_NOT_RUN = 5
/** Maximum length of the error of a call that a problem quotes, in characters. */
const QUOTED_CHARS = 200

const ASK_WHETHER_DONE =
  'You answered without a tool call. If the goal is finished, call finish_goal with a summary and where the evidence is. If not, go on with the next step.'
const ASK_BY_CALL = `If you cannot go on without an answer of the operator, call ${ASK_OPERATOR}.`
const ASK_AFTER_A_CUT =
  'Your answer was cut off at its limit of tokens. Go on with the next step, by a tool call, in fewer words.'
/** Takes the place of a question that the model has just not answered. */
const ASK_ONCE_MORE = 'There was no answer again. Make one tool call now, without long thoughts before it.'
const ASK_FOR_A_CALL =
  'Your answer has the markup of a tool call that cannot be read, so nothing ran. Make the call again as a tool call, with the name of a tool that you have, and valid JSON as arguments.'
const ASK_FOR_AN_ANSWER =
  'That is no answer yet. If the task can be done, do it now with the tools that you have, or answer it. If it cannot, say what is missing.'

/** For a model that repeated its calls until the last cycle ended; it read so in the last result, which is not enough. */
const ASK_FOR_ANOTHER =
  'You have made the same calls again and again, and they brought nothing new. Do not make them now. Take another step, or call finish_goal: with what you have, or with reached false and the reason.'

const LAST_STEP =
  'This is your last step: you read no results of further tool calls. Answer now with what you have, and say what is missing.'

/**
 * Runs the ReAct loop. It has no state beyond its variables and writes nothing. It yields events, and the consumer
 * stores each one before the loop continues, so a tool runs only after the intent to run it is durable.
 */
export async function* runLoop(request: RunRequest, parts: LoopParts): AsyncGenerator<RunEvent, RunEnd> {
  const messages: Message[] = [{ role: 'system', content: request.system }, ...request.transcript]
  const before = endOf(yield* resumeTurn(request, messages, parts), 0)
  if (before) return before
  let question: Message | undefined
  /** Text of the answer that the question was about; undefined where that was no usable answer. */
  let earlierText: string | undefined = ''
  let useless = 0
  for (let step = 1; step <= request.max_steps; step++) {
    request.signal.throwIfAborted()
    if (await request.yields?.()) return { status: 'yielded', steps: step - 1 }
    const unread = await (request.newMessages ?? request.news).call(request)
    const resumed =
      question === undefined && unread.length === 0 ? questionToResume(request, messages, step) : undefined
    if (resumed) ({ question, earlierText } = resumed)
    const summary = await request.summarize?.(modelCall(request, messages))
    if (summary) messages.push(summary)
    const isLast = step === request.max_steps && request.ends === 'text'
    const isRepeated = messages.at(-1)?.content === question?.content
    const received = [
      ...(question ? [isRepeated ? notice(ASK_ONCE_MORE) : question] : []),
      ...unread,
      ...(isLast ? [notice(LAST_STEP)] : []),
    ]
    messages.push(...received)
    const answer = await parts.callModel(modelCall(request, messages))
    const { context } = answer.spend
    const { calls, dropped } = planCalls(answer, request, step)
    const message = assistantMessage(answer, calls, dropped)
    if (!isEmptyAnswer(message)) messages.push(message)
    yield { type: 'answer', step, received, message, calls, spend: answer.spend }
    const isRemark = calls.length === 0 && request.ends !== 'text' && answer.finish_reason !== 'length'
    if (isRemark && (await request.waits?.(answer.text))) return { status: 'yielded', steps: step }
    const run = { ...parts, context, result_tokens: resultTokens(context) }
    const turn = calls.length > 0 ? yield* runTurn(calls, request, messages, run) : undefined
    const end: RunEnd | undefined = turn
      ? endOf(turn, step)
      : endWithText(answer, question === undefined ? undefined : earlierText, request, step)
    const fault = faultOf(answer, message, turn, request)
    const objection: string | Rejection | Waiting | undefined = end && (await objectionTo(end, request))
    // The step limit takes precedence over repetition; a run of one step would otherwise never report it.
    const isUsedUp = step === request.max_steps && step > 1
    if (typeof objection === 'object' && 'waits_for' in objection)
      return { status: 'parked', approval_ids: [objection.waits_for], steps: step }
    if (end && !objection && !(isUsedUp && end.status === 'repeating')) return withProblem(end, fault)
    question = calls.length > 0 ? undefined : messageOf(objection ?? questionAfter(answer, request))
    // What follows an unusable answer is a first answer, which confirms nothing.
    if (fault && request.ends !== 'text') earlierText = undefined
    else earlierText = objection || isRefusal(answer, request) ? '' : answer.text
    useless = fault ? useless + 1 : 0
    if (fault && useless >= fault.maximum && !isUsedUp)
      return { status: 'repeating', calls: namesOf(calls), problem: fault.problem, steps: step }
  }
  return { status: 'max_steps', steps: request.max_steps }
}

/**
 * Returns the question to a model whose conversation does not continue by itself, and the text that it is about: after an
 * answer without calls, because providers do not accept a conversation that ends with the assistant, and at the first
 * step after calls that were repeated.
 */
function questionToResume(request: RunRequest, messages: readonly Message[], step: number) {
  const { role, content } = messages.at(-1)!
  if (role === 'assistant') return { question: notice(questionOf(request)), earlierText: content }
  if (step > 1 || request.ends === 'text' || !repeatedCalls(messages)) return undefined
  return { question: notice(ASK_FOR_ANOTHER), earlierText: undefined }
}

function notice(content: string): Message {
  return { role: 'user', content, is_notice: true }
}

/** Returns the message of an objection. One of the operator is no notice, so that summaries keep it. */
function messageOf(objection: string | Rejection): Message {
  return typeof objection === 'string' ? notice(objection) : { role: 'user', content: objection.rejection }
}

function endOf(turn: TurnEnd, steps: number): RunEnd | undefined {
  if (turn.status === 'on') return undefined
  if (turn.status === 'finished') return { status: 'finished', ...turn.finish, unconfirmed: false, steps }
  if (turn.status === 'repeating') return { status: 'repeating', calls: turn.calls, steps }
  return { ...turn, steps }
}

/** Returns why an end that the model declared is not accepted. */
async function objectionTo(end: RunEnd, request: RunRequest): Promise<string | Rejection | Waiting | undefined> {
  if (end.status !== 'finished') return undefined
  if (request.ends === 'text') return request.review?.(end.summary)
  return end.unconfirmed ? request.objection?.(end) : undefined
}

/**
 * Returns how an answer without tool calls ends the run, if it does. Unless `ends` is `text`, only an answer to the
 * loop's question can end it.
 * @param earlierText the text that the loop asked about; undefined if it asked nothing
 */
function endWithText(
  answer: ModelAnswer,
  earlierText: string | undefined,
  request: RunRequest,
  steps: number,
): RunEnd | undefined {
  const { text, finish_reason } = answer
  const isText = request.ends === 'text'
  // The second text of a goal may only confirm the first, which has the result.
  const summary = isText || !earlierText || text.includes(earlierText) ? text : `${earlierText}\n\n${text}`
  if (finish_reason === 'length') {
    return isText ? { status: 'cut', summary, ...answerLimit(request, answer.spend.context), steps } : undefined
  }
  // Some models answer with invisible characters only.
  const isAnswer = /[^\s\p{Cf}]/u.test(text) && !isRefusal(answer, request) && !hasCallMarkup(text)
  if (isAnswer && (isText || earlierText !== undefined)) {
    return { status: 'finished', summary, evidence: [], unconfirmed: !isText, steps }
  }
  return earlierText !== undefined && (isText || isRefusal(answer, request))
    ? { status: 'refused', summary, steps }
    : undefined
}

/** Why an answer brings the run no further, and how many such answers in a row end it. */
interface Fault {
  /** For the operator. */
  problem: string
  maximum: number
}

/** Returns what makes an answer useless; undefined for one with a text or a call that ran. */
function faultOf(
  answer: ModelAnswer,
  message: Message,
  turn: TurnEnd | undefined,
  request: RunRequest,
): Fault | undefined {
  const fault = (problem: string, maximum = MAX_USELESS) => ({ problem, maximum })
  const refusal = turn && 'refusal' in turn ? turn.refusal : undefined
  if (message.tool_calls && refusal === undefined) return undefined
  if (answer.finish_reason === 'length') {
    const { limit, remedy } = answerLimit(request, answer.spend.context)
    const place = message.tool_calls ? 'within a tool call' : 'before any tool call'
    const other = message.tool_calls ? 'set a goal that needs shorter calls' : 'make the model think less'
    return fault(`the last answers of the model were cut at ${limit}, ${place}; ${remedy}, or ${other}.`)
  }
  if (refusal !== undefined) {
    const quoted = refusal.length > QUOTED_CHARS ? `${refusal.slice(0, QUOTED_CHARS)}…` : refusal
    const last = `${namesOf(message.tool_calls ?? [])}: ${quoted.replace(/\s+/g, ' ')}`
    return fault(`no call in the last answers of the model could run. The last was of ${last}`, MAX_NOT_RUN)
  }
  if (hasCallMarkup(answer.text))
    return fault('the last answers of the model had markup of tool calls that cannot be read.')
  if (!isEmptyAnswer(message)) return undefined
  return fault(
    answer.reasoning
      ? 'the last answers of the model were empty: it wrote its thoughts only. Set reasoning_effort to none, or choose another model.'
      : 'the last answers of the model were empty.',
  )
}

/** Returns the end of a run with what was wrong with its last answers. */
function withProblem(end: RunEnd, fault: Fault | undefined): RunEnd {
  const isFailure = end.status === 'repeating' || end.status === 'refused'
  return isFailure && fault ? { ...end, problem: fault.problem } : end
}

function namesOf(calls: readonly { name: string }[]): string {
  return [...new Set(calls.map(({ name }) => name))].join(', ') || 'none'
}

/** Returns whether a text has the markup of a call that could not be read. In code it is only quoted. */
function hasCallMarkup(text: string): boolean {
  return text.split('```').some((part, n) => n % 2 === 0 && CALL_MARKUP.test(part))
}

function questionAfter({ finish_reason, text }: ModelAnswer, request: RunRequest): string {
  if (hasCallMarkup(text)) return ASK_FOR_A_CALL
  return finish_reason === 'length' && request.ends !== 'text' ? ASK_AFTER_A_CUT : questionOf(request)
}

function questionOf({ ends, tools }: RunRequest): string {
  if (ends === 'text') return ASK_FOR_AN_ANSWER
  return tools.names.includes(ASK_OPERATOR) ? `${ASK_WHETHER_DONE} ${ASK_BY_CALL}` : ASK_WHETHER_DONE
}

function assistantMessage(
  { text, reasoning, provider_data }: ModelAnswer,
  calls: readonly PlannedCall[],
  dropped: number,
): Message {
  const tool_calls = calls.map(({ id, name, arguments: args, repaired }) => {
    return { id, name, arguments: args, ...(repaired ? { repaired: [...repaired] } : {}) }
  })
  return {
    role: 'assistant',
    content: text,
    ...(reasoning ? { reasoning } : {}),
    ...(provider_data ? { provider_data } : {}),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
    ...(dropped > 0 ? { dropped_calls: dropped } : {}),
  }
}

function modelCall(request: RunRequest, messages: Message[]): ModelCall {
  const { model, fallback = [], temperature, max_tokens, purpose, signal, tools } = request
  const { onText, onReset, parameters, response_schema, system_parts } = request
  return {
    model,
    fallback,
    messages,
    tools: tools.toolsAfter(messages),
    toolsWithin: tokens => tools.toolsAfter(messages, tokens),
    temperature,
    max_tokens,
    purpose,
    signal,
    ...(parameters ? { parameters } : {}),
    ...(system_parts ? { system_parts } : {}),
    ...(onText ? { onText } : {}),
    ...(onReset ? { onReset } : {}),
    ...(response_schema ? { response_schema } : {}),
  }
}

const CALL_MARKUP = /(?<!`)(?:<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>)/
/** Common beginnings of answers that claim no success. This heuristic can only delay or prevent the end of a goal. */
const FAILURE =
  /^\W*(i['’]?m sorry|sorry|i apologi[sz]e|i can(no|['’])?t|i am (not able|unable)|i['’]m (not able|unable)|i won['’]t)\b/i
/** An apology for something, or one that is a sentence of its own: it says nothing of success. */
const APOLOGY = /^\W*(?:(?:i['’]?m |i am )?sorry|i apologi[sz]e)(?:\s*[.!]| (?:for|about)\b[^.!?,]*[.!,]?)\s*(?:but )?/i
/** Common beginnings of refusals of a task. An apology, a question, or what tools are missing is an answer. */
const REFUSAL =
  /^\W*(?:(?:i['’]?m|i am) (?:very )?sorry|sorry|i apologi[sz]e|unfortunately)?\W*(?:but )?i(?: can['’]?t| cannot| can not| won['’]t| will not|(?:['’]m| am) (?:not able|unable) to) (?:help|assist|comply|do (?:that|this|it)|fulfil|provide|continue|engage)\b/i

function isRefusal({ finish_reason, text }: ModelAnswer, { ends }: Pick<RunRequest, 'ends'>): boolean {
  if (finish_reason === 'content_filter') return true
  const beginning = text.slice(0, 300)
  if (ends !== 'text') return FAILURE.test(beginning.replace(APOLOGY, ''))
  return REFUSAL.test(beginning) && !/\btools?\b/i.test(beginning) && !text.trimEnd().endsWith('?')
}
