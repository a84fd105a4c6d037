import { z } from 'zod'
import { type ErrorClass, InvalidInputError, type Issue } from './errors.ts'
import { checkFaces, claimsOf } from './faces.ts'
import { point } from './points.ts'

export interface HttpFace {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** With `{name}` for path parameters. Input fields that are not in the path come from the query (GET, DELETE) or the body. */
  path: string
  /** Status of success; 200 unless told. */
  status?: 200 | 201 | 202 | 204
  /** The status of success, where it depends on the output. */
  statusOf?: (output: never) => number
  /** What `statusOf` may give besides `status`, each with what it means. */
  statuses?: Readonly<Record<number, string>>
  /** Takes an `Idempotency-Key`: the same key again is the same request again. */
  idempotent?: boolean
  /** The URL of what was created, for `Location`. */
  location?: (output: never) => string
  /** Answers without a key, also when one is set. */
  open?: boolean
  /** The media type of an answer that is a string; JSON unless told. */
  produces?: string
  /** Further headers of success, of what was asked for. */
  headers?: (input: never) => Readonly<Record<string, string>>
  /** Answered only by a process in which the heartbeat runs, though other faces run it anywhere. */
  daemon?: boolean
}

export interface CliFace {
  /** Words and arguments: `nudge <agent> <message>`; `[x]` is optional, `<x...>` takes the rest of the line. Other inputs become `--options`. */
  usage: string
  /** Values that these words fix, for words that share an operation. */
  preset?: Record<string, unknown>
  /** Values of options that are not given, where they are others than over HTTP. */
  defaults?: Record<string, unknown>
  /** Options that name a JSON file which holds the value of a field: `{ response_schema: 'schema' }` is `--schema <file>`. */
  files?: Record<string, string>
  /** Short names of options: `{ limit: 'n' }`. */
  short?: Record<string, string>
}

/** Who asks, and how to stop or follow. */
export interface OperationCall {
  tenant: string
  signal: AbortSignal
  face: 'rest' | 'cli' | 'mcp' | 'code'
  /** It came over the daemon's own socket, as what the command line asks of a running daemon does. */
  local?: boolean
  request_id: string
  progress(message: string): void
  /** The same key again is the same request again: its answer is repeated, its work is not. */
  idempotency_key?: string
  /** W3C trace context: of what this is a part, as in `00-<trace>-<span>-01`. */
  traceparent?: string
  /** The id of the last event that a client has seen of a stream. */
  last_event_id?: string
}

/** What is a `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header); anything else is passed over. */
export function traceparentOf(given: unknown): string | undefined {
  return typeof given === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(given) ? given : undefined
}

export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> {
  /** `room.verb`, as in `agents.spawn`. */
  name: string
  summary: string
  description?: string
  input: I
  output: O
  /** What a stream may send, by the name of the event; its `output` is then one message. */
  events?: Readonly<Record<string, z.ZodType>>
  http?: HttpFace
  cli?: CliFace | CliFace[]
  mcp?: boolean
  errors?: readonly ErrorClass<never>[]
  /** `store`: any process that has the database. `daemon`: only where the heartbeat runs. */
  reach?: 'store' | 'daemon'
  /** For people on a terminal; without it the command line draws a table of the output. */
  render?: (output: z.output<O>) => string
  /** The exit code of its command, where an answer may be one that a script should stop at; 0 without it. */
  exit?: (output: z.output<O>) => number
  /** An output that is frozen is one that stays as it is, all of it: given again, it is not checked and written again. */
  run(input: z.output<I>, call: OperationCall): z.input<O> | Promise<z.input<O>>
  /** How many there are without `limit` and `offset`, for an operation that lists. */
  count?(input: z.output<I>, call: OperationCall): number | Promise<number>
}

/** Keeps the types of one operation together. */
export function operation<I extends z.ZodObject, O extends z.ZodType>(definition: Operation<I, O>): Operation {
  return definition as unknown as Operation
}

export const Operations = point<Operation>('operations', {
  key: definition => definition.name,
  shape: { parse: checkOperation },
  claims: claimsOf,
})

/** @throws TypeError that says what would be right */
function checkOperation(definition: Operation): void {
  const { name, input, output, run } = definition
  if (typeof name !== 'string' || name === '') throw new TypeError('an operation has a name, such as "weather.today"')
  const whole = input instanceof z.ZodObject && output instanceof z.ZodType && typeof run === 'function'
  if (!whole)
    throw new TypeError(`the operation "${name}" needs input: z.object({ … }), output: a zod schema, and run()`)
  checkFaces(definition)
}

/**
 * The only way to run an operation: checks the input, runs, shapes the output by its schema.
 * @throws InvalidInputError naming each wrong field
 */
export async function invoke(definition: Operation, raw: unknown, call: OperationCall): Promise<unknown> {
  const input = parse(definition.input, raw, 'The request')
  return shaped(definition.output, await definition.run(input as never, call))
}

/** What is frozen and was checked once needs no second look. */
const checked = new WeakMap<object, { schema: z.ZodType; output: unknown }>()

function shaped(schema: z.ZodType, output: unknown): unknown {
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
  const issues = issuesOf(parsed.error)
  throw new InvalidInputError({ what, issues }, { errors: issues })
}

export function issuesOf(error: z.ZodError, prefix = ''): Issue[] {
  return error.issues.flatMap(issue => {
    const path = [...(prefix ? [prefix] : []), ...issue.path.map(String)].join('.')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key => ({ path: path ? `${path}.${key}` : key, message: 'is not a known field' }))
    }
    return [{ path, message: issue.message }]
  })
}

/** A list's window, as the specification has it. */
export const Page = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional().describe('At most this many (1 to 1000); all without it'),
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('Skip this many'),
})
