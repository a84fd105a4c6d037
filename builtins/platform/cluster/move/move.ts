import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import type { PluginHandle } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { succeeds } from '#lib/succeeds'
import {
  type DatabaseImage,
  DatabaseImages,
  type DatabaseReport,
  type EngineParts,
  FileExistsError,
  Store,
} from '#platform/store/contract'
import { countMigration } from '#platform/store/statements'
import { TargetInUseError } from '../contract.ts'
import { Connections } from '../postgres/connection.ts'
import { literal, toPostgres } from '../postgres/dialect.ts'
import { migrate } from '../postgres/schema.ts'
import {
  type CopyCounts,
  copyTables,
  FILE_TABLES,
  FILES_IN_SQLITE,
  numberOn,
  PROGRESS,
  postgresEnd,
  postgresTables,
  type Query,
  sqliteEnd,
  sqliteSource,
  type Table,
  tablesOf,
} from './copy.ts'
import {
  COUNTS,
  type Counts,
  countsOf,
  requireKeys,
  requireKnown,
  requireNotAhead,
  runSteps,
  stepsBetween,
} from './plugin-tables.ts'
import { DROP_PACKED_FILES, FOLDERS, unpack } from './unpack.ts'

const PROGRESS_TABLE = `CREATE TABLE ${PROGRESS} (name TEXT PRIMARY KEY, source TEXT NOT NULL, progress TEXT NOT NULL)`
const USED = 'SELECT 1 FROM agents UNION ALL SELECT 1 FROM events LIMIT 1'
/** Statements that remove lease owners and daemons, which do not exist in the copy. */
const NOBODY_AT_WORK = [
  'UPDATE leases SET owner = NULL',
  "DELETE FROM plugin_values WHERE namespace = 'daemon_processes' OR namespace = 'daemon' AND key = 'holder'",
]

export interface MoveCounts extends CopyCounts {
  files: number
}

/**
 * Copies a project's file into a shared database, or continues an interrupted copy. Until all rows are compared, the
 * database cannot be used. The file is not changed.
 * @throws TargetInUseError, UncopyableTablesError, MoveFailedError, DatabaseUnreachableError
 */
export async function moveTo(svc: PluginHandle, to: string, schema: EngineParts['schema']): Promise<MoveCounts> {
  const all = (sql: string, params?: readonly unknown[]) => svc.use(Store).all<Record<string, unknown>>(sql, params)
  const tables = await tablesOf(all)
  const counts = countsOf(await all(COUNTS))
  requireKeys(tables)
  stepsBetween(svc, new Map(), counts)
  const connections = await Connections.open(to, svc.clock)
  try {
    await migrate(connections, schema, true)
    const query: Query = async text => (await connections.retry(() => connections.query(text))).at(-1)!
    const source = sourceOf(svc)
    await connections.retry(() =>
      connections.transaction(query => prepareTarget(svc, query, { source, at: connections.at, tables, counts })),
    )
    const copied = await copyTables(sqliteSource(all), postgresEnd(query, source), tables)
    let files = 0
    await connections.transaction(async query => {
      await patient(query)
      files = await pack(svc, query)
      await numberOn(query, tables)
      for (const statement of NOBODY_AT_WORK) await query(statement)
      await query(`DROP TABLE ${PROGRESS}`)
    })
    return { ...copied, files }
  } finally {
    await connections.close()
  }
}

/** Copies a shared database into a file, which replaces the project's own file; the replaced file is kept. */
export async function moveBack(
  svc: PluginHandle,
  from: string,
  keep: string,
): Promise<MoveCounts & { kept: string | null }> {
  const images = svc.use(DatabaseImages)
  const file = join(svc.project.svc, 'moving.db')
  const connections = await Connections.open(from, svc.clock)
  const query: Query = async text => (await connections.retry(() => connections.query(text))).at(-1)!
  try {
    const { copied, image } = await fill(svc, query, file, connections.at)
    const kept = `${keep}-files`
    const files = await unpack(svc, image, kept)
    await image.write([...DROP_PACKED_FILES, ...NOBODY_AT_WORK, `DROP TABLE ${PROGRESS}`].map(sql => ({ sql })))
    image.close()
    crashPoint?.('database filled')
    const put = await images.put(file, `${keep}.db`)
    await removeDatabase(svc, file)
    return { ...copied, tables: copied.tables - FILE_TABLES.length, files, kept: put.kept }
  } finally {
    await connections.close()
  }
}

