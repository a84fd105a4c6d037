import { CycleTimeoutError, FencedError, StoppingError, SvcError } from '#kernel'
import { AgentBudgetExhaustedError, BudgetExhaustedError } from '../budget/contract.ts'
import { DaemonFrozenError } from '../daemon/contract.ts'
import { ModelError } from '../models/contract.ts'

/** What the file of a tape says of itself. */
export const TAPE_VERSION = 1

/**
 * One entry of a tape. Actors, texts and statements are numbers; what is long stands apart, once.
 * - `s` a text that later entries name by its number; `x` the same for long values
 * - `b` a cycle begins: actor, agent, kind, owner, epoch, cycle; `e` it has ended
 * - `d` what an actor drew: milliseconds and microseconds as differences, ids
 * - `t` an actor's turn with the database, and how that failed
 * - `v` what an actor was given: what, the digest of what it had asked, the value or how that failed
 * - `a` an actor was told to stop
 * - `o` a transaction of somebody else: statements, each with its parameters
 * - `c` the configuration in force has changed
 */
export type Entry =
  | ['s', number, string]
  | ['x', number, string]
  | ['b', number, string, string, string, number, number]
  | ['e', number]
  | ['d', number, number[], number[], string[]]
  | ['t', number, number, ErrorRecord?]
  | ['v', number, number, string | 0, Packed, ErrorRecord?]
  | ['a', number, ErrorRecord]
  | ['o', [number, ...Packed[]][]]
  | ['c', Record<string, unknown>]

/** A value as JSON holds it; `{ $x }` names a long one, `{ $b }` is bytes, `{ $n }` a whole number beyond doubles. */
export type Packed = string | number | null | { $x: number } | { $b: string } | { $n: string }

export interface ErrorRecord {
  name: string
  message: string
  [field: string]: unknown
}

/** Those that somebody tells from others by their class. */
const KNOWN = new Map<string, { prototype: object }>(
  [FencedError, CycleTimeoutError, StoppingError, BudgetExhaustedError, AgentBudgetExhaustedError, DaemonFrozenError]
    .map(made => [made.code, made] as [string, { prototype: object }])
    .concat([['model_error', ModelError]]),
)

export function recordOf(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: '', message: String(error) }
  const { stack: _, cause: __, ...fields } = error as Error & Record<string, unknown>
  return { ...fields, name: error.name, message: error.message }
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
