import type { Connection, Medium } from '#platform/store/contract'

type Statement = ReturnType<Connection['prepare']>

/** What one process does with the database: a transaction begins or is about to end, or something is read outside of one. */
export type Point = 'begin' | 'statement' | 'commit' | 'read'

/** What is in this machine's own memory does not rot, and to look for that takes as long as a cycle. */
const SPARED: Record<string, string> = { 'PRAGMA quick_check(1)': "SELECT 'ok' AS quick_check" }
/** What sets a connection up. */
const SETTINGS = /^PRAGMA \w+ = /

/** The error that a killed process meets; nothing catches it. */
export class DeadProcess extends Error {}

export interface MediumParts {
  /** @returns the code with which SQLite fails here; undefined when all is well */
  fault(process: number, point: Point): string | undefined
  /** A transaction was written, with these tables. */
  onCommit(process: number, tables: ReadonlySet<string>): void
  /** The text that runs in place of a statement: broken builds are made so. */
  rewrite?(sql: string): string
}

/**
 * One database in memory for all processes of a simulated run. They take turns: none of their transactions spans a turn of the event
 * loop, so that one connection serves them all, and nothing is lost of what was committed when one of them is killed.
 */
export class SharedDatabase {
  #parts: MediumParts = { fault: () => undefined, onCommit: () => {} }
  readonly #prepared = new Map<string, Statement>()
  #connection: Connection | undefined
  /** The settings that its connection has. */
  #settings: string | undefined
  /** Number of commits of each process: what SQLite gives the others as `data_version`. */
  readonly #commits = new Map<number, number>()
  #writing: number | undefined

  /** Nothing was done with it yet. */
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

  /** Rows, past all faults. */
  all<R>(sql: string, params: readonly unknown[] = []): R[] {
    return this.#statement(sql).all(...params) as R[]
  }

  get<R>(sql: string, params: readonly unknown[] = []): R | undefined {
    return this.#statement(sql).get(...params) as R | undefined
  }

  run(sql: string, params: readonly unknown[] = []): void {
    this.#statement(sql).run(...params)
  }

  /** The way to it for one process. A dead one gets through to nothing. */
  mediumFor(process: number, alive: () => boolean): Medium {
    return {
      connect: (_, open) => {
        this.#connection ??= open(':memory:')
        return this.#connectionFor(process, alive)
      },
    }
  }

  /** A process is gone: what it was in the middle of is rolled back. */
  drop(process: number): void {
    if (this.#writing !== process) return
    this.#writing = undefined
    if (this.connection.inTransaction) this.connection.exec('ROLLBACK')
  }

  #connectionFor(process: number, alive: () => boolean): Connection {
    let open = true
    const shared = this
    const touched = new Set<string>()
    // A broken build may have lost its transactions.
    const transacts = this.#rewritten('BEGIN IMMEDIATE') !== ''
    const check = (point: Point) => {
      if (!alive()) throw new DeadProcess()
      const code = this.#parts.fault(process, point)
      // It may have been killed on the way.
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

  /** Each process sets its connection up as the others do; to set it anew has SQLite compile every statement anew. */
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
