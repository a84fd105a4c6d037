import type pg from 'pg'

type Row = Record<string, unknown>

/** What a statement gave. */
export interface Answer {
  rows: Row[]
  /** How many it gave or changed. */
  rowCount: number
}

/** One statement of a message. */
export interface StatementMessage {
  /** Name of a prepared statement; empty for one that is sent once. */
  name: string
  /** To be read by the server first; undefined where it has read it already. */
  text: string | undefined
  /** Type numbers of the server; 0 lets it infer the type. */
  types: readonly number[]
  values: (string | null)[]
}

/** How what the server gives is read. */
export interface Column {
  name: string
  read: (text: string) => unknown
}

type Reader = (type: number, format: 'text') => (text: string) => unknown
export type OnDone = (error: Error | undefined, answers: Answer[]) => void

/**
 * Statements that are sent together (PostgreSQL's documentation, 55.2.4 Pipelining): one round trip and one transaction, all
 * or nothing. Prepared statements are sent by name, parameters apart from the statement.
 */
export class Message {
  readonly #said: readonly StatementMessage[]
  readonly #reader: Reader
  /** Result columns of prepared statements, by name. */
  readonly #columns: Map<string, readonly Column[]>
  readonly #answers: Answer[] = []
  #current: readonly Column[] = []
  #rows: Row[] = []
  /** Set by the client that it is given to. */
  callback: OnDone | undefined

  constructor(said: readonly StatementMessage[], columns: Map<string, readonly Column[]>, reader: Reader) {
    this.#said = said
    this.#columns = columns
    this.#reader = reader
    this.#begin()
  }

  submit(connection: pg.Connection): void {
    connection.stream.cork()
    for (const { name, text, types, values } of this.#said) {
      // The numbers of types are what it wants, whatever its typings say.
      if (text !== undefined) connection.parse({ name, text, types: types as unknown as string[] }, true)
      connection.bind({ statement: name, values }, true)
      // What the server has kept gives the same columns each time.
      if (text !== undefined) connection.describe({ type: 'P', name: '' }, true)
      connection.execute(null, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#current = fields.map(({ name, dataTypeID }) => ({ name, read: this.#reader(dataTypeID, 'text') }))
    const { name } = this.#said[this.#answers.length]!
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
    const next = this.#said[this.#answers.length]
    this.#current = (next && this.#columns.get(next.name)) ?? []
    this.#rows = []
  }
}
