import { z } from 'zod'
import { type ErrorClass, InvalidInputError, type Issue } from './errors.ts'
import { point } from './points.ts'

/** A write as data: a name and a payload. The module that owns the name turns it into statements. */
export interface Effect {
  readonly effect: string
  readonly payload: unknown
}

/** The caller of an operation, its abort signal, and a callback for progress. */
export interface OperationCall {
  tenant: string
  signal: AbortSignal
  /** The interface through which the call came. */
  via: 'rest' | 'cli' | 'mcp' | 'code'
  /** @deprecated Use `via`. */
  face?: 'rest' | 'cli' | 'mcp' | 'code'
  /** Whether the call came through the daemon's own socket, as from the command line. */
  local?: boolean
  request_id: string
  progress(message: string): void
  /** A repeated key returns the first answer without running the operation again. */
  idempotency_key?: string
  /** Writes to commit together with what the operation creates, so that a repeated request finds it after a crash. */
  effects?: readonly Effect[]
  /** Reports that the answer is that of an earlier request with the same key. */
  replayed?(): void
  /** W3C trace context of the caller, such as `00-<trace>-<span>-01`. */
  traceparent?: string
  /** Id of the last event of a stream that the client has received. */
  last_event_id?: string
}

/** Something that an operator can do. Interfaces, such as HTTP, add their fields by merging. */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
  /** `module.verb`, as in `agents.spawn`. */
  name: string
  input: I
  summary: string
  description?: string
  output: O
  /** Schemas of the events that a stream sends, by name; `output` is then the schema of one message. */
  events?: Readonly<Record<string, z.ZodType>>
  mcp?: boolean
  errors?: readonly ErrorClass<never>[]
  /** Where it can run. `config`: in any process, also if the configuration is invalid; `store`: in any process that has the database; `daemon`: only where the heartbeat runs. */
  reach?: 'config' | 'store' | 'daemon'
  /** Formats the output for a terminal; by default the command line prints a table. */
  render?: (output: z.output<O>) => string
  /** Returns the exit code of its command, for outputs at which a script should stop; 0 by default. */
  exit?: (output: z.output<O>) => number
  /** Runs it. A deeply frozen output must never change: it is validated once and cached. */
  run(input: z.output<I>, call: C): z.input<O> | Promise<z.input<O>>
  /** Returns the number of results without `limit` and `offset`, for an operation that lists. */
  count?(input: z.output<I>, call: C): number | Promise<number>
}

/** Inputs and outputs of operations by name, for `svc.invoke`. The program adds its own by merging. */
// biome-ignore lint/suspicious/noEmptyInterface: it gets its members by merging
export interface OperationTypes {}
type TypeOf<N, K> = N extends keyof OperationTypes ? OperationTypes[N][K & keyof OperationTypes[N]] : unknown
/** Runs an operation by its name. Operations that `OperationTypes` lacks, such as those of plugins, are not typed. */
export interface Invoke {
  // biome-ignore lint/style/useShorthandFunctionType: it takes fewer lines
  <N extends string>(name: N, input: TypeOf<N, 'input'>, call?: Partial<OperationCall>): Promise<TypeOf<N, 'output'>>
}

export const Operations = point<Operation>('operations', {
  key: definition => definition.name,
  shape: { parse: checkOperation },
})

/** @throws TypeError that names the missing part */
function checkOperation(definition: Operation): void {
  const { name, summary, input, output, run } = definition
  if (typeof name !== 'string' || name === '') throw new TypeError('an operation needs a name, such as "weather.today"')
  const whole = summary && input instanceof z.ZodObject && output instanceof z.ZodType && typeof run === 'function'
  if (!whole)
    throw new TypeError(`the operation "${name}" needs summary, input: z.object({ … }), output: a schema, and run()`)
}

/**
 * Validates the input, runs an operation and parses the output by its schema. All interfaces call operations through this.
 * @throws InvalidInputError that names each invalid field
 */
export async function invoke(definition: Operation, raw: unknown, call: OperationCall): Promise<unknown> {
  const input = parse(definition.input, raw, 'The request')
  // Fields beyond the schema, such as configuration keys, are checked by the operation.
  const fields = call.via === 'code' ? [] : Object.keys(definition.input.shape)
  const issue = fields.map(field => unstorable(input[field], [field])).find(found => found !== undefined)
  if (issue !== undefined) throw new InvalidInputError({ what: 'The request', issues: [issue] }, { errors: [issue] })
  return shapeOutput(definition.output, await definition.run(input as never, call))
}

/** Maximum depth of JSON; recursive code would overflow the stack on deeper values. */
const MAX_DEPTH = 200

/** Finds a value that JSON cannot store or recursive code cannot process: a number such as 1e999, or too many levels. */
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

/** Frozen outputs that were already validated. */
const checked = new WeakMap<object, { schema: z.ZodType; output: unknown }>()

function shapeOutput(schema: z.ZodType, output: unknown): unknown {
  if (typeof output !== 'object' || output === null || !Object.isFrozen(output)) return schema.parse(output)
  const known = checked.get(output)
  if (known?.schema === schema) return known.output
  const made = Object.freeze(schema.parse(output))
  checked.set(output, { schema, output: made })
  return made
}

/** Parses with zod. @throws InvalidInputError with all issues in one sentence */
export function parse<S extends z.ZodType>(schema: S, raw: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  const issues = issuesOf(dropSizeIssues(parsed.error))
  throw new InvalidInputError({ what, issues }, { errors: issues })
}

/** Drops size issues of values that have the wrong type, because zod reports both. */
function dropSizeIssues({ issues }: z.ZodError): Pick<z.ZodError, 'issues'> {
  const placeOf = ({ path }: z.core.$ZodIssue) => path.join('.')
  const wrong = new Set(issues.filter(({ code }) => code === 'invalid_type').map(placeOf))
  return { issues: issues.filter(issue => issue.code === 'invalid_type' || !wrong.has(placeOf(issue))) }
}

/** Converts zod's issues to ours. @param prefix put before each path */
export function issuesOf(error: Pick<z.ZodError, 'issues'>, prefix = ''): Issue[] {
  return error.issues.flatMap(issue => {
    const path = [...(prefix ? [prefix] : []), ...issue.path.map(String)].join('.')
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map(key => ({ path: path ? `${path}.${key}` : key, message: 'is not a known field' }))
  })
}
