import type { Ports } from '#kernel'
import { lossOf } from './lost.ts'
import { withoutCollection } from './uncollected.ts'

/**
 * Reads a project's database past everything that costs time, for a shell that asks what may come at each Tab: no schema is
 * brought up to date, and what cannot be read now gives nothing.
 */
export async function peek(file: string, sql: string, ports: Pick<Ports, 'files'>): Promise<Record<string, unknown>[]> {
  try {
    // SQLite would throw away the log of one whose main file is lost.
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
