import { createHash, type Hash } from 'node:crypto'
import { crashPoint } from '#lib/crash-point'
import type { DatabaseImage, Statement } from '#platform/store/contract'
import { MoveFailedError } from '../contract.ts'
import type { Result } from '../postgres/connection.ts'
import { literal } from '../postgres/dialect.ts'

/** Number of rows read at once, and maximum number of characters sent at once. */
const ROWS = 500
const MESSAGE = 1_000_000
/** Table of the target with the progress of a copy, written together with the rows; dropped after all was compared. */
export const PROGRESS = 'svc_move'
/** Tables that are not copied: those of one engine alone, as a list in SQL. */
const OWN = ['agent_totals', PROGRESS, 'svc_files', 'svc_lines', 'svc_schema', 'svc_writes', 'svc_nodes']
  .concat('svc_recorder', 'svc_told')
  .map(literal)
  .join(', ')
const DONE = 'done'
/** Tables whose rows are read in the order of insertion. */
const NUMBERED = ['agents', 'spend']

type Row = Record<string, unknown>
export type Query = (text: string) => Promise<Result>

export interface Table {
  name: string
  columns: readonly string[]
  key: readonly string[]
}

export interface Source {
  /** Returns the next rows after this one, in the order of their key. */
  rows(table: Table, after: Row | undefined): Promise<Row[]>
}

/** The target of a copy. */
export interface Target extends Source {
  /** Adds rows and records the progress, in one transaction. */
  add(table: Table, rows: readonly Row[], progress: string): Promise<void>
  /** Progress by table; empty for a new copy. */
  progress(): Promise<Map<string, string>>
  /** Empties these tables and their progress; the source of the copy stays recorded. */
  clear(tables: readonly Table[]): Promise<void>
}

export interface CopyCounts {
  tables: number
  rows: number
}

/**
 * Copies all tables, continuing an interrupted copy, and compares them row by row. If a table differs, because the
 * source changed meanwhile, everything is copied once more.
 * @throws MoveFailedError
 */
export async function copyTables(from: Source, to: Target, tables: readonly Table[]): Promise<CopyCounts> {
  for (let tries = 2; ; tries--) {
    const progress = await to.progress()
    for (const table of tables) await copyTable(from, to, table, progress.get(table.name))
    const { table, rows, arrived } = await comparison(from, to, tables)
    if (table === undefined) return { tables: tables.length, rows }
    if (tries === 1) throw new MoveFailedError({ table, rows, arrived })
    await to.clear(tables)
  }
}

async function copyTable(from: Source, to: Target, table: Table, progress: string | undefined): Promise<void> {
  if (progress === DONE) return
  let last = progress === undefined ? undefined : (JSON.parse(progress) as Row)
  for (;;) {
    const rows = await from.rows(table, last)
    last = rows.at(-1)
    const whole = rows.length < ROWS
    const key = last && Object.fromEntries(table.key.map(column => [column, last![column]]))
    await to.add(table, rows, whole ? DONE : JSON.stringify(key))
    crashPoint?.('rows copied', table.name)
    if (whole) return
  }
}

interface Comparison {
  /** The first table that differs. */
  table?: string
  rows: number
  arrived: number
}

async function comparison(from: Source, to: Source, tables: readonly Table[]): Promise<Comparison> {
  let all = 0
  for (const table of tables) {
    const [source, target] = [createHash('sha256'), createHash('sha256')]
    const [rows, arrived] = [await read(from, table, source), await read(to, table, target)]
    if (rows !== arrived || source.digest('hex') !== target.digest('hex')) return { table: table.name, rows, arrived }
    all += rows
  }
  return { rows: all, arrived: all }
}

async function read(end: Source, table: Table, hash: Hash): Promise<number> {
  let count = 0
  for (let last: Row | undefined; ; ) {
    const rows = await end.rows(table, last)
    for (const row of rows) hash.update(JSON.stringify(table.columns.map(column => row[column])))
    count += rows.length
    last = rows.at(-1)
    if (rows.length < ROWS) return count
  }
}

/** Returns all tables of modules and plugins, each after those that it refers to. @param all queries SQLite */
export async function tablesOf(all: Ask): Promise<Table[]> {
  const names = await all(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^' AND name NOT IN (${OWN}) ORDER BY name`,
  )
  const tables: Table[] = []
  const add = async (name: string, below: readonly string[]): Promise<void> => {
    if (below.includes(name) || tables.some(table => table.name === name.toLowerCase())) return
    const parents = await all('SELECT "table" AS name FROM pragma_foreign_key_list(?)', [name])
    for (const parent of parents) await add(String(parent.name), [...below, name])
    const columns = (await all('SELECT name, pk FROM pragma_table_info(?)', [name])) as { name: string; pk: number }[]
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    const numbered = NUMBERED.includes(name) ? ['rowid'] : []
    tables.push({
      // PostgreSQL has names without quotes in lower case.
      name: name.toLowerCase(),
      columns: [...columns.map(column => column.name.toLowerCase()), ...numbered],
      key: key.map(column => column.name.toLowerCase()),
    })
  }
  for (const { name } of names) await add(String(name), [])
  return tables
}

