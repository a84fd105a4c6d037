import { type Images, imagesOf, ToolImages } from '#core/images/contract'
import { type ContextUse, IMITATED_HINT, type Message, type ToolSpec } from '#core/models/contract'
import {
  type Clock,
  type Effect,
  errorMessage,
  issuesOf,
  type PluginHandle,
  TimeLimitError,
  withTimeLimit,
  z,
} from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { dateAsText } from '#lib/not-json'
import { RESULT_TOKENS } from '#lib/output-limit'
import { recordInput } from '#lib/recording-context'
import { ResultTextError, resultText } from '#lib/result-text'
import { beginningWithin } from '#lib/text-tokens'
import { isTree } from '#lib/tree'
import type { Tool, ToolCall } from '#tools/toolkits/contract'
import {
  type AnswerLimit,
  canonicalJson,
  FIND_TOOLS,
  isTooDeep,
  type PlannedCall,
  type RunRequest,
} from '../contract.ts'
import { meantTool, unknownParameters, withOwnNames } from './meant-tool.ts'
import { keepImages } from './tool-images.ts'

/**
 * Parses arguments to an object, with the tool's own names; returns the raw text if it is not JSON or is nested too
 * deeply. Empty text means no arguments.
 */
export function parseArguments(raw: string, tool: Tool | undefined): unknown {
  if (raw.trim() === '') return {}
  const parsed = jsonOr(raw, raw)
  // Some models encode the object twice, as a string.
  const given = typeof parsed === 'string' ? objectOr(jsonOr(parsed, parsed), parsed) : parsed
  return tool ? withOwnNames(schemaOf(tool), given) : given
}

function jsonOr(raw: string, otherwise: unknown): unknown {
  try {
    const value: unknown = JSON.parse(raw)
    return isTooDeep(value) ? otherwise : value
  } catch {
    return otherwise
  }
}

/** Returns whether a text is JSON that is nested too deeply. */
function isNest(raw: string): boolean {
  try {
    return isTooDeep(JSON.parse(raw))
  } catch {
    return false
  }
}

function objectOr(value: unknown, otherwise: unknown): unknown {
  return isTree(value) ? value : otherwise
}

interface Outcome {
  message: Message
  effects: readonly Effect[]
  /** false if the call was refused without running. */
  ran?: boolean
}

/** Result of a call, the approval that it waits for, or that it is left for the next run. */
export type CallOutcome = Outcome | { approval_id: string } | 'held'

/** Dependencies of a call besides its request. */
export interface CallParts {
  clock: Clock
  log?: PluginHandle['log']
  /** Maximum number of tokens of a result that the model reads. */
  result_tokens?: number | undefined
  /** Stores images that tools return; undefined if that module is disabled. */
  images?: Images | undefined
  /** Use of the model's context window by the request that led to the call; it decides which tools were offered. */
  context?: ContextUse | undefined
  /** Returns the tools that the model has been offered by now; by default those of the start. */
  offered?: () => readonly ToolSpec[]
}

/**
 * Runs one call. Converts any error to a result that the model can read.
 * @throws errors of the gate: no call was run then
 */
export async function executeCall(call: PlannedCall, request: RunRequest, parts: CallParts): Promise<CallOutcome> {
  // An earlier call of the answer may have run until the abort.
  if (request.signal.aborted) return refusedOutcome(call, `${errorMessage(request.signal.reason)} ${NOT_RUN}`)
  let checked: Prepared
  try {
    if (call.cut) throw new Error(cutOff(request, parts.context))
    checked = await prepare(call.name, call.arguments, request, parts)
  } catch (error) {
    return refusedOutcome(call, errorMessage(error))
  }
  const verdict = await request.gate?.(call, checked.tool, () => check(checked, call, request, parts))
  if (verdict?.verdict === 'hold') return 'held'
  if (verdict?.verdict === 'park') return { approval_id: verdict.approval_id }
  const origin = verdict && 'from_operator' in verdict && verdict.from_operator ? { from_operator: true } : {}
  if (verdict?.verdict === 'refuse') {
    const { message, ...refused } = refusedOutcome(call, verdict.reason)
    return { ...refused, message: { ...message, ...origin } }
  }
  const isEdited = verdict !== undefined && !isSame(verdict.arguments, call.arguments)
  const lead = decisionText(isEdited ? verdict.arguments : undefined, verdict?.remark)
  try {
    const { tool, args } = isEdited ? await prepare(call.name, verdict.arguments, request, parts) : checked
    crashPoint?.('tool begins')
    const { result, images, effects } = await recordInput(`tool ${tool.name}`, async () => {
      const effects: Effect[] = []
      const given = await run(tool, args, call, request, parts, effects)
      const { notes, images } = await keepImages(given, parts.images)
      return {
        result: [resultText(given instanceof ToolImages ? given.text : given, parts.result_tokens), ...notes]
          .filter(Boolean)
          .join('\n'),
        images,
        effects,
      }
    })
    crashPoint?.('tool ended')
    const ignored = unknownParameters(tool, isEdited ? verdict.arguments : call.arguments)
    const read = ignored.length > 0 ? `${result}\n[Ignored: ${ignored.join('; ')}]` : result
    const content = `${lead}${read}`
    const marks = { ...origin, ...(tool.keeps_result ? { is_kept: true } : {}) }
    const message: Message = { role: 'tool', tool_call_id: call.id, name: call.name, content, ...imagesOf(images) }
    return { message: { ...message, ...marks }, effects }
  } catch (error) {
    if (!request.signal.aborted) {
      logFault(error, call, request, parts)
      return failedOutcome(call, error, lead)
    }
    // The tool's signal was aborted.
    const sentence = errorMessage(request.signal.reason)
    return { message: toolError(call, `${sentence} ${UNKNOWN}`), effects: [] }
  }
}

