import { createHash, type Hash } from 'node:crypto'
import { join, relative } from 'node:path'
import type { PluginHandle } from '#kernel'
import { type EngineParts, Store } from '../store/contract.ts'
import { Connections, type Result } from './connection.ts'
import { MoveFailedError, TargetInUseError } from './contract.ts'
import { literal } from './dialect.ts'
import { migrate } from './schema.ts'

/** Rows that are read at a time, and characters that are sent at a time. */
const ROWS = 500
const MESSAGE = 1_000_000
/** Folders of `.svc/` whose files are rows where several machines share them. */
const FOLDERS = ['memory', 'agent_memory', 'checkpoints']

type Row = Record<string, unknown>
type Query = (text: string) => Promise<Result>

export interface Moved {
  tables: number
  rows: number
  files: number
}

interface Table {
  name: string
  columns: readonly string[]
  key: readonly string[]
}

/**
 * Copies a project's file into a database of several machines, all of it or nothing: what was written is read again there and
 * compared, row by row, before it counts. The file stays as it is.
 * @throws TargetInUseError, MoveFailedError, DatabaseUnreachableError
 */
export async function move(svc: PluginHandle, to: string, schema: EngineParts['schema']): Promise<Moved> {
  const connections = await Connections.open(to, svc.clock)
  try {
    await migrate(connections, schema)
    const store = svc.use(Store)
    const tables = await tablesOf(store)
    const moved: Moved = { tables: tables.length, rows: 0, files: 0 }
    await connections.transaction(async query => {
      await query("SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = '1h'")
      const used = await query('SELECT 1 FROM agents UNION ALL SELECT 1 FROM events LIMIT 1')
      if (used.rowCount) throw new TargetInUseError({ at: connections.at })
      for (const { name } of tables.toReversed()) await query(`DELETE FROM ${name}`)
      for (const table of tables) moved.rows += await copied(store, query, table)
      moved.files = await filesMoved(svc, query)
      // Who was at work here is not at work there.
      await query(`UPDATE leases SET owner = NULL;
        DELETE FROM plugin_values WHERE namespace = 'daemon_processes' OR namespace = 'daemon' AND key = 'holder'`)
    })
    return moved
  } finally {
    await connections.close()
  }
}

/** Each after those that it refers to. */
async function tablesOf(store: Store): Promise<Table[]> {
  const names = await store.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
  )
  const tables: Table[] = []
  const add = async (name: string, below: readonly string[]): Promise<void> => {
    if (below.includes(name) || tables.some(table => table.name === name)) return
    const parents = await store.all<{ name: string }>('SELECT "table" AS name FROM pragma_foreign_key_list(?)', [name])
    for (const parent of parents) await add(parent.name, [...below, name])
    const columns = await store.all<{ name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)', [name])
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    tables.push({ name, columns: columns.map(column => column.name), key: key.map(column => column.name) })
  }
  for (const { name } of names) await add(name, [])
  return tables
}

/** Copies a table and compares the copy. @returns how many rows it has */
async function copied(store: Store, query: Query, table: Table): Promise<number> {
  const { name, columns, key } = table
  const [source, target] = [createHash('sha256'), createHash('sha256')]
  const list = columns.map(column => `"${column}"`).join(', ')
  const order = key.map(column => `"${column}"`).join(', ')
  const after = (last: Row | undefined, value: (of: unknown) => string) =>
    last ? `WHERE (${order}) > (${key.map(column => value(last[column])).join(', ')})` : ''
  const from = async (last: Row | undefined) =>
    store.all<Row>(
      `SELECT ${list} FROM ${name} ${after(last, () => '?')} ORDER BY ${order} LIMIT ${ROWS}`,
      last ? key.map(column => last[column]) : [],
    )
  let values: string[] = []
  let size = 0
  const send = async () => {
    if (values.length > 0) await query(`INSERT INTO ${name} (${list}) VALUES ${values.join(', ')}`)
    values = []
    size = 0
  }
  const rows = await each(from, table, source, async row => {
    const text = `(${columns.map(column => literal(row[column])).join(', ')})`
    size += text.length
    values.push(text)
    if (size > MESSAGE) await send()
  })
  await send()
  const there = async (last: Row | undefined) =>
    (await query(`SELECT ${list} FROM ${name} ${after(last, literal)} ORDER BY ${order} LIMIT ${ROWS}`)).rows
  const arrived = await each(there, table, target, async () => {})
  if (rows !== arrived || source.digest('hex') !== target.digest('hex'))
    throw new MoveFailedError({ table: name, rows, arrived })
  await counted(query, table)
  return rows
}

/** What comes next is numbered on from what is there. */
async function counted(query: Query, { name, key: [first, ...more] }: Table): Promise<void> {
  const sequence = `pg_get_serial_sequence(${literal(name)}, ${literal(first)})`
  const { rows } = await query(`SELECT ${sequence} AS sequence`)
  if (more.length > 0 || !rows[0]?.sequence) return
  await query(`SELECT setval(${sequence}, greatest(1, (SELECT coalesce(max("${first}"), 1) FROM ${name})))`)
}

async function each(
  from: (last: Row | undefined) => Promise<Row[]>,
  { columns }: Table,
  hash: Hash,
  take: (row: Row) => Promise<void>,
): Promise<number> {
  let count = 0
  for (let last: Row | undefined; ; ) {
    const rows = await from(last)
    for (const row of rows) {
      hash.update(JSON.stringify(columns.map(column => plain(row[column]))))
      await take(row)
    }
    count += rows.length
    last = rows.at(-1)
    if (rows.length < ROWS) return count
  }
}

/** As PostgreSQL holds it. */
function plain(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '') : value
}

async function filesMoved({ ports, project, clock }: PluginHandle, query: Query): Promise<number> {
  let moved = 0
  for (const folder of FOLDERS) {
    const entries = await ports.files
      .readdir(join(project.svc, folder), { recursive: true, withFileTypes: true })
      .catch(() => [])
    for (const entry of entries) {
      if (!entry.isFile() || !/\.jsonl?$/.test(entry.name)) continue
      const file = join(entry.parentPath, entry.name)
      const path = literal(relative(project.svc, file))
      const text = await ports.files.readFile(file, 'utf8')
      const lines = entry.name.endsWith('.jsonl') ? text.split('\n').filter(isJson) : undefined
      await query(
        `INSERT INTO svc_files (path, version, body, at) VALUES (${path}, 1, ${literal(lines ? '' : text)}, ${clock.ms()})`,
      )
      for (const line of lines ?? [])
        await query(`INSERT INTO svc_lines (path, line) VALUES (${path}, ${literal(line)})`)
      moved++
    }
  }
  return moved
}

/** A torn line says nothing. */
function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
