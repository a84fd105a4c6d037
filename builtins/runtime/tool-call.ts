import { type Clock, type Effect, issuesOf, sentenceOf, type Tool, type ToolCall, within, z } from '#kernel'
import type { Message } from '../models/contract.ts'
import type { PlannedCall, RunRequest } from './contract.ts'

/** Longer results are cut, with a sentence that says so: every character is paid for again at each following step. */
const MAX_RESULT = 20_000

/** The object that the model meant, or the raw text when it is not JSON. No text at all means no arguments. */
export function parseArguments(raw: string): unknown {
  if (raw.trim() === '') return {}
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

interface Outcome {
  message: Message
  effects: readonly Effect[]
}

/** Runs one call. Never throws: whatever goes wrong becomes a result that the model can read. */
export async function executeCall(call: PlannedCall, request: RunRequest, clock: Clock): Promise<Outcome> {
  const effects: Effect[] = []
  try {
    const { tool, args } = prepare(call, request)
    const result = await run(tool, args, call, request, clock, effects)
    return { message: { role: 'tool', tool_call_id: call.id, name: call.name, content: textOf(result) }, effects }
  } catch (error) {
    const content = `Error: ${sentenceOf(error)}`.slice(0, MAX_RESULT)
    return { message: { role: 'tool', tool_call_id: call.id, name: call.name, content, is_error: true }, effects: [] }
  }
}

/** Finds the tool and checks the arguments; what is wrong is said with the schema that would be right. */
function prepare(call: PlannedCall, { tools }: RunRequest): { tool: Tool; args: unknown } {
  const tool = tools.find(call.name)
  if (!tool) {
    const known = tools.specs.map(spec => spec.name).join(', ')
    throw new Error(`there is no tool "${call.name}". There are: ${known}`)
  }
  const parsed = tool.parameters.safeParse(call.arguments)
  if (parsed.success) return { tool, args: parsed.data }
  const faults =
    typeof call.arguments === 'string'
      ? 'the arguments are not valid JSON'
      : issuesOf(parsed.error)
          .map(({ path, message }) => (path ? `${path}: ${message}` : message))
          .join('; ')
  throw new Error(
    `${faults}. The tool was not run. Its arguments follow this JSON Schema: ${JSON.stringify(schemaOf(tool))}`,
  )
}

async function run(tool: Tool, args: unknown, call: PlannedCall, request: RunRequest, clock: Clock, effects: Effect[]) {
  const abort = new AbortController()
  const stop = () => abort.abort(request.signal.reason)
  request.signal.addEventListener('abort', stop, { once: true })
  const context: ToolCall = {
    call_id: call.call_id,
    agent_id: request.agent_id,
    goal_id: request.goal_id,
    cycle_num: request.cycle_num,
    signal: abort.signal,
    workspace: request.workspace,
    idempotency_key: call.call_id,
    effect: effect => void effects.push(effect),
  }
  const aborted = new Promise<never>((_, reject) => {
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true })
  })
  // Whoever wins the race, this one is settled when the call is over.
  aborted.catch(() => {})
  try {
    const work = Promise.race([(async () => tool.execute(args, context))(), aborted])
    if (request.tool_timeout === 0) return await work
    return await within(clock, request.tool_timeout * 1000, `The tool ${tool.name}`, work)
  } finally {
    request.signal.removeEventListener('abort', stop)
    // A tool that outlived its limit is told to stop.
    abort.abort('the tool call is over')
  }
}

function textOf(result: unknown): string {
  const text = typeof result === 'string' ? result : result === undefined || result === null ? '' : jsonOf(result)
  if (text.length <= MAX_RESULT) return text
  return `${text.slice(0, MAX_RESULT)}\n… ${text.length - MAX_RESULT} more characters were cut; ask for a smaller part.`
}

function jsonOf(result: unknown): string {
  try {
    return (
      JSON.stringify(result, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ??
      String(result)
    )
  } catch {
    throw new Error('the tool gave a result that cannot be written as text')
  }
}

const schemas = new WeakMap<Tool, Record<string, unknown>>()

/** A tool's parameters as JSON Schema, worked out once. */
export function schemaOf(tool: Tool): Record<string, unknown> {
  let schema = schemas.get(tool)
  if (!schema) {
    const { $schema: _, ...rest } = z.toJSONSchema(tool.parameters, { io: 'input', unrepresentable: 'any' }) as Record<
      string,
      unknown
    >
    schema = rest
    schemas.set(tool, schema)
  }
  return schema
}
