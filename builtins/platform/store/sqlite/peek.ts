import type { Ports } from '#kernel'
import { lossOf } from './lost.ts'
import { withoutCollection } from './uncollected.ts'

/**
 * Reads a project's database as fast as possible, for shell completion. It migrates no schema, and returns nothing when
 * the database cannot be read now.
 */
export async function peek(file: string, sql: string, ports: Pick<Ports, 'files'>): Promise<Record<string, unknown>[]> {
  try {
    // SQLite would discard the log of a database whose main file is lost.
    if (await lossOf(file, ports)) return []
    const { default: Sqlite } = await import('better-sqlite3')
    const database = new (withoutCollection(Sqlite))(file, { readonly: true, fileMustExist: true, timeout: 0 })
    try {
      return database.prepare<[], Record<string, unknown>>(sql).all()
    } finally {
      database.close()
    }
  } catch {
    return []
  }
}
