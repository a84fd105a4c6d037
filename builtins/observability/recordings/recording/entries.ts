import { ModelError } from '#core/models/contract'
import { SvcError } from '#kernel'
import { DaemonFrozenError } from '#platform/daemon/contract'
import { CycleTimeoutError, FencedError, StoppingError } from '#platform/heartbeat/contract'
import { AgentBudgetExhaustedError, BudgetExhaustedError, UnknownPriceError } from '#safety/budget/contract'

/** Format version of a recording's log. */
export const LOG_VERSION = 8
/** What `taken` calls the answers of models. */
export const MODEL = 'model'

/** What `taken` calls an answer of a plugin's contribution, as in `news: weather`. */
export const CONTRIBUTED = /^[a-z_]+: /

/**
 * One entry of a recording. Contexts, strings and statements are numbers; long values are stored once, in entries of
 * their own.
 * - `s` a string that later entries name by its number; `x` the same for long values
 * - `b` a cycle or a task begins: context, agent, kind, owner, epoch, cycle, task; `e` it ended
 * - `d` what a context read: milliseconds and microseconds as differences, ids
 * - `t` a write of a context, and how it failed; up to version 5 its reads too, and in any version a read that failed
 * - `n` the number of database reads of a context since its last `n`; written before the next write of any context and
 * before each input of this one
 * - `p` what happened in direct succession: a number below zero is the context that comes next (its complement); of
 * others the
 * third part is the number of a write's string; plus one: the context received an input, as `v` would say; plus two:
 * the
 * third part is what `n` says
 * - `q` the same in versions 4 and 5: twice the number of a turn's string, plus one where it received an input
 * - `r` several turns of a context in direct succession; in versions 2 and 3
 * - `v` an input of a context: what, the digest of the request (a string up to version 4) or 0, the value or the error,
 * and
 * the number of earlier requests of the same name that were still waiting, as of tools that run concurrently
 * - `f` a timer of a context fired: which, of those that it has set
 * - `a` a context was asked to stop
 * - `o` a transaction of another process: statements, each with its parameters
 * - `c` the configuration in force changed
 * - `u` a plugin file was added or removed: its name, and its file where a fork brought it; since version 8
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

/** Errors that callers tell apart by their class. */
const KNOWN = new Map<string, { prototype: object }>(
  [
    ...[FencedError, CycleTimeoutError, StoppingError, DaemonFrozenError],
    ...[BudgetExhaustedError, AgentBudgetExhaustedError, UnknownPriceError],
  ]
    .map(made => [made.code, made] as [string, { prototype: object }])
    .concat([['model_error', ModelError]]),
)

/** Returns an error in the form in which it is recorded: its name, its message and its own fields. */
export function recordOf(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: '', message: String(error) }
  // What is not enumerable is left alone: to ask an error for its stack is to have one made.
  const fields = Object.entries(error).filter(([key]) => key !== 'stack' && key !== 'cause')
  return { ...Object.fromEntries(fields), name: error.name, message: error.message }
}

/** Restores an error, as far as callers look at it. */
export function errorOf({ name, message, ...fields }: ErrorRecord): Error {
  const { code, status } = fields as { code?: unknown; status?: unknown }
  const isOurs = typeof code === 'string' && typeof status === 'number'
  const error = isOurs ? new SvcError(message, { code, status }) : new Error(message)
  const known = isOurs ? KNOWN.get(code) : undefined
  if (known) Object.setPrototypeOf(error, known.prototype)
  return Object.assign(error, fields, { name })
}
