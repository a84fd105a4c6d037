import { MAX_TOOL_CALLS, type Message, type ModelAnswer, type ToolSpec } from '#core/models/contract'
import { toolTokens } from '#lib/output-limit'
import { recordInput } from '#lib/recording-context'
import { ASK_OPERATOR, FINISH_GOAL, type PlannedCall, type RunEvent, type RunRequest } from '../contract.ts'
import { tokensOf } from '../offer.ts'
import { Finish } from './finish.ts'
import { addNotice, repeatedCalls } from './repeats.ts'
import {
  type CallOutcome,
  type CallParts,
  executeCall,
  parseArguments,
  refusedOutcome,
  toolError,
  UNKNOWN,
} from './tool-call.ts'

/** Maximum number of calls that run at the same time. */
const MOST_AT_ONCE = 8

/** Number of characters kept of the arguments of a call that was cut off. */
const SHOWN_OF_CUT = 200

const UNREAD =
  'not run: while it waited, the operator wrote to you. Read that first, then make the call again if it is still right.'
const ENDED = 'the goal has ended meanwhile. The tool was not run.'
const FAILED =
  'another call of this turn failed. Read its result; if the goal is reached all the same, call finish_goal again.'
const ASKED = 'you asked the operator in the same turn. Read the answer, and act by it before you finish.'

/** Result of the calls of one turn. */
export type TurnEnd =
  /** `refusal` is the error of the last call, if none of the turn ran. */
  | { status: 'on'; refusal?: string }
  | { status: 'finished'; finish: Finish }
  | { status: 'declined'; reason: string }
  | { status: 'parked'; approval_ids: string[] }
  | { status: 'yielded' }
  | { status: 'repeating'; calls: string; refusal?: string }

/**
 * Returns the calls of an answer with their journal ids, and the number of dropped calls. The limit is enforced here
 * too, because plugins may provide models.
 */
export function planCalls(
  { tool_calls, dropped_calls = 0, finish_reason }: ModelAnswer,
  request: RunRequest,
  step: number,
): { calls: PlannedCall[]; dropped: number } {
  const allowed = tool_calls.slice(0, MAX_TOOL_CALLS)
  const calls = allowed.map((call, n) => {
    const given = parseArguments(call.arguments, request.tools.find(call.name))
    const isCut = finish_reason === 'length' && n === tool_calls.length - 1 && typeof given === 'string'
    return {
      call_id: `${request.call_prefix}:${step}:${n}`,
      id: call.id,
      name: call.name,
      // The model has to write it anew; the part would only cost tokens in each of its next requests.
      ...(isCut ? { arguments: given.slice(0, SHOWN_OF_CUT), cut: true } : { arguments: given }),
      ...(call.repaired ? { repaired: call.repaired } : {}),
      step,
    }
  })
  return { calls, dropped: dropped_calls + tool_calls.length - allowed.length }
}

/** Runs the calls of an answer. */
export function runTurn(calls: readonly PlannedCall[], request: RunRequest, messages: Message[], parts: CallParts) {
  const toolsOffered = () => offeredTools(request, messages, parts)
  return runAll(calls, call => executeCall(call, request, { ...parts, offered: toolsOffered }), request, messages)
}

/** Returns the tools that the model is offered after these messages: fewer in a small context window. */
function offeredTools(
  { tools }: RunRequest,
  messages: readonly Message[],
  { context }: CallParts,
): readonly ToolSpec[] {
  const all = tools.toolsAfter(messages)
  const most = context ? toolTokens(context) : Number.POSITIVE_INFINITY
  return tokensOf(all) <= most ? all : tools.toolsAfter(messages, most)
}

/**
 * Runs the calls at the end of the transcript that have no result. Calls that wait are checked by the gate again. Of the
 * others, the first had begun when the process died, because calls run in order: if its tool is not idempotent, the model
 * learns that the outcome is unknown. A planned call does not run once there are words of the operator that the model
 * has not read: a message, or those in the results of earlier calls.
 */
