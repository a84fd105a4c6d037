import { createHash } from 'node:crypto'
import { inlineParameters, isUnlimited, storable, type Template, templateFor } from './dialect.ts'
import type { StatementMessage } from './message.ts'

/** Number of uses in this process from which on a statement is prepared. */
const WORTH = 3

/** PostgreSQL's type numbers for parameters. */
const TYPES = { integer: 23, bigint: 20, numeric: 1700, unknown: 0 }

/** Constant parts of a repeated statement: the text between its parameters, and their types. */
interface Kind {
  /** Name of the prepared statement on the server. */
  name: string
  text: string
  types: readonly number[]
  uses: number
  /** Whether the server could not infer the parameter types, so that the full text is sent. */
  refused: boolean
}

const kinds = new WeakMap<Template, Map<string, Kind>>()

/**
 * A statement with its parameters, sent in full or as a prepared statement with the same result. Parameters have the
 * types that they have in the full text.
 */
export class PreparedQuery {
  readonly #template: Template
  readonly #params: readonly unknown[]
  readonly #kind: Kind

  constructor(sql: string, params: readonly unknown[] = []) {
    this.#template = templateFor(sql, params)
    this.#params = params
    this.#kind = kindOf(this.#template, params)
    this.#kind.uses++
  }

  get name(): string {
    return this.#kind.name
  }

  get isWorthPreparing(): boolean {
    return this.#kind.uses >= WORTH && !this.#kind.refused
  }

  /** Returns the message with the full text. */
  get fullMessage(): StatementMessage {
    return unpreparedMessage(inlineParameters(this.#template, this.#params))
  }

  /** Returns the message by name. @param known whether the server has the statement already */
  statement(known: boolean): StatementMessage {
    const { name, text, types } = this.#kind
    const values = this.#params.map((value, n) => (isUnlimited(this.#template, n, value) ? null : boundOf(value)))
    return { name, text: known ? undefined : text, types, values }
  }

  /** Makes later messages use the full text. */
  refuse(): void {
    this.#kind.refused = true
  }
}

/** Returns a message for a statement that is not prepared. */
export function unpreparedMessage(text: string): StatementMessage {
  return { name: '', text, types: [], values: [] }
}

function kindOf(template: Template, params: readonly unknown[]): Kind {
  const types = params.map(typeOf)
  const key = types.join()
  const known = kinds.get(template) ?? new Map<string, Kind>()
  kinds.set(template, known)
  const found = known.get(key)
  if (found) return found
  const text = template.reduce((text, words, n) => `${text}$${n}${words}`)
  // The name is a hash of the statement, because a pooled connection may hold statements of another process.
  const name = `svc_${createHash('sha256').update(`${key} ${text}`).digest('base64url').slice(0, 16)}`
  const kind = { name, text, types, uses: 0, refused: false }
  known.set(key, kind)
  return kind
}

/** Returns the type that PostgreSQL infers for a value as `literal` writes it. */
function typeOf(value: unknown): number {
  if (typeof value === 'boolean') return TYPES.integer
  if (typeof value === 'bigint') return TYPES.bigint
  if (typeof value !== 'number' || !Number.isFinite(value)) return TYPES.unknown
  if (!Number.isInteger(value)) return TYPES.numeric
  return Math.abs(value) < 2 ** 31 ? TYPES.integer : TYPES.bigint
}

/** Returns a value as `literal` writes it, without quotes and brackets. */
function boundOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return storable(value)
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : null
  throw new TypeError(`a ${typeof value} cannot be stored`)
}
