import type { Clock } from '#kernel'
import { DatabaseUnusableError, type Medium } from './contract.ts'
import { Database } from './database.ts'
import { engine, notLoaded } from './engine.ts'
import { APPLICATION_ID, MIGRATIONS } from './migrations/index.ts'

/** A connection as it is, with nothing looked at yet. @throws SqliteError */
export async function connect(
  file: string,
  clock: Clock,
  { readonly = false, medium }: { readonly?: boolean; medium?: Medium | undefined },
): Promise<Database> {
  const Sqlite = await engine()
  const open = (place: string) => new Sqlite(place, { timeout: 0, readonly, fileMustExist: readonly })
  try {
    return new Database(file, medium ? medium.connect(file, open) : open(file), clock)
  } catch (error) {
    throw notLoaded(error)
  }
}

/** Whose file this is. @throws DatabaseUnusableError when it belongs to another program or to a newer version of this one */
export function identify(database: Database): { version: number; tables: number } {
  const { file } = database
  const version = database.version()
  const tables = database.get<{ n: number }>('SELECT count(*) AS n FROM sqlite_master')?.n ?? 0
  const id = database.pragma('application_id')
  if (id !== APPLICATION_ID && (tables > 0 || version > 0 || id !== 0)) {
    const remedy = 'move it away, or set another project folder'
    throw new DatabaseUnusableError({ file, problem: 'belongs to another program', remedy })
  }
  if (version > MIGRATIONS.length) {
    const problem = `has schema version ${version}, and this program knows ${MIGRATIONS.length}`
    throw new DatabaseUnusableError({ file, problem, remedy: 'update svc' })
  }
  return { version, tables }
}
