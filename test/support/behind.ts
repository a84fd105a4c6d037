import { join } from 'node:path'

/**
 * Changes what a project has stored behind its back, as a crash in the middle of something leaves it, or another process.
 * @returns how many rows it changed
 */
export async function behind(root: string, sql: string, ...params: unknown[]): Promise<number> {
  if (process.env.SVC_TEST_STORE === 'postgres') {
    const { change } = await import('./postgres.ts')
    return change(root, sql, params)
  }
  const { default: Sqlite } = await import('better-sqlite3')
  const database = new Sqlite(join(root, '.svc', 'svc.db'))
  try {
    return database.prepare(sql).run(...params).changes
  } finally {
    database.close()
  }
}
