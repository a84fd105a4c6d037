import type { Clock } from '#kernel'
import { MIGRATIONS } from '#migrations'
import { DatabaseUnusableError, type Medium } from '../contract.ts'
import { APPLICATION_ID } from '../schema.ts'
import { isOwn, OTHER } from './damage.ts'
import { Database } from './database.ts'
import { engine, notLoaded } from './engine.ts'

/**
 * Opens a connection without checking the file. Errors name `shownAs`: for a copy, the original file. @throws
 * SqliteError
 */
export async function connect(
  file: string,
  clock: Clock,
  { readonly = false, medium, shownAs = file }: { readonly?: boolean; medium?: Medium | undefined; shownAs?: string },
): Promise<Database> {
  const Sqlite = await engine()
  const open = (place: string) => new Sqlite(place, { timeout: 0, readonly, fileMustExist: readonly })
  try {
    return new Database(shownAs, medium ? medium.connect(file, open) : open(file), clock)
  } catch (error) {
    throw notLoaded(error)
  }
}

/** Checks that the file is a database of this program. @throws DatabaseUnusableError when it belongs to another program or to a newer version */
export function identify(database: Database): { version: number; tables: number } {
  const { file } = database
  const version = database.version()
  const tables = database.get<{ n: number }>('SELECT count(*) AS n FROM sqlite_master')?.n ?? 0
  const id = database.pragma('application_id')
  if (id !== APPLICATION_ID && (tables > 0 || version > 0 || id !== 0)) {
    const remedy = isOwn(file) ? 'move it away, or set another project folder' : OTHER
    throw new DatabaseUnusableError({ file, problem: 'belongs to another program', remedy })
  }
  if (version > MIGRATIONS.length) {
    const problem = `has schema version ${version}, but this program supports only versions up to ${MIGRATIONS.length}`
    const back = ', or go back to the copy that the upgrade made: svc db restore .svc/backups/svc-v<version>-<time>.db'
    throw new DatabaseUnusableError({ file, problem, remedy: `update svc${isOwn(file) ? back : ''}` })
  }
  return { version, tables }
}
