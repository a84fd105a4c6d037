import { crashPoint } from '#lib/crash-point'
import { MIGRATIONS } from '#migrations'
import type { Database } from './sqlite/database.ts'

/** `svc1` in ASCII: marks a file as a database of this program. */
export const APPLICATION_ID = 0x73766331

/**
 * The whole schema in a file that has none yet: all steps in one transaction, since there is nothing between them to keep.
 * Of several processes that do this at once, one makes it and the others find it made.
 */
export async function createSchema(database: Database): Promise<void> {
  await withoutForeignKeys(database, () => {
    if (database.version() > 0) return
    for (const { sql } of MIGRATIONS) database.script(sql)
    mark(database, MIGRATIONS.length)
    crashPoint('schema made')
  })
}

/** Runs `work` in one transaction. A foreign key can only be switched off outside of one; rebuilding a table needs it off. */
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