/** Returns the names of all tables of modules and plugins. */
export async function postgresTables(query: Query): Promise<string[]> {
  const { rows } = await query(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN (${OWN}) ORDER BY 1`,
  )
  return rows.map(({ name }) => String(name))
}

/** Tables for data that is in files while a project is on one machine. */
export const FILE_TABLES: readonly Table[] = [
  { name: 'svc_files', columns: ['path', 'version', 'body', 'at'], key: ['path'] },
  { name: 'svc_lines', columns: ['path', 'n', 'line'], key: ['path', 'n'] },
]
export const FILES_IN_SQLITE = [
  'CREATE TABLE IF NOT EXISTS svc_files (path TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL) STRICT',
  'CREATE TABLE IF NOT EXISTS svc_lines (path TEXT NOT NULL, n INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (path, n)) STRICT',
]

function selection({ name, columns, key }: Table, after: Row | undefined, value: (of: unknown) => string): string {
  const order = key.map(quoteColumn).join(', ')
  const where = after ? `WHERE (${order}) > (${key.map(column => value(after[column])).join(', ')})` : ''
  return `SELECT ${columns.map(column => `${quoteColumn(column)} AS "${column}"`).join(', ')} FROM "${name}" ${where} ORDER BY ${order} LIMIT ${ROWS}`
}

const quoteColumn = (column: string) => (column === 'rowid' ? column : `"${column}"`)

/** @param source identifies the database that is copied */
export function postgresEnd(query: Query, source: string): Target {
  const recordProgress = (name: string, progress: string) =>
    `INSERT INTO ${PROGRESS} (name, source, progress) VALUES (${[name, source, progress].map(literal).join(', ')})
     ON CONFLICT (name) DO UPDATE SET progress = excluded.progress`
  return {
    rows: async (table, after) => (await query(selection(table, after, literal))).rows,
    async add(table, rows, progress) {
      const { name, columns } = table
      const into = `INSERT INTO "${name}" (${columns.map(quoteColumn).join(', ')}) OVERRIDING SYSTEM VALUE VALUES `
      const messages: string[] = []
      let values: string[] = []
      let size = 0
      for (const row of rows) {
        const text = `(${columns.map(column => literal(row[column])).join(', ')})`
        if (size + text.length > MESSAGE && values.length > 0) {
          messages.push(into + values.join(', '))
          values = []
          size = 0
        }
        values.push(text)
        size += text.length
      }
      if (values.length > 0) messages.push(into + values.join(', '))
      await query([...messages, recordProgress(name, progress)].join(';\n'))
    },
    async progress() {
      const { rows } = await query(`SELECT name, progress FROM ${PROGRESS}`)
      return new Map(rows.map(({ name, progress }) => [String(name), String(progress)]))
    },
    clear: async tables => {
      await query(
        `TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(', ')}; DELETE FROM ${PROGRESS} WHERE name <> ''`,
      )
    },
  }
}

/** Sets sequences to continue after the copied rows. */
export async function numberOn(query: Query, tables: readonly Table[]): Promise<void> {
  for (const { name, columns } of tables) {
    for (const column of columns) {
      const sequence = `pg_get_serial_sequence(${literal(`"${name}"`)}, ${literal(column)})`
      const { rows } = await query(`SELECT ${sequence} AS sequence`)
      if (rows[0]?.sequence)
        await query(
          `SELECT setval(${sequence}, greatest(1, (SELECT coalesce(max(${quoteColumn(column)}), 1) FROM "${name}")))`,
        )
    }
  }
}

type Ask = (sql: string, params?: readonly unknown[]) => Promise<Row[]>

/** Returns an SQLite database as the source of a copy. */
export function sqliteSource(all: Ask): Source {
  return {
    rows: (table, after) =>
      all(
        selection(table, after, () => '?'),
        after ? table.key.map(column => after[column]) : [],
      ),
  }
}

/** @param source identifies the database that is copied */
export function sqliteEnd(image: DatabaseImage, source: string): Target {
  return {
    ...sqliteSource(async (sql, params) => image.all(sql, params)),
    async add({ name, columns }, rows, progress) {
      const sql = `INSERT INTO "${name}" (${columns.map(quoteColumn).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
      const statements: Statement[] = rows.map(row => ({ sql, params: columns.map(column => row[column]) }))
      await image.write([
        ...statements,
        {
          sql: `INSERT INTO ${PROGRESS} (name, source, progress) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET progress = excluded.progress`,
          params: [name, source, progress],
        },
      ])
    },
    async progress() {
      const rows = image.all<{ name: string; progress: string }>(`SELECT name, progress FROM ${PROGRESS}`)
      return new Map(rows.map(({ name, progress }) => [name, progress]))
    },
    clear: tables =>
      image.write([
        ...tables.toReversed().map(({ name }) => ({ sql: `DELETE FROM "${name}"` })),
        { sql: `DELETE FROM ${PROGRESS} WHERE name <> ''` },
      ]),
  }
}
