import { z } from 'zod'
import { type ErrorClass, InvalidInputError, type Issue } from './errors.ts'
import { point } from './points.ts'

/** A write as data: a name and a payload. The module that owns the name turns it into statements. */
export interface Effect {
  readonly effect: string
  readonly payload: unknown
}

/** Who asks, and how to stop or follow. */
export interface OperationCall {
  tenant: string
  signal: AbortSignal
  /** The interface through which the call came. */
  via: 'rest' | 'cli' | 'mcp' | 'code'
  /** @deprecated Use `via`. */
  face?: 'rest' | 'cli' | 'mcp' | 'code'
  /** It came over the daemon's own socket, as what the command line asks of a running daemon does. */
  local?: boolean
  request_id: string
  progress(message: string): void
  /** The same key again is the same request again: its answer is repeated, its work is not. */
  idempotency_key?: string
  /** What an operation with `http.idempotent` commits with what it creates, so that a crash before the answer is known of. */
  effects?: readonly Effect[]
  /** Reports that the answer is the one to an earlier request with the same key. */
  replayed?(): void
  /** W3C trace context: of what this is a part, as in `00-<trace>-<span>-01`. */
  traceparent?: string
  /** The id of the last event that a client has seen of a stream. */
  last_event_id?: string
}

/** Something that an operator can do. The interfaces where it is found, such as HTTP, add their part by merging. */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
  /** `module.verb`, as in `agents.spawn`. */
  name: string
  input: I
  summary: string
  description?: string
  output: O
  /** What a stream may send, by the name of the event; its `output` is then one message. */
  events?: Readonly<Record<string, z.ZodType>>
  mcp?: boolean
  errors?: readonly ErrorClass<never>[]
  /** `config`: any process, also where the configuration is not valid. `store`: any that has the database. `daemon`: only where the heartbeat runs. */
  reach?: 'config' | 'store' | 'daemon'
  /** For people on a terminal; without it the command line draws a table of the output. */
  render?: (output: z.output<O>) => string
  /** The exit code of its command, where an answer may be one that a script should stop at; 0 without it. */
  exit?: (output: z.output<O>) => number
  /** An output that is frozen is one that stays as it is, all of it: given again, it is not checked and written again. */
  run(input: z.output<I>, call: C): z.input<O> | Promise<z.input<O>>
  /** How many there are without `limit` and `offset`, for an operation that lists. */
  count?(input: z.output<I>, call: C): number | Promise<number>
}

/** Runs an operation by its name. */
export type Invoke = (name: string, input: unknown, call?: Partial<OperationCall>) => Promise<unknown>

export const Operations = point<Operation>('operations', {
  key: definition => definition.name,
  shape: { parse: checkOperation },
})

/** @throws TypeError that says what would be right */
function checkOperation(definition: Operation): void {
  const { name, input, output, run } = definition
  if (typeof name !== 'string' || name === '') throw new TypeError('an operation needs a name, such as "weather.today"')
  const whole = input instanceof z.ZodObject && output instanceof z.ZodType && typeof run === 'function'
  if (!whole)
    throw new TypeError(`the operation "${name}" needs input: z.object({ … }), output: a zod schema, and run()`)
}

/**
 * The only way to run an operation: checks the input, runs, shapes the output by its schema.
 * @throws InvalidInputError naming each wrong field
 */
export async function invoke(definition: Operation, raw: unknown, call: OperationCall): Promise<unknown> {
  const input = parse(definition.input, raw, 'The request')
  // What it takes beyond its own fields it looks at itself, such as keys of the configuration.
  const fields = call.via === 'code' ? [] : Object.keys(definition.input.shape)
  const issue = fields.map(field => unstorable(input[field], [field])).find(found => found !== undefined)
  if (issue !== undefined) throw new InvalidInputError({ what: 'The request', issues: [issue] }, { errors: [issue] })
  return shapeOutput(definition.output, await definition.run(input as never, call))
}

/** Deeper JSON is refused: code that walks it by recursion would overflow the stack. */
const MAX_DEPTH = 200

/** Finds what JSON cannot keep or code cannot walk: a number such as 1e999, or too many levels. */
function unstorable(value: unknown, path: readonly string[]): Issue | undefined {
  if (typeof value === 'number' && !Number.isFinite(value))
    return { path: path.join('.'), message: 'is a number that is too large to be stored' }
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length > MAX_DEPTH) return { path: path[0]!, message: `is nested more than ${MAX_DEPTH} levels deep` }
  for (const [key, below] of Object.entries(value)) {
    const found = unstorable(below, [...path, key])
    if (found !== undefined) return found
  }
  return undefined
}

/** What is frozen and was checked once needs no second look. */
const checked = new WeakMap<object, { schema: z.ZodType; output: unknown }>()

function shapeOutput(schema: z.ZodType, output: unknown): unknown {
  if (typeof output !== 'object' || output === null || !Object.isFrozen(output)) return schema.parse(output)
  const known = checked.get(output)
  if (known?.schema === schema) return known.output
  const made = Object.freeze(schema.parse(output))
  checked.set(output, { schema, output: made })
  return made
}

/** Parses with zod and says what is wrong in one sentence. @throws InvalidInputError */
export function parse<S extends z.ZodType>(schema: S, raw: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  const issues = issuesOf(withoutMeasures(parsed.error))
  throw new InvalidInputError({ what, issues }, { errors: issues })
}

/** Without the measures of what is of the wrong kind: of a list where a text is meant zod says that it is too short a list. */
function withoutMeasures({ issues }: z.ZodError): Pick<z.ZodError, 'issues'> {
  const placeOf = ({ path }: z.core.$ZodIssue) => path.join('.')
  const wrong = new Set(issues.filter(({ code }) => code === 'invalid_type').map(placeOf))
  return { issues: issues.filter(issue => issue.code === 'invalid_type' || !wrong.has(placeOf(issue))) }
}

/** zod's issues as ours. @param prefix stands before each path */
export function issuesOf(error: Pick<z.ZodError, 'issues'>, prefix = ''): Issue[] {
  return error.issues.flatMap(issue => {
    const path = [...(prefix ? [prefix] : []), ...issue.path.map(String)].join('.')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key => ({ path: path ? `${path}.${key}` : key, message: 'is not a known field' }))
    }
    return [{ path, message: issue.message }]
  })
}
