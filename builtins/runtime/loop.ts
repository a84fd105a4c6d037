import type { Clock } from '#kernel'
import type { Message, ModelAnswer, ModelCall } from '../models/contract.ts'
import { FINISH_GOAL, type PlannedCall, type RunEnd, type RunEvent, type RunRequest } from './contract.ts'
import { Finish } from './finish.ts'
import { executeCall, parseArguments } from './tool-call.ts'

export interface LoopParts {
  clock: Clock
  callModel(call: ModelCall): Promise<ModelAnswer>
}

/** More calls than this in one turn are answered without being run. */
const MAX_CALLS = 32

const ASK_WHETHER_DONE =
  'You answered without a tool call. If the goal is finished, call finish_goal with a summary and where the evidence is. If not, go on with the next step.'

/**
 * The ReAct loop: no state but its own variables, no writes. What happens goes out as events, and the consumer has written
 * each one down before the loop goes on; a tool therefore runs only after the intent to run it is durable.
 */
export async function* runLoop(request: RunRequest, parts: LoopParts): AsyncGenerator<RunEvent, RunEnd> {
  const messages: Message[] = [{ role: 'system', content: request.system }, ...request.transcript]
  const before = yield* finishInterrupted(request, messages, parts)
  if (before) return { status: 'finished', ...before, unconfirmed: false, steps: 0 }
  let asked = false
  for (let step = 1; step <= request.max_steps; step++) {
    request.signal.throwIfAborted()
    const question: Message[] = asked ? [{ role: 'user', content: ASK_WHETHER_DONE }] : []
    const heard = [...question, ...(await request.news())]
    messages.push(...heard)
    const answer = await parts.callModel({ ...modelCall(request), messages })
    const calls = planCalls(answer, request, step)
    const message = assistantMessage(answer, calls)
    messages.push(message)
    yield { type: 'answer', step, heard, message, calls, spend: answer.spend }
    if (calls.length > 0) {
      asked = false
      const finish = yield* runCalls(calls, request, messages, parts)
      if (finish) return { status: 'finished', ...finish, unconfirmed: false, steps: step }
    } else if (asked && isRefusal(answer)) {
      return { status: 'refused', summary: answer.text, steps: step }
    } else if (asked && answer.text.trim() !== '') {
      return { status: 'finished', summary: answer.text, evidence: [], unconfirmed: true, steps: step }
    } else asked = true
  }
  return { status: 'max_steps', steps: request.max_steps }
}

function assistantMessage({ text }: ModelAnswer, calls: readonly PlannedCall[]): Message {
  const asked = calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }))
  return { role: 'assistant', content: text, ...(asked.length > 0 ? { tool_calls: asked } : {}) }
}

function modelCall(request: RunRequest): Omit<ModelCall, 'messages'> {
  const { model, temperature, max_tokens, purpose, signal, onText } = request
  return { model, temperature, max_tokens, purpose, signal, tools: request.tools.specs, ...(onText ? { onText } : {}) }
}

function planCalls(answer: ModelAnswer, request: RunRequest, step: number): PlannedCall[] {
  return answer.tool_calls.map((call, n) => ({
    call_id: `${request.call_prefix}:${step}:${n}`,
    id: call.id,
    name: call.name,
    arguments: parseArguments(call.arguments),
    step,
  }))
}

/** Runs the calls of one turn side by side, tells each outcome as it comes, and shows the model all of them in the order of the calls. */
async function* runCalls(
  calls: readonly PlannedCall[],
  request: RunRequest,
  messages: Message[],
  parts: LoopParts,
): AsyncGenerator<RunEvent, Finish | undefined> {
  const results = new Map<PlannedCall, Message>()
  let finish: Finish | undefined
  const running = new Map(
    calls.map((call, n) => {
      const ended = n < MAX_CALLS ? executeCall(call, request, parts.clock) : tooMany(call)
      return [call, ended.then(outcome => ({ call, outcome }))]
    }),
  )
  while (running.size > 0) {
    const { call, outcome } = await Promise.race(running.values())
    running.delete(call)
    results.set(call, outcome.message)
    // The end of the goal is written as such, not as an outcome.
    if (isFinish(call, outcome)) finish = Finish.parse(call.arguments)
    else yield { type: 'outcome', call, ...outcome }
  }
  messages.push(...calls.map(call => results.get(call) as Message))
  return finish
}

async function tooMany(call: PlannedCall) {
  return { message: toolError(call, `not run: at most ${MAX_CALLS} calls in one turn`), effects: [] }
}

/**
 * Calls at the end of the transcript that have no result: the process died between intent and outcome. A tool that says
 * `idempotent` is run again; of the others the model is told that nobody knows.
 */
async function* finishInterrupted(
  request: RunRequest,
  messages: Message[],
  parts: LoopParts,
): AsyncGenerator<RunEvent, Finish | undefined> {
  const last = messages.findLastIndex(message => message.role === 'assistant')
  const answered = new Set(messages.slice(last + 1).map(message => message.tool_call_id))
  for (const { id, name, arguments: args } of messages[last]?.tool_calls ?? []) {
    if (answered.has(id)) continue
    const call: PlannedCall = {
      call_id: request.unanswered?.get(id) ?? `${request.call_prefix}:0:${id}`,
      id,
      name,
      arguments: args,
      step: 0,
    }
    const again = request.tools.find(name)?.idempotent === true
    const unknown =
      'the service stopped while this ran: whether it took effect is unknown. Check before you do it again.'
    const outcome = again
      ? await executeCall(call, request, parts.clock)
      : { message: toolError(call, unknown), effects: [] }
    if (isFinish(call, outcome)) return Finish.parse(args)
    messages.push(outcome.message)
    yield { type: 'outcome', call, ...outcome }
  }
  return undefined
}

function isFinish({ name }: PlannedCall, { message }: { message: Message }): boolean {
  return name === FINISH_GOAL && !message.is_error
}

function toolError({ id, name }: PlannedCall, sentence: string): Message {
  return { role: 'tool', tool_call_id: id, name, content: `Error: ${sentence}`, is_error: true }
}

/** The usual phrasings of a model that declines; a heuristic, and it only ever delays or withholds a completion. */
const REFUSAL =
  /^\W*(i['’]?m sorry|sorry|i apologi[sz]e|i can(no|')?t|i can’t|i am (not able|unable)|i['’]m (not able|unable)|i won['’]t)\b/i

function isRefusal({ finish_reason, text }: ModelAnswer): boolean {
  return finish_reason === 'content_filter' || REFUSAL.test(text)
}