export function resumeTurn(request: RunRequest, messages: Message[], parts: CallParts) {
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
  // After a restored checkpoint, calls of the transcript may have ended in the journal.
  const isOpen = ({ id }: PlannedCall) => request.unanswered?.has(id) ?? true
  const [begun = []] = groupsOf(
    // The end of a goal has no result of its own until the calls after it have run.
    calls.filter(call => call.name !== FINISH_GOAL && !request.waiting?.has(call.call_id) && isOpen(call)),
    request,
  )
  let hasUnread = messages.slice(last + 1).some(({ from_operator }) => from_operator)
  const execute = async (call: PlannedCall): Promise<CallOutcome> => {
    if (request.planned?.has(call.call_id)) {
      hasUnread ||= (await request.hasUnread?.()) ?? false
      if (hasUnread) return refusedOutcome(call, UNREAD)
    }
    const tool = request.tools.find(call.name)
    const idempotent = tool?.idempotent === true || tool?.read_only === true
    const safe = isOpen(call) && (idempotent || !begun.includes(call))
    if (safe || call.name === FINISH_GOAL || request.waiting?.has(call.call_id)) {
      const end = await executeCall(call, request, parts)
      if (typeof end === 'object' && 'message' in end) hasUnread ||= end.message.from_operator ?? false
      return end
    }
    return { message: toolError(call, `the service stopped while this ran. ${UNKNOWN}`), effects: [] }
  }
  return runAll(calls, execute, request, messages)
}

/**
 * Splits the calls of an answer into groups that run one after another. Models send calls that need the effects of
 * earlier ones, so only neighbours that change nothing run at the same time.
 */
function groupsOf(calls: readonly PlannedCall[], { tools }: RunRequest): PlannedCall[][] {
  const groups: PlannedCall[][] = []
  const readsOnly = (call: PlannedCall) => tools.find(call.name)?.read_only === true
  for (const call of calls) {
    const last = groups.at(-1)
    if (last && last.length < MOST_AT_ONCE && readsOnly(call) && last.every(readsOnly)) last.push(call)
    else groups.push([call])
  }
  return groups
}

/**
 * Runs calls, yields each outcome as it comes, and adds all results in the order of the calls. A call that
 * ends the goal stays open while others of its turn wait for the operator, and is judged when they have run.
 */
