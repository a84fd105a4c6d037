import type pg from 'pg'

type Row = Record<string, unknown>

/** Result of one statement. */
export interface Answer {
  rows: Row[]
  /** Number of rows returned or changed. */
  rowCount: number
}

/** One statement of a message. */
export interface StatementMessage {
  /** Name of a prepared statement; empty for one that is sent once. */
  name: string
  /** Text that the server must parse first; undefined if the statement is prepared already. */
  text: string | undefined
  /** Type numbers of the server; 0 lets it infer the type. */
  types: readonly number[]
  values: (string | null)[]
}

/** A result column and the parser of its values. */
export interface Column {
  name: string
  read: (text: string) => unknown
}

type Reader = (type: number, format: 'text') => (text: string) => unknown
export type OnDone = (error: Error | undefined, answers: Answer[]) => void

/**
 * Statements that are sent together (PostgreSQL's documentation, 55.2.4 Pipelining), in one round trip and one
 * transaction. Prepared statements are sent by name, with separate parameters.
 */
export class Message {
  readonly #statements: readonly StatementMessage[]
  readonly #reader: Reader
  /** Result columns of prepared statements, by name. */
  readonly #columns: Map<string, readonly Column[]>
  readonly #answers: Answer[] = []
  #current: readonly Column[] = []
  #rows: Row[] = []
  /** Set by the client that runs the message. */
  callback: OnDone | undefined

  constructor(statements: readonly StatementMessage[], columns: Map<string, readonly Column[]>, reader: Reader) {
    this.#statements = statements
    this.#columns = columns
    this.#reader = reader
    this.#begin()
  }

  submit(connection: pg.Connection): void {
    connection.stream.cork()
    for (const { name, text, types, values } of this.#statements) {
      // The protocol needs type numbers, although the typings say strings.
      if (text !== undefined) connection.parse({ name, text, types: types as unknown as string[] }, true)
      connection.bind({ statement: name, values }, true)
      // A prepared statement always returns the same columns, so they are requested only once.
      if (text !== undefined) connection.describe({ type: 'P', name: '' }, true)
      connection.execute(null, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#current = fields.map(({ name, dataTypeID }) => ({ name, read: this.#reader(dataTypeID, 'text') }))
    const { name } = this.#statements[this.#answers.length]!
    if (name !== '') this.#columns.set(name, this.#current)
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Row = {}
    for (const [n, { name, read }] of this.#current.entries()) {
      const text = fields[n]
      row[name] = text == null ? null : read(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#answers.push({ rows: this.#rows, rowCount: Number(text.slice(text.lastIndexOf(' ') + 1)) || 0 })
    this.#begin()
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  handleError(error: Error): void {
    this.callback?.(error, [])
  }

  handleReadyForQuery(): void {
    this.callback?.(undefined, this.#answers)
  }

  #begin(): void {
    const next = this.#statements[this.#answers.length]
    this.#current = (next && this.#columns.get(next.name)) ?? []
    this.#rows = []
  }
}