/**
 * Writes a snapshot of the database to a file, while other processes may write.
 * @throws FileExistsError
 */
export async function backUp(svc: PluginHandle, from: string, target: string): Promise<DatabaseReport> {
  const { files, ids } = svc.ports
  const there = await succeeds(files.access(target))
  if (there) throw new FileExistsError({ file: target })
  const file = join(svc.project.svc, `${ids.make('.backup', 8)}.db`)
  const connections = await Connections.open(from, svc.clock)
  try {
    await connections.transaction(async query => {
      await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await patient(query)
      const { image } = await fill(svc, query, file, connections.at)
      await image.write([{ sql: `DROP TABLE ${PROGRESS}` }])
      image.close()
    })
    return await svc.use(DatabaseImages).copy(file, target)
  } finally {
    await removeDatabase(svc, file)
    await connections.close()
  }
}

/**
 * Replaces the contents of the database with those of a file, in one transaction, so that an interruption changes
 * nothing.
 */
export async function restore(svc: PluginHandle, to: string, file: string): Promise<CopyCounts> {
  const { ids } = svc.ports
  const images = svc.use(DatabaseImages)
  // A backup with an older schema is migrated in a copy, so the backup stays unchanged.
  const copy = join(svc.project.svc, `${ids.make('.restore', 8)}.db`)
  await images.copy(file, copy)
  const image = await images.open(copy)
  const connections = await Connections.open(to, svc.clock)
  try {
    const all = async (sql: string, params?: readonly unknown[]) => image.all<Record<string, unknown>>(sql, params)
    const had = countsOf((await connections.query(COUNTS)).at(-1)!.rows)
    const counts = await catchUp(svc, image, had)
    const own = await tablesOf(all)
    const shared = image.all("SELECT 1 FROM sqlite_master WHERE name = 'svc_files'").length > 0
    const tables = shared ? [...own, ...FILE_TABLES] : own
    requireKeys(own)
    let copied: CopyCounts | undefined
    await connections.transaction(async query => {
      await patient(query)
      await query(PROGRESS_TABLE)
      await runSteps(stepsBetween(svc, had, counts), sql => query(toPostgres(sql)))
      requireKnown(namesOf(own), await postgresTables(query))
      const target = postgresEnd(query, copy)
      await target.clear(tables)
      copied = await copyTables(sqliteSource(all), target, tables)
      await numberOn(query, tables)
      for (const statement of NOBODY_AT_WORK) await query(statement)
      await query(`DROP TABLE ${PROGRESS}`)
    })
    return copied!
  } finally {
    image.close()
    await connections.close()
    await removeDatabase(svc, copy)
  }
}

/**
 * Runs the migrations of plugins that a backup lacks and the database has, so that both have the same tables.
 * @returns the counts of the backup afterwards
 * @throws UncopyableTablesError
 */
async function catchUp(svc: PluginHandle, image: DatabaseImage, target: Counts): Promise<Counts> {
  const counts = countsOf(image.all(COUNTS))
  await runSteps(stepsBetween(svc, counts, target), (sql, { plugin, number: step }) =>
    image.write([countMigration({ plugin, step }), { sql }]),
  )
  return new Map([...counts, ...target].map(([plugin, count]) => [plugin, Math.max(count, counts.get(plugin) ?? 0)]))
}

