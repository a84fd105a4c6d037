import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { isTooDeep } from '#core/runtime/contract'
import { Problem, problemOf } from '#interfaces/rest/contract'
import { InvalidInputError, type Operation, type OperationCall, SvcError } from '#kernel'
import { InternalError, unexpectedError } from '#lib/errors'
import { isStream, type StreamEvent } from '#lib/stream'
import type { McpOffer } from './contract.ts'
import { noteOf, withLimit } from './pages.ts'
import { schemasOf } from './schemas.ts'

/** Maximum nesting of arguments; no operation needs more than a few levels. */
const MOST_LEVELS = 32
/** Maximum number of events of an endless stream in one answer. */
const MOST_EVENTS = 1_000

/**
 * Runs an operation as a tool. Errors are results too: the message for the client's model, with the problem as
 * structured content.
 */
export async function callTool(
  offer: McpOffer,
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  call: OperationCall,
): Promise<CallToolResult> {
  try {
    refuseNest(operation, given)
    refuseUnknown(operation, given)
    const input = withLimit(operation, given)
    const output = await offer.run(operation, input, call)
    const whole = isStream(output) ? await followStream(output, operation, call) : output
    const answer = answerOf(operation, whole)
    const note = await noteOf(operation, input, whole, call)
    if (note !== undefined) answer.content.push({ type: 'text', text: note })
    return answer
  } catch (error) {
    offer.reportError(error, operation.name, call.request_id)
    const shown = shownError(error, call.request_id)
    return {
      isError: true,
      content: [{ type: 'text', text: shown.message }],
      _meta: { problem: problemOf(shown, call.request_id), ...taskIn(shown) },
    }
  }
}

/** Returns the error that may be shown for what was thrown. */
export function shownError(error: unknown, request_id?: string): SvcError {
  if (error instanceof SvcError) return error
  return unexpectedError(error, request_id)
}

/** Refuses arguments that are nested more deeply than over HTTP. @throws InvalidInputError */
function refuseNest({ name }: Operation, given: Readonly<Record<string, unknown>>): void {
  if (!isTooDeep(given, MOST_LEVELS)) return
  const issues = [{ path: '', message: `is nested more than ${MOST_LEVELS} levels deep` }]
  throw new InvalidInputError({ what: `The call of ${name}`, issues }, { errors: issues })
}

/** Refuses unknown fields, which the schema would ignore. @throws InvalidInputError */
function refuseUnknown({ name, input }: Operation, given: Readonly<Record<string, unknown>>): void {
  if (input._zod.def.catchall) return
  const unknown = Object.keys(given).filter(field => !Object.hasOwn(input.shape, field))
  if (unknown.length === 0) return
  const known = Object.keys(input.shape).join(', ') || 'none'
  const issues = unknown.map(path => ({ path, message: `is not a known field; known are: ${known}` }))
  throw new InvalidInputError({ what: `The call of ${name}`, issues }, { errors: issues })
}

function answerOf(operation: Operation, output: unknown): CallToolResult {
  const { wrapped } = schemasOf(operation)
  const whole = wrapped ? { result: output ?? null } : output
  // As JSON: dates become strings, undefined fields are absent.
  const json = JSON.stringify(whole)
  const text = wrapped && typeof output === 'string' ? output : wrapped ? JSON.stringify(output ?? null) : json
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(json) as Record<string, unknown> }
}

/** Sends each event as progress; the last one, or all where none is marked as last, is the output. */
async function followStream(
  events: AsyncIterable<StreamEvent>,
  { events: schemas }: Operation,
  { progress, signal }: OperationCall,
): Promise<unknown> {
  const all: unknown[] = []
  for await (const { event, data } of events) {
    if (event === 'done') return data
    if (event === 'error') throw failureOf(data)
    progress(textOf(event, data))
    if (!schemas?.done && all.push({ event, data }) >= MOST_EVENTS) break
    if (signal.aborted) break
  }
  return all
}

/** Returns the error of a stream that reports its failure as an event. */
function failureOf(data: unknown): SvcError {
  const { detail, code, status, title } = Problem.partial().safeParse(data).data ?? {}
  if (detail === undefined || code === undefined) return new InternalError()
  return new SvcError(detail, { code, status: status ?? 500, ...(title === undefined ? {} : { title }), cause: data })
}

/** Returns the task whose failure ended a stream, with the text shown so far. */
function taskIn({ cause }: SvcError): { task?: unknown } {
  const { task } = Object(cause) as { task?: unknown }
  return task === undefined ? {} : { task }
}

function textOf(event: string, data: unknown): string {
  const { text, message } = (data ?? {}) as { text?: unknown; message?: unknown }
  if (typeof text === 'string') return text
  return typeof message === 'string' ? message : `${event}: ${JSON.stringify(data)}`
}