async function* runAll(
  calls: readonly PlannedCall[],
  execute: (call: PlannedCall) => Promise<CallOutcome>,
  request: RunRequest,
  messages: Message[],
): AsyncGenerator<RunEvent, TurnEnd> {
  const note = dropNote(messages)
  const results = new Map<PlannedCall, Message>()
  const shownResults = () => calls.flatMap(call => results.get(call) ?? [])
  const finishing: PlannedCall[] = []
  const parked = new Set<string>()
  const held: PlannedCall[] = []
  const failures: unknown[] = []
  const begin = async (call: PlannedCall) => {
    // Later calls may need the effects of those that wait.
    const end = await execute(parked.size > 0 ? { ...call, isHeld: true } : call).catch(
      error => void failures.push(error),
    )
    return { call, end }
  }
  const notRun = async (call: PlannedCall) => ({ call, end: refusedOutcome(call, ENDED) })
  const running = new Map<PlannedCall, ReturnType<typeof begin>>()
  const firstOf = async () => calls.indexOf((await Promise.race(running.values())).call)
  const groups = groupsOf(calls, request)
  let repeated: string[] | undefined
  let refusal: string | undefined = ''
  let may: 'now' | 'later' | 'never' = 'now'
  try {
    for (;;) {
      if (running.size === 0 && groups.length > 0) may = (await request.mayBegin?.()) ?? 'now'
      // After a failure of the gate, the next run begins with the calls that are left.
      const next = running.size === 0 && failures.length === 0 && may !== 'later' ? groups.shift() : undefined
      for (const call of next ?? []) running.set(call, may === 'never' ? notRun(call) : begin(call))
      if (running.size === 0) break
      const [only] = running.keys()
      // The first of several calls to end is nondeterministic, so it is recorded.
      const call = running.size > 1 ? calls[await recordInput('first to end', firstOf)]! : only!
      const { end } = await running.get(call)!
      running.delete(call)
      if (!end) continue
      if (end === 'held') held.push(call)
      else if ('approval_id' in end) parked.add(end.approval_id)
      else if (call.name === FINISH_GOAL && !end.message.is_error) finishing.push(call)
      else {
        const result = note(end.message)
        results.set(call, result)
        if (results.size === calls.length) repeated = repeatedCalls([...messages, ...shownResults()])
        const message = repeated ? addNotice(result) : result
        results.set(call, message)
        refusal = end.ran === false && refusal !== undefined ? end.message.content : undefined
        yield { type: 'outcome', call, ...end, message }
      }
    }
  } finally {
    // If an outcome could not be written, the other calls still end before the turn does.
    await Promise.all(running.values())
  }
  const left = [...held, ...groups.flat()]
  if (left.length > 0) await request.defer?.(left)
  // A failure of the gate ends the run after the other results are written.
  if (failures.length > 0) throw failures[0]
  if (may === 'later') return { status: 'yielded' }
  const finish = finishing[0] && Finish.parse(finishing[0].arguments)
  // An answer that ends the goal was written before the results of its other calls.
  const hasFailed = finish?.reached === true && [...results.values()].some(({ is_error }) => is_error)
  const hasAsked = calls.some(call => call.name === ASK_OPERATOR && results.has(call))
  const premature = hasFailed ? FAILED : hasAsked ? ASKED : undefined
  const isOpen = parked.size > 0 && !premature
  const objection = finish && !isOpen && (premature ?? (await objectionTo(finish, request)))
  // The end of the goal is its own record, not an outcome.
  if (finish && !isOpen && !objection) return endBy(finish)
  // A claim that waits for the operator has no result yet and is judged again when the run resumes.
  const isRejection = typeof objection === 'object' && 'rejection' in objection
  if (typeof objection === 'object' && 'waits_for' in objection) parked.add(objection.waits_for)
  const problem = isRejection ? objection.rejection : objection
  for (const call of typeof problem === 'string' ? finishing : []) {
    const refused = note(toolError(call, `the goal is not finished: ${problem}`))
    const message = { ...refused, ...(isRejection ? { from_operator: true } : {}) }
    results.set(call, message)
    yield { type: 'outcome', call, message, effects: [] }
  }
  showResults(messages, shownResults())
  if (parked.size > 0) return { status: 'parked', approval_ids: [...parked] }
  const end = repeated ? { status: 'repeating' as const, calls: repeated.join(', ') } : { status: 'on' as const }
  return refusal ? { ...end, refusal } : end
}

async function objectionTo({ reached, ...claim }: Finish, { objection }: RunRequest) {
  return reached ? objection?.({ ...claim, unconfirmed: false }) : undefined
}

function endBy(finish: Finish): TurnEnd {
  return finish.reached ? { status: 'finished', finish } : { status: 'declined', reason: finish.summary }
}

/** Adds a note about dropped calls to the result of the last call that ran, which is stored like any other. */
function dropNote(messages: readonly Message[]): (result: Message) => Message {
  const { tool_calls = [], dropped_calls = 0 } = messages.findLast(({ role }) => role === 'assistant') ?? {}
  const last = tool_calls.at(-1)?.id
  if (dropped_calls === 0) return result => result
  const text = `\n\nNotice: that answer held ${tool_calls.length + dropped_calls} tool calls. At most ${MAX_TOOL_CALLS} run per answer: the last ${dropped_calls === 1 ? 'one was' : `${dropped_calls} were`} dropped and did nothing. Make at most ${MAX_TOOL_CALLS} calls per answer.`
  return result => (result.tool_call_id === last ? { ...result, content: result.content + text } : result)
}

/** Adds results after those of this turn, in the order of the calls. */
function showResults(messages: Message[], results: readonly Message[]): void {
  const last = messages.findLastIndex(message => message.role === 'assistant')
  const places = new Map(messages[last]?.tool_calls?.map(({ id }, n) => [id, n]))
  const placeOf = ({ tool_call_id = '' }: Message) => places.get(tool_call_id) ?? places.size
  messages.push(...results)
  messages.push(...messages.splice(last + 1).sort((a, b) => placeOf(a) - placeOf(b)))
}