/** Copies a database into a file, or continues an interrupted copy. @throws UncopyableTablesError */
async function fill(svc: PluginHandle, query: Query, file: string, source: string) {
  const images = svc.use(DatabaseImages)
  const counts = countsOf((await query(COUNTS)).rows)
  const steps = stepsBetween(svc, new Map(), counts)
  const hasProgress = (of: { all: (sql: string) => unknown[] }) =>
    of.all(`SELECT 1 FROM sqlite_master WHERE name = '${PROGRESS}'`).length > 0
  let image = await images.open(file)
  const begun = `SELECT 1 FROM ${PROGRESS} WHERE name = '' AND source = ? AND progress = ?`
  let ours = hasProgress(image) && image.all(begun, [source, countsJson(counts)]).length > 0
  if (!ours) {
    image.close()
    await removeDatabase(svc, file)
    image = await images.open(file)
  }
  try {
    if (!ours) {
      await image.write([PROGRESS_TABLE, ...FILES_IN_SQLITE].map(sql => ({ sql })))
      await runSteps(steps, sql => image.write([{ sql }]))
    }
    const own = await tablesOf(async (sql, params) => image.all(sql, params))
    requireKeys(own)
    requireKnown(await postgresTables(query), namesOf(own))
    const tables = [...own, ...FILE_TABLES]
    const target = sqliteEnd(image, source)
    if (!ours) {
      await target.clear(tables)
      const mark = `INSERT INTO ${PROGRESS} (name, source, progress) VALUES ('', ?, ?)`
      await image.write([{ sql: mark, params: [source, countsJson(counts)] }])
      ours = true
    }
    return { image, copied: await copyTables(postgresEnd(query, source), target, tables) }
  } catch (error) {
    image.close()
    if (!ours) await removeDatabase(svc, file)
    throw error
  }
}

const namesOf = (tables: readonly Table[]) => tables.map(({ name }) => name)

/** Returns counts as the first row of a copy's progress has them, so that a copy with other tables does not continue. */
const countsJson = (counts: Counts) => JSON.stringify(Object.fromEntries(counts))

/**
 * Marks an empty database as the target of a copy, and makes the tables of plugins in it. If the plugins have made more
 * tables since an interrupted copy began, it begins again.
 * @throws TargetInUseError, UncopyableTablesError
 */
async function prepareTarget(
  svc: PluginHandle,
  query: Query,
  { source, at, tables, counts }: { source: string; at: string; tables: readonly Table[]; counts: Counts },
): Promise<void> {
  await patient(query)
  const { rows } = await query(`SELECT to_regclass('${PROGRESS}') AS found`)
  const begun = rows[0]?.found
    ? await query(`SELECT progress FROM ${PROGRESS} WHERE name = '' AND source = ${literal(source)}`)
    : undefined
  const used = begun ? begun.rowCount === 0 : (await query(USED)).rowCount
  if (used) throw new TargetInUseError({ at })
  const progress = String(begun?.rows[0]?.progress ?? '')
  if (progress === countsJson(counts)) return
  const had = begun
    ? new Map(Object.entries<number>(JSON.parse(progress || '{}')))
    : countsOf((await query(COUNTS)).rows)
  requireNotAhead(had, counts)
  await runSteps(stepsBetween(svc, had, counts), sql => query(toPostgres(sql)))
  requireKnown(namesOf(tables), await postgresTables(query))
  if (begun) await query(`DROP TABLE ${PROGRESS}`)
  const mark = ['', source, countsJson(counts)].map(literal).join(', ')
  await query(`${PROGRESS_TABLE}; INSERT INTO ${PROGRESS} (name, source, progress) VALUES (${mark})`)
  await postgresEnd(query, source).clear([...tables, ...FILE_TABLES])
}

function sourceOf({ project }: PluginHandle): string {
  return createHash('sha256').update(project.database).digest('hex')
}

/** Raises the session's time limits, which are meant for frequent statements. */
async function patient(query: Query): Promise<void> {
  await query("SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = '1h'")
}

async function removeDatabase({ ports }: PluginHandle, file: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await ports.files.rm(file + end, { force: true })
}

async function pack({ ports, project, clock }: PluginHandle, query: Query): Promise<number> {
  let packed = 0
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
      packed++
    }
  }
  return packed
}

/** Returns whether a line is JSON; incomplete lines are skipped. */
function isJson(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