/** Logs what is a fault of the tool's code: other errors are written for the model, which reads them. */
function logFault(error: unknown, { name }: PlannedCall, { agent_id, goal_id }: RunRequest, { log }: CallParts): void {
  if (error instanceof TimeLimitError || error instanceof ResultTextError)
    log?.warn({ agent_id, goal_id, tool: name }, `a call of the tool ${name} failed: ${error.message}`)
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other)
}

/** Time limit of a tool's own check, in milliseconds. */
const CHECK_LIMIT_MS = 10_000

const NOT_RUN = 'The tool was not run.'

/** The result of a call that began and whose outcome is unknown. */
export const UNKNOWN = 'Whether this took effect is unknown: check before you do it again.'

/** Returns what the operator did besides approving, for the beginning of a call's result; empty for nothing. */
function decisionText(changed: unknown, remark: string | undefined): string {
  const parts = [
    changed !== undefined &&
      `The operator changed the arguments before approving; the tool ran with: ${canonicalJson(changed)}\n\n`,
    remark && `The operator approved this call and wrote: ${remark}\n\n`,
  ]
  return parts.filter(Boolean).join('')
}

function failedOutcome(call: PlannedCall, error: unknown, lead: string): Outcome {
  return { message: toolError(call, errorMessage(error), lead), effects: [] }
}

/** Returns the outcome of a call that does not run, with the reason. */
export function refusedOutcome(call: PlannedCall, reason: string): Outcome {
  return { message: toolError(call, reason), effects: [], ran: false }
}

/** Creates the result of a call that did not run or failed, for the model. */
export function toolError({ id, name }: PlannedCall, sentence: string, lead = ''): Message {
  const content = beginningWithin(`${lead}Error: ${sentence}`, RESULT_TOKENS)
  return { role: 'tool', tool_call_id: id, name, content, is_error: true }
}

/** Returns the limit of an answer in words, and how the operator can raise it. */
export function answerLimit(
  { max_tokens, parameters, ends }: RunRequest,
  context: ContextUse | undefined,
): AnswerLimit {
  const wanted = parameters?.max_tokens ?? max_tokens
  const place = ends === 'text' ? 'for the task or in the profile' : 'in the profile'
  if (!context || context.answer >= wanted)
    return { limit: `max_tokens (${wanted})`, remedy: `raise max_tokens ${place}` }
  const limit = `${context.answer} tokens, the maximum in its context window of ${context.window}`
  return { limit, remedy: 'give the model a larger context window' }
}

/** Describes a call whose arguments were cut off with the answer. */
function cutOff(request: RunRequest, context: ContextUse | undefined): string {
  const { limit } = answerLimit(request, context)
  const parts = request.tools.names.includes('file_edit')
    ? 'write a long file in parts, the first with file_write and each next one as an edit that adds to it.'
    : 'write less in each, and divide a long text between several files.'
  return `your answer was cut at its limit of ${limit} within this call. ${NOT_RUN} Make smaller calls: ${parts}`
}

interface Prepared {
  tool: Tool
  args: unknown
}

/** Finds the tool and validates the arguments. Errors include the expected schema, unless only names are wrong. */
async function prepare(
  name: string,
  given: unknown,
  { tools }: RunRequest,
  { offered = () => tools.specs }: CallParts,
): Promise<Prepared> {
  const tool = tools.find(name, offered)
  if (!tool) {
    const known = offered()
      .map(spec => (spec.name === FIND_TOOLS ? `${FIND_TOOLS} (which finds others)` : spec.name))
      .join(', ')
    const closest = meantTool(name.slice(0, 100), tools.names)
    const hint = closest ? ` Did you mean ${closest}?` : ''
    const others = known ? `There are: ${known}` : 'You have no tools now: answer without a call.'
    throw new Error(`there is no tool "${name.slice(0, 100)}".${hint} ${others}`)
  }
  if (IMITATED_HINT.test(JSON.stringify(given) ?? ''))
    throw new Error(
      `a text ends with "characters in all]", which marks what was removed from your view. ${NOT_RUN} Write the whole text.`,
    )
  const parsed = await tool.parameters.safeParseAsync(given)
  if (parsed.success) return { tool, args: parsed.data }
  const faults =
    typeof given === 'string'
      ? `the arguments are ${isNest(given) ? 'nested too deeply' : 'not valid JSON'}`
      : issuesOf(parsed.error)
          .map(({ path, message }) => (path ? `${path}: ${message}` : message))
          .join('; ')
  const all = [faults, ...unknownParameters(tool, given)].join('; ')
  // The request has the names of the parameters, but not all limits of their values.
  const schema =
    isTree(given) && parsed.error.issues.every(issue => isMissing(issue, given))
      ? ''
      : ` Its arguments follow this JSON Schema: ${JSON.stringify(schemaOf(tool))}`
  throw new Error(`${all}${all.endsWith('?') ? '' : '.'} ${NOT_RUN}${schema}`)
}

