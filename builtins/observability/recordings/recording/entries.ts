import { GoalEndedError } from '#core/goals/contract'
import { ModelError } from '#core/models/contract'
import { SvcError } from '#kernel'
import { DaemonFrozenError } from '#platform/daemon/contract'
import { CycleTimeoutError, FencedError, StoppingError } from '#platform/heartbeat/contract'
import { AgentBudgetExhaustedError, BudgetExhaustedError, UnknownPriceError } from '#safety/budget/contract'

/** Format version of a recording's log. */
export const LOG_VERSION = 8
/** Name of the inputs that are model answers. */
export const MODEL = 'model'

/** Names of the inputs that are answers of plugin contributions, such as `news: weather`. */
export const CONTRIBUTED = /^[a-z_]+: /

/**
 * One entry of a recording. Contexts, strings and statements are numbers; long values are stored once, in entries of
 * their own.
 * - `s` a string that later entries name by its number; `x` the same for long values
 * - `b` a cycle or a task begins: context, agent, kind, owner, epoch, cycle, task; `e` it ended
 * - `d` nondeterministic values that a context read: milliseconds and microseconds as differences, ids
 * - `t` a write of a context, and its error if it failed; or a read that failed
 * - `n` the number of database reads of a context since its last `n`; written before the next write of any context and
 * before each input of this one
 * - `p` entries in direct succession. A negative number selects the context of those after it (bitwise complement).
 * Other numbers are a multiple of three: a write, by its string's number; plus one: an input of the context, as in `v`;
 * plus two: a number of reads, as in `n`
 * - `v` an input of a context: its name, the digest of the request or 0, the value or the error, and the number of
 * earlier requests of the same name that were still waiting, as for tools that run concurrently
 * - `f` a timer of a context fired: its index among the timers that the context has set
 * - `a` a context was asked to stop
 * - `o` a transaction of another process: statements, each with its parameters
 * - `c` the configuration in force changed
 * - `u` a plugin file was added or removed: its name, and its file if a fork added it
 */
export type Entry =
  | ['s', number, string]
  | ['x', number, string]
  | ['b', number, string, string, string, number, number, string?]
  | ['e', number]
  | ['d', number, number[], number[], string[]]
  | ['t', number, number, ErrorRecord?]
  | ['n', number, number]
  | ['p', number[]]
  | ['v', number, number, number, PackedValue, (ErrorRecord | null)?, number?]
  | ['f', number, number]
  | ['a', number, ErrorRecord]
  | ['o', [number, ...PackedValue[]][]]
  | ['c', Record<string, unknown>]
  | ['u', string, boolean, string?]

/**
 * A value in JSON. `{ $x }` refers to a long value, `{ $b }` holds bytes, `{ $n }` an integer too large for a double.
 * An input of a context is `{ $j }`, or its JSON as a long string.
 */
export type PackedValue = string | number | null | { $x: number } | { $b: string } | { $n: string } | { $j: unknown }

export interface ErrorRecord {
  name: string
  message: string
  [field: string]: unknown
}

/** Errors whose class matters to callers. */
const KNOWN = new Map<string, { prototype: object }>(
  [
    FencedError,
    CycleTimeoutError,
    StoppingError,
    DaemonFrozenError,
    GoalEndedError,
    BudgetExhaustedError,
    AgentBudgetExhaustedError,
    UnknownPriceError,
  ]
    .map(made => [made.code, made] as [string, { prototype: object }])
    .concat([['model_error', ModelError]]),
)

/** Returns an error in the form in which it is recorded: its name, its message and its own fields. */
export function recordOf(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: '', message: String(error) }
  // Non-enumerable fields are skipped: reading `stack` would generate the stack trace.
  const fields = Object.entries(error).filter(([key]) => key !== 'stack' && key !== 'cause')
  return { ...Object.fromEntries(fields), name: error.name, message: error.message }
}

/** Restores an error, with the fields and the class that callers check. */
export function errorOf({ name, message, ...fields }: ErrorRecord): Error {
  const { code, status } = fields as { code?: unknown; status?: unknown }
  const isOurs = typeof code === 'string' && typeof status === 'number'
  const error = isOurs ? new SvcError(message, { code, status }) : new Error(message)
  const known = isOurs ? KNOWN.get(code) : undefined
  if (known) Object.setPrototypeOf(error, known.prototype)
  return Object.assign(error, fields, { name })
}
