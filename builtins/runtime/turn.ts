import { type Clock, taken } from '#kernel'
import type { Message, ModelAnswer } from '../models/contract.ts'
import { FINISH_GOAL, type PlannedCall, type RunEvent, type RunRequest } from './contract.ts'
import { Finish } from './finish.ts'
import { isRepeating, noticed } from './repeats.ts'
import { type Ended, executeCall, parseArguments, toolError, UNKNOWN } from './tool-call.ts'

/** More calls than this in one turn are answered without being run. */
const MAX_CALLS = 32

const WAITING = 'another call of this turn waits for the operator. Call finish_goal when that is decided.'

/** What came of the calls of one turn. */
export type TurnEnd =
  | { status: 'on' }
  | { status: 'finished'; finish: Finish }
  | { status: 'parked'; approval_ids: string[] }
  | { status: 'repeating'; calls: string }

/** The calls of an answer, with the ids under which the journal knows them. */
export function planCalls(answer: ModelAnswer, request: RunRequest, step: number): PlannedCall[] {
  return answer.tool_calls.map((call, n) => ({
    call_id: `${request.call_prefix}:${step}:${n}`,
    id: call.id,
    name: call.name,
    arguments: parseArguments(call.arguments),
    ...(call.repaired ? { repaired: call.repaired } : {}),
    step,
  }))
}

/** Runs the calls of an answer. */
export function runTurn(calls: readonly PlannedCall[], request: RunRequest, messages: Message[], clock: Clock) {
  const execute = async (call: PlannedCall, n: number): Promise<Ended> =>
    n < MAX_CALLS
      ? executeCall(call, request, clock)
      : { message: toolError(call, `not run: at most ${MAX_CALLS} calls in one turn`), effects: [] }
  return runAll(calls, execute, request, messages)
}

/**
 * Runs the calls at the end of the transcript that have no result. Those that wait are put before the gate again. For the
 * others the process died between intent and outcome: a tool that says `idempotent` is run again, of the rest the model is
 * told that nobody knows.
 */
export function resumeTurn(request: RunRequest, messages: Message[], clock: Clock) {
  const last = messages.findLastIndex(message => message.role === 'assistant')
  const answered = new Set(messages.slice(last + 1).map(message => message.tool_call_id))
  const open = (messages[last]?.tool_calls ?? []).filter(({ id }) => !answered.has(id))
  const calls = open.map(({ id, name, arguments: args }) => ({
    call_id: request.unanswered?.get(id) ?? `${request.call_prefix}:0:${id}`,
    id,
    name,
    arguments: args,
    step: 0,
  }))
  const execute = async (call: PlannedCall): Promise<Ended> => {
    // After a checkpoint was restored, the journal may have done with what the transcript still waits for.
    const isOpen = request.unanswered?.has(call.id) ?? true
    const idempotent = request.tools.find(call.name)?.idempotent === true
    const safe = request.waiting?.has(call.call_id) || (isOpen && idempotent)
    if (safe) return executeCall(call, request, clock)
    return { message: toolError(call, `the service stopped while this ran. ${UNKNOWN}`), effects: [] }
  }
  return runAll(calls, execute, request, messages)
}

/**
 * Runs calls side by side, tells each outcome as it comes, and shows the model all of them in the order of the calls. The
 * goal is not finished by a turn in which another call waits for the operator.
 */
async function* runAll(
  calls: readonly PlannedCall[],
  execute: (call: PlannedCall, n: number) => Promise<Ended>,
  request: RunRequest,
  messages: Message[],
): AsyncGenerator<RunEvent, TurnEnd> {
  const results = new Map<PlannedCall, Message>()
  const shown = () => calls.flatMap(call => results.get(call) ?? [])
  const finishing: PlannedCall[] = []
  const parked = new Set<string>()
  const failures: unknown[] = []
  const running = new Map(
    calls.map((call, n) => {
      const ended = execute(call, n).catch(error => void failures.push(error))
      return [call, ended.then(end => ({ call, end }))]
    }),
  )
  const firstOf = async () => calls.indexOf((await Promise.race(running.values())).call)
  let repeating = false
  try {
    while (running.size > 0) {
      const [only] = running.keys()
      // Which of several has ended first is chance: it is recorded.
      const call = running.size > 1 ? calls[await taken('first to end', firstOf)]! : only!
      const { end } = await running.get(call)!
      running.delete(call)
      if (!end) continue
      if ('approval_id' in end) parked.add(end.approval_id)
      else if (call.name === FINISH_GOAL && !end.message.is_error) finishing.push(call)
      else {
        results.set(call, end.message)
        repeating = results.size === calls.length && isRepeating([...messages, ...shown()])
        const message = repeating ? noticed(end.message) : end.message
        results.set(call, message)
        yield { type: 'outcome', call, message, effects: end.effects }
      }
    }
  } finally {
    // Where an outcome could not be written, the others still end before the turn does.
    await Promise.all(running.values())
  }
  // What the gate could not decide ends the run, once the others of the turn are written down.
  if (failures.length > 0) throw failures[0]
  const finish = finishing[0] && Finish.parse(finishing[0].arguments)
  const objection = finish && (parked.size > 0 ? WAITING : await request.objection?.({ ...finish, unconfirmed: false }))
  // The end of the goal is written as such, not as an outcome.
  if (finish && !objection) return { status: 'finished', finish }
  for (const call of finishing) {
    const message = toolError(call, `the goal goes on: ${objection}`)
    results.set(call, message)
    yield { type: 'outcome', call, message, effects: [] }
  }
  showResults(messages, shown())
  if (parked.size > 0) return { status: 'parked', approval_ids: [...parked] }
  if (repeating) return { status: 'repeating', calls: [...new Set(calls.map(call => call.name))].join(', ') }
  return { status: 'on' }
}

/** Puts results behind the turn's own that are there already, all in the order of their calls. */
function showResults(messages: Message[], results: readonly Message[]): void {
  const last = messages.findLastIndex(message => message.role === 'assistant')
  const places = new Map(messages[last]?.tool_calls?.map(({ id }, n) => [id, n]))
  const placeOf = ({ tool_call_id = '' }: Message) => places.get(tool_call_id) ?? places.size
  messages.push(...results)
  messages.push(...messages.splice(last + 1).sort((a, b) => placeOf(a) - placeOf(b)))
}