function isMissing({ code, path: [name, ...further] }: z.core.$ZodIssue, given: Record<string, unknown>): boolean {
  return code === 'invalid_type' && further.length === 0 && given[String(name)] === undefined
}

/** Returns what a tool is given besides its arguments. */
function contextOf(
  { call_id }: PlannedCall,
  request: RunRequest,
  { result_tokens }: CallParts,
  end: Pick<CallEnd, 'signal'>,
  effect: ToolCall['effect'],
): ToolCall {
  return {
    call_id,
    agent_id: request.agent_id,
    goal_id: request.goal_id,
    cycle_num: request.cycle_num,
    ...(request.purpose.task_id === undefined ? {} : { task_id: request.purpose.task_id }),
    get signal() {
      return end.signal
    },
    workspace: request.workspace,
    scratch: request.scratch ?? request.workspace,
    folders: request.folders ?? [],
    idempotency_key: call_id,
    ...(result_tokens === undefined ? {} : { result_tokens }),
    effect,
  }
}

/** @throws if the call cannot succeed, by the tool's own check */
async function check({ tool, args }: Prepared, call: PlannedCall, request: RunRequest, parts: CallParts) {
  if (!tool.check) return
  const noEffect = () => {
    throw new Error('a check cannot add effects')
  }
  await recordInput(`check ${tool.name}`, async () => {
    const work = (async () => tool.check?.(args, contextOf(call, request, parts, request, noEffect)))()
    await withTimeLimit(parts.clock, CHECK_LIMIT_MS, `The check of the tool ${tool.name}`, work)
  })
}

async function run(
  tool: Tool,
  args: unknown,
  call: PlannedCall,
  request: RunRequest,
  parts: CallParts,
  effects: Effect[],
) {
  const end = new CallEnd()
  const context = contextOf(call, request, parts, end, effect => void effects.push(effect))
  let stop = () => {}
  try {
    const result = tool.execute(args, context)
    if (!isThenable(result)) return result
    const work = new Promise((resolve, reject) => {
      stop = () => {
        end.abort(request.signal.reason)
        reject(request.signal.reason)
      }
      request.signal.addEventListener('abort', stop, { once: true })
      // The abort may have happened while the tool started.
      if (request.signal.aborted) stop()
      result.then(resolve, reject)
    })
    if (request.tool_timeout === 0) return await work
    return await withTimeLimit(parts.clock, request.tool_timeout * 1000, `The tool ${tool.name}`, work)
  } finally {
    request.signal.removeEventListener('abort', stop)
    // Aborts the signal of a tool that exceeded its time limit.
    end.abort('the tool call is over')
  }
}

/**
 * Abort signal of a call, created on first access: most tools never use it, and creating one costs more than running
 * them.
 */
class CallEnd {
  #abort: AbortController | undefined
  #reason: unknown

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      if (this.#reason !== undefined) this.#abort.abort(this.#reason)
    }
    return this.#abort.signal
  }

  abort(reason: unknown): void {
    this.#reason ??= reason
    this.#abort?.abort(reason)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

type Schema = Record<string, unknown>

const schemas = new WeakMap<Tool['parameters'], Schema>()
const briefSchemas = new WeakMap<Tool['parameters'], Schema>()

/** Returns a tool's parameters as JSON Schema, cached by them, since interceptors make a new tool for each call. */
function schemaOf({ parameters }: Tool): Schema {
  let schema = schemas.get(parameters)
  if (!schema) {
    const options = { io: 'input', unrepresentable: 'any', override: dateAsText } as const
    const { $schema: _, ...rest } = z.toJSONSchema(parameters, options) as Schema
    schema = rest
    schemas.set(parameters, schema)
  }
  return schema
}

/**
 * Returns the schema for the prompt, without limits that models ignore (string lengths, safe integer bounds). A model
 * that violates one gets the full schema.
 */
export function briefSchemaOf(tool: Tool): Schema {
  let schema = briefSchemas.get(tool.parameters)
  if (!schema) {
    schema = JSON.parse(JSON.stringify(schemaOf(tool)), (key, value: unknown) => {
      const isIdle = /^(?:min|max)Length$/.test(key) || Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
      return isIdle && typeof value === 'number' ? undefined : value
    }) as Schema
    briefSchemas.set(tool.parameters, schema)
  }
  return schema
}
