import type { Connection, Medium } from '#platform/store/contract'

type Statement = ReturnType<Connection['prepare']>

/**
 * Point at which a process uses the database: a transaction begins or is about to end, or something is read outside
 * one.
 */
export type Point = 'begin' | 'statement' | 'commit' | 'read'

/** Statements with a fixed result: a database in memory cannot be damaged, and the check takes as long as a cycle. */
const SPARED: Record<string, string> = { 'PRAGMA quick_check(1)': "SELECT 'ok' AS quick_check" }
/** Statements that set up a connection. */
const SETTINGS = /^PRAGMA \w+ = /

/** Error that a killed process gets; nothing catches it. */
export class DeadProcess extends Error {}

export interface MediumParts {
  /** @returns the code with which SQLite fails here; undefined for no fault */
  fault(process: number, point: Point): string | undefined
  /** Called after a transaction was committed, with the tables that it wrote. */
  onCommit(process: number, tables: ReadonlySet<string>): void
  /** Returns the SQL that runs in place of a statement, to simulate broken builds. */
  rewrite?(sql: string): string
}

/**
 * One database in memory for all processes of a simulated run. No transaction spans a turn of the event loop, so one
 * connection serves all processes, and committed data is kept when one of them is killed.
 */
export class SharedDatabase {
  #parts: MediumParts = { fault: () => undefined, onCommit: () => {} }
  readonly #prepared = new Map<string, Statement>()
  #connection: Connection | undefined
  /** Current settings of the connection. */
  #settings: string | undefined
  /** Number of commits of each process: what SQLite gives the others as `data_version`. */
  readonly #commits = new Map<number, number>()
  #writing: number | undefined

  /** Prepares the database for a new run. */
  begin(parts: MediumParts): void {
    this.#parts = parts
    this.#commits.clear()
    this.#writing = undefined
  }

  /** The connection behind all others, for checks. @throws before a process has opened it */
  get connection(): Connection {
    if (!this.#connection) throw new Error('no process has opened the database yet')
    return this.#connection
  }

  /** Returns rows without faults. */
  all<R>(sql: string, params: readonly unknown[] = []): R[] {
    return this.#statement(sql).all(...params) as R[]
  }

  get<R>(sql: string, params: readonly unknown[] = []): R | undefined {
    return this.#statement(sql).get(...params) as R | undefined
  }

  run(sql: string, params: readonly unknown[] = []): void {
    this.#statement(sql).run(...params)
  }

  /** Returns the database as one process sees it. A dead process cannot reach it. */
  mediumFor(process: number, alive: () => boolean): Medium {
    return {
      connect: (_, open) => {
        this.#connection ??= open(':memory:')
        return this.#connectionFor(process, alive)
      },
    }
  }

  /** Removes a process: its open transaction is rolled back. */
  drop(process: number): void {
    if (this.#writing !== process) return
    this.#writing = undefined
    if (this.connection.inTransaction) this.connection.exec('ROLLBACK')
  }

  #connectionFor(process: number, alive: () => boolean): Connection {
    let open = true
    const shared = this
    const touched = new Set<string>()
    // A broken build may have no transactions.
    const transacts = this.#rewritten('BEGIN IMMEDIATE') !== ''
    const check = (point: Point) => {
      if (!alive()) throw new DeadProcess()
      const code = this.#parts.fault(process, point)
      // The process may have been killed meanwhile.
      if (!alive()) throw new DeadProcess()
      if (code !== undefined) throw Object.assign(new Error(`simulated ${code}`), { code })
    }
    const control: Record<string, () => { changes: number }> = {
      'BEGIN IMMEDIATE': () => {
        check('begin')
        if (transacts) this.#statement('BEGIN IMMEDIATE').run()
        this.#writing = process
        touched.clear()
        return { changes: 0 }
      },
      COMMIT: () => {
        check('commit')
        if (transacts) this.#statement('COMMIT').run()
        this.#writing = undefined
        this.#commits.set(process, (this.#commits.get(process) ?? 0) + 1)
        this.#parts.onCommit(process, touched)
        if (!alive()) throw new DeadProcess()
        return { changes: 0 }
      },
      ROLLBACK: () => {
        this.#writing = undefined
        if (transacts && alive() && this.connection.inTransaction) this.connection.exec('ROLLBACK')
        return { changes: 0 }
      },
    }
    const wrap = (sql: string): Statement => {
      const special = control[sql]
      if (special) return { run: special, all: () => [], get: () => undefined, columns: () => [] }
      if (sql === 'PRAGMA data_version') {
        const version = () => ({ data_version: this.#commitsOfOthers(process) })
        return { run: () => ({ changes: 0 }), all: () => [version()], get: version, columns: () => [] }
      }
      const statement = this.#statement(SPARED[sql] ?? this.#rewritten(sql))
      const tables = tablesIn(sql)
      const before = () => {
        check(this.#writing === process ? 'statement' : 'read')
        for (const table of tables) touched.add(table)
      }
      return {
        run: (...params) => {
          before()
          return statement.run(...params)
        },
        all: (...params) => {
          before()
          return statement.all(...params)
        },
        get: (...params) => {
          before()
          return statement.get(...params)
        },
        columns: () => statement.columns(),
      }
    }
    return {
      prepare: wrap,
      exec: sql => this.#script(sql),
      pragma: (sql, options) => shared.connection.pragma(sql, options),
      serialize: () => shared.connection.serialize(),
      close: () => {
        open = false
      },
      get inTransaction() {
        return shared.#writing === process
      },
      get open() {
        return open
      },
    }
  }

  /** Skips settings that are set already: to set them again makes SQLite compile every statement anew. */
  #script(sql: string): void {
    if (sql === this.#settings) return
    this.connection.exec(sql)
    if (SETTINGS.test(sql)) this.#settings = sql
  }

  #statement(sql: string): Statement {
    let statement = this.#prepared.get(sql)
    if (!statement) {
      statement = this.connection.prepare(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }

  #rewritten(sql: string): string {
    return this.#parts.rewrite?.(sql) ?? sql
  }

  #commitsOfOthers(process: number): number {
    let sum = 1
    for (const [other, commits] of this.#commits) if (other !== process) sum += commits
    return sum
  }
}

const known = new Map<string, readonly string[]>()

/** The tables that a statement writes to. */
function tablesIn(sql: string): readonly string[] {
  let tables = known.get(sql)
  if (!tables) {
    tables = [...sql.matchAll(/\b(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE(?!\s+SET)|DELETE\s+FROM)\s+(\w+)/gi)].map(
      each => each[1]!,
    )
    known.set(sql, tables)
  }
  return tables
}
