import { crashPoint } from '#lib/crash-point'
import { MIGRATIONS } from '#migrations'
import type { Database } from './sqlite/database.ts'

/** `svc1` in ASCII: marks a file as a database of this program. */
export const APPLICATION_ID = 0x73766331

/**
 * Creates the whole schema in an empty file: all steps in one transaction, since no data exists in between. If several
 * processes do this at once, one creates it and the others find it present.
 */
export async function createSchema(database: Database): Promise<void> {
  await withoutForeignKeys(database, () => {
    if (database.version() > 0) return
    for (const { sql } of MIGRATIONS) database.script(sql)
    mark(database, MIGRATIONS.length)
    crashPoint?.('schema made')
  })
}

/**
 * Runs `work` in one transaction without foreign keys, as a table rebuild requires. They can only be switched off
 * outside a transaction.
 */
export async function withoutForeignKeys(database: Database, work: () => void): Promise<void> {
  await database.waiting(() => database.script('PRAGMA foreign_keys = OFF'))
  try {
    await database.write(work)
  } finally {
    database.script('PRAGMA foreign_keys = ON')
  }
}

/** Writes the application id and the version of the schema into the file's header. */
export function mark(database: Database, version: number): void {
  database.script(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`)
}
