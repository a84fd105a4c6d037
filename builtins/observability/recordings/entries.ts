import { ModelError } from '#core/models/contract'
import { SvcError } from '#kernel'
import { DaemonFrozenError } from '#platform/daemon/contract'
import { CycleTimeoutError, FencedError, StoppingError } from '#platform/heartbeat/contract'
import { AgentBudgetExhaustedError, BudgetExhaustedError, UnknownPriceError } from '#safety/budget/contract'

/** What the file of a tape says of itself. */
export const TAPE_VERSION = 8
/** What `taken` calls the answers of models. */
export const MODEL = 'model'

/** What `taken` calls an answer of a plugin's contribution, as in `news: weather`. */
export const CONTRIBUTED = /^[a-z_]+: /

/**
 * One entry of a tape. Actors, texts and statements are numbers; what is long stands apart, once.
 * - `s` a text that later entries name by its number; `x` the same for long values
 * - `b` a cycle begins, or a task: actor, agent, kind, owner, epoch, cycle, task; `e` it has ended
 * - `d` what an actor drew: milliseconds and microseconds as differences, ids
 * - `t` an actor's write, and how that failed; up to the fifth version its reads too, and in any of them a read that failed
 * - `n` how many reads of the database an actor has had since the last `n` of it; told before the next write of anybody, and
 *   before what comes to it from outside
 * - `p` what happened right after one another: a number below zero is the actor that comes next (its complement); of others the
 *   third part is the number of a write's text, the same and one more says that the actor was given nothing, as `v` would, and two
 *   more that the third part is what `n` tells
 * - `q` the same in the fourth and fifth version: twice the number of a turn's text, or one more where it was given nothing
 * - `r` several turns of an actor, right after one another; in the second and third version
 * - `v` what an actor was given: what, the digest of what it had asked (a text up to the fourth version) or 0, the value or how
 *   that failed, and how many of the same name it had asked for earlier and still waited for, as of tools that run at once
 * - `f` one of an actor's timers was over: which, of those that it has set
 * - `a` an actor was told to stop
 * - `o` a transaction of somebody else: statements, each with its parameters
 * - `c` the configuration in force has changed
 * - `u` a plugin of a file came, or went: its name, and where a fork brought it, its file; not up to the seventh version
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
  | ['q', number[]]
  | ['r', number, number[]]
  | ['v', number, number, number | string, PackedValue, (ErrorRecord | null)?, number?]
  | ['f', number, number]
  | ['a', number, ErrorRecord]
  | ['o', [number, ...PackedValue[]][]]
  | ['c', Record<string, unknown>]
  | ['u', string, boolean, string?]

/**
 * A value as JSON holds it; `{ $x }` names a long one, `{ $b }` is bytes, `{ $n }` a whole number beyond doubles. What an actor
 * was given is `{ $j }`, or the JSON of it as a long text; in the first version always as a text.
 */
export type PackedValue = string | number | null | { $x: number } | { $b: string } | { $n: string } | { $j: unknown }

export interface ErrorRecord {
  name: string
  message: string
  [field: string]: unknown
}

/** Those that somebody tells from others by their class. */
const KNOWN = new Map<string, { prototype: object }>(
  [
    ...[FencedError, CycleTimeoutError, StoppingError, DaemonFrozenError],
    ...[BudgetExhaustedError, AgentBudgetExhaustedError, UnknownPriceError],
  ]
    .map(made => [made.code, made] as [string, { prototype: object }])
    .concat([['model_error', ModelError]]),
)

/** An error as it stands on a tape: its name, its message and its own fields. */
export function recordOf(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: '', message: String(error) }
  // What is not enumerable is left alone: to ask an error for its stack is to have one made.
  const fields = Object.entries(error).filter(([key]) => key !== 'stack' && key !== 'cause')
  return { ...Object.fromEntries(fields), name: error.name, message: error.message }
}

/** The error again, as far as anybody looks at it. */
export function errorOf({ name, message, ...fields }: ErrorRecord): Error {
  const { code, status } = fields as { code?: unknown; status?: unknown }
  const isOurs = typeof code === 'string' && typeof status === 'number'
  const error = isOurs ? new SvcError(message, { code, status }) : new Error(message)
  const known = isOurs ? KNOWN.get(code) : undefined
  if (known) Object.setPrototypeOf(error, known.prototype)
  return Object.assign(error, fields, { name })
}
