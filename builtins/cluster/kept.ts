import { inFull, literal, type Template, templateFor, unlimited } from './dialect.ts'

/** One that was asked so often in this process is worth its place in the memory of the server. */
const WORTH = 3

/** What is the same each time that a statement is asked: the words between its parameters, and the types of those. */
interface Kind {
  /** By which the server knows it. */
  name: string
  prepare: string
  asked: number
  /** The server cannot tell what its parameters are without seeing them. */
  refused: boolean
}

const kinds = new WeakMap<Template, Map<string, Kind>>()
let count = 0

/**
 * A statement with its parameters, which the server need not read and plan anew each time: it means the same whether it is said
 * in full or by the name that it was given. Its parameters have the types that they have as words.
 */
export class Asked {
  readonly #template: Template
  readonly #params: readonly unknown[]
  readonly #kind: Kind

  constructor(sql: string, params: readonly unknown[] = []) {
    this.#template = templateFor(sql, params)
    this.#params = params
    this.#kind = kindOf(this.#template, params)
    this.#kind.asked++
  }

  get text(): string {
    return inFull(this.#template, this.#params)
  }

  get name(): string {
    return this.#kind.name
  }

  get worth(): boolean {
    return this.#kind.asked >= WORTH && !this.#kind.refused
  }

  /** Has the server keep it by its name. */
  get prepare(): string {
    return this.#kind.prepare
  }

  /** Asks for it by its name. */
  get execute(): string {
    const values = this.#params.map((value, n) => (unlimited(this.#template, n, value) ? 'NULL' : literal(value)))
    return `EXECUTE ${this.name}${values.length > 0 ? `(${values.join(', ')})` : ''}`
  }

  /** From now on it is said in full. */
  refuse(): void {
    this.#kind.refused = true
  }
}

function kindOf(template: Template, params: readonly unknown[]): Kind {
  const types = params.map(typeOf).join(', ')
  const known = kinds.get(template) ?? new Map<string, Kind>()
  kinds.set(template, known)
  const found = known.get(types)
  if (found) return found
  const name = `svc_${++count}`
  const body = template.reduce((text, words, n) => `${text}$${n}${words}`)
  const kind = { name, prepare: `PREPARE ${name}${types && ` (${types})`} AS ${body}`, asked: 0, refused: false }
  known.set(types, kind)
  return kind
}

/** What PostgreSQL takes it for, as `literal` writes it. */
function typeOf(value: unknown): string {
  if (typeof value === 'boolean') return 'INTEGER'
  if (typeof value === 'bigint') return 'BIGINT'
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'unknown'
  if (!Number.isInteger(value)) return 'NUMERIC'
  return Math.abs(value) < 2 ** 31 ? 'INTEGER' : 'BIGINT'
}
