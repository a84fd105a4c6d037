import { join } from 'node:path'
import { Umzug } from 'umzug'
import type { Ports } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { MIGRATIONS } from '#migrations'
import { FileExistsError } from './contract.ts'
import { mark, withoutForeignKeys } from './schema.ts'
import type { Database } from './sqlite/database.ts'
import { keepCopy } from './sqlite/files.ts'
import { makeShrinkable } from './sqlite/shrink.ts'

/**
 * Migrates an older schema in place, one transaction per step. Several processes may do this at once: each step checks
 * the version again under the write lock. The file is first copied to `backups` and the copy is checked; without a
 * valid copy, nothing is changed.
 */
export async function migrate(database: Database, ports: Ports, backups: string): Promise<void> {
  const copy = join(backups, `svc-v${database.version()}-${ports.clock.ms()}-${process.pid}.db`)
  const into = (beside: string) => database.waiting(() => void database.run({ sql: 'VACUUM INTO ?', params: [beside] }))
  await keepCopy(database.file, copy, into, ports).catch(error => {
    // Another start in this process made the same backup at the same moment.
    if (!(error instanceof FileExistsError)) throw error
  })
  crashPoint('migration begins')
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
}

async function step(database: Database, sql: string, version: number): Promise<void> {
  await withoutForeignKeys(database, () => {
    if (database.version() >= version) return
    database.script(sql)
    crashPoint('migration step made')
    const broken = database.all<{ table: string }>('PRAGMA foreign_key_check')
    if (broken[0]) throw new Error(`migration ${version} would leave rows of ${broken[0].table} without their agent`)
    mark(database, version)
  })
  crashPoint('migration step written')
}
