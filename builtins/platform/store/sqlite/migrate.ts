import { dirname, join } from 'node:path'
import { Umzug } from 'umzug'
import type { Log, Ports } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { lockFile } from '#lib/lock'
import { MIGRATIONS } from '#migrations'
import { DatabaseLockedError, MigrationBlockedError } from '../contract.ts'
import { mark, withoutForeignKeys } from '../schema.ts'
import type { Database } from './database.ts'
import { keepCopy } from './files.ts'
import { openParts } from './holders.ts'
import { makeShrinkable } from './shrink.ts'

/** Runs `work` while no other process migrates the database. @throws FileLockedError */
export async function withMigrationLock<T>(file: string, ports: Ports, work: () => Promise<T>): Promise<T> {
  const release = await lockFile(join(dirname(file), 'migration.lock'), ports)
  try {
    return await work()
  } finally {
    await release()
  }
}

/**
 * Migrates an older schema in place, one transaction per step, unless another process has the file open: it would
 * continue with the old schema. The file is first copied to `backups` and the copy is checked; without a valid copy,
 * nothing is changed.
 * @throws MigrationBlockedError
 */
export async function migrate(database: Database, ports: Ports, log?: Log): Promise<void> {
  await requireAlone(database, ports)
  const from = database.version()
  const backups = join(dirname(database.file), 'backups')
  const copy = join(backups, `svc-v${from}-${ports.clock.ms()}-${process.pid}.db`)
  const into = (beside: string) => database.waiting(() => void database.run({ sql: 'VACUUM INTO ?', params: [beside] }))
  await keepCopy(database.file, copy, into, ports)
  crashPoint?.('migration begins')
  const umzug = new Umzug({
    migrations: MIGRATIONS.map(({ name, sql }, index) => ({ name, up: () => step(database, sql, index + 1) })),
    storage: {
      executed: async () => MIGRATIONS.slice(0, database.version()).map(({ name }) => name),
      // The version is written inside the step's own transaction.
      logMigration: async () => {},
      unlogMigration: async () => {},
    },
    logger: undefined,
  })
  await umzug.up()
  await makeShrinkable(database)
  // A command such as svc status shows warnings only, and an older version refuses the migrated database.
  log?.warn(
    { from, to: MIGRATIONS.length, copy },
    `the database was migrated from schema version ${from} to ${MIGRATIONS.length}; ${copy} is a copy of it as it was before`,
  )
}

/** Waits up to 5 s for processes that end soon. SQLite leaves WAL mode only for the only connection. */
async function requireAlone(database: Database, ports: Ports): Promise<void> {
  const { file } = database
  try {
    await database.waiting(() => database.script('PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL'))
  } catch (error) {
    if (!(error instanceof DatabaseLockedError)) throw error
    const pid = (await openParts(file, ports)).find(part => part.pid !== process.pid)?.pid
    const by = pid === undefined ? 'another process' : `process ${pid}`
    throw new MigrationBlockedError({ version: database.version(), needed: MIGRATIONS.length, by }, { cause: error })
  }
}

async function step(database: Database, sql: string, version: number): Promise<void> {
  await withoutForeignKeys(database, () => {
    if (database.version() >= version) return
    database.script(sql)
    crashPoint?.('migration step made')
    const broken = database.all<{ table: string }>('PRAGMA foreign_key_check')
    if (broken[0]) throw new Error(`migration ${version} would leave rows of ${broken[0].table} without their agent`)
    mark(database, version)
  })
  crashPoint?.('migration step written')
}
