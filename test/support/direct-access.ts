import { appendFile, mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import Sqlite from './sqlite.ts'

/** Whether test hosts store their data in PostgreSQL; see `testHost`. */
export const ON_POSTGRES = process.env.SVC_TEST_STORE === 'postgres'

/** A statement as modules write them, with its parameters. */
export type SqlStatement = readonly [sql: string, ...params: unknown[]]

/**
 * Changes a project's stored data directly, as a crash or another process might leave it.
 * @returns the number of changed rows
 */
export async function writeDirectly(root: string, ...statement: SqlStatement): Promise<number> {
  return (await allBehind(root, [statement])).changes
}

/** Runs several statements in one transaction. @returns the result of the last one */
export async function allBehind<R>(
  root: string,
  statements: readonly SqlStatement[],
): Promise<{ rows: R[]; changes: number }> {
  if (ON_POSTGRES)
    return (await import('./postgres.ts')).ask(root, statements) as Promise<{ rows: R[]; changes: number }>
  const database = new Sqlite(join(root, '.svc', 'svc.db'))
  try {
    database.pragma('foreign_keys = ON')
    return database.transaction(() => {
      let last: { rows: R[]; changes: number } = { rows: [], changes: 0 }
      for (const [sql, ...params] of statements) {
        const statement = database.prepare<unknown[], R>(sql)
        last = statement.reader
          ? { rows: statement.all(...params), changes: 0 }
          : { rows: [], changes: statement.run(...params).changes }
      }
      return last
    })()
  } finally {
    database.close()
  }
}

/** Returns the rows of a query, also while a process has the project open. */
export async function rowsBehind<R>(root: string, ...statement: SqlStatement): Promise<R[]> {
  return (await allBehind<R>(root, [statement])).rows
}

/** Returns the names in a folder of `.svc/`, which are rows when several machines share the project. */
export async function namesIn(root: string, folder: string): Promise<string[]> {
  if (!ON_POSTGRES) return readdir(join(root, '.svc', folder))
  const sql = 'SELECT path FROM svc_files WHERE substr(path, 1, ?) = ? ORDER BY path'
  const rows = await rowsBehind<{ path: string }>(root, sql, folder.length + 1, `${folder}/`)
  return [...new Set(rows.map(({ path }) => path.slice(folder.length + 1).split('/')[0]!))]
}

/** Returns the text of a file below `.svc/`. */
export async function textBehind(root: string, path: string): Promise<string> {
  if (!ON_POSTGRES) return readFile(join(root, '.svc', path), 'utf8')
  const [row] = await rowsBehind<{ body: string }>(root, 'SELECT body FROM svc_files WHERE path = ?', path)
  return row!.body
}

/** Sets the change time of all files in a folder of `.svc/` to 1970. */
export async function ageIn(root: string, folder: string): Promise<void> {
  if (ON_POSTGRES)
    return void (await writeDirectly(root, 'UPDATE svc_files SET at = 1 WHERE path LIKE ?', `${folder}/%`))
  for (const name of await namesIn(root, folder)) await utimes(join(root, '.svc', folder, name), 1, 1)
}

/** Writes or replaces a file below `.svc/`; a journal line by line. */
export async function writeBehind(root: string, path: string, text: string): Promise<void> {
  if (!ON_POSTGRES) {
    const file = join(root, '.svc', path)
    await mkdir(dirname(file), { recursive: true })
    return writeFile(file, text)
  }
  const body = path.endsWith('.jsonl') ? '' : text
  await allBehind(root, [
    ['DELETE FROM svc_files WHERE path = ?', path],
    ['INSERT INTO svc_files (path, version, body, at) VALUES (?, 1, ?, 1)', path, body],
  ])
  const lines = body === '' ? text.trim().split('\n') : []
  for (let at = 0; at < lines.length; at += 500) await appendBehind(root, path, lines.slice(at, at + 500))
}

/** The lines of a journal. */
export async function linesBehind(root: string, path: string): Promise<string[]> {
  if (!ON_POSTGRES) return (await readFile(join(root, '.svc', path), 'utf8')).trim().split('\n')
  const rows = await rowsBehind<{ line: string }>(root, 'SELECT line FROM svc_lines WHERE path = ? ORDER BY n', path)
  return rows.map(({ line }) => line)
}

/** Appends lines to an existing journal, as another process would. */
export async function appendBehind(root: string, path: string, lines: readonly string[]): Promise<void> {
  if (!ON_POSTGRES) return appendFile(join(root, '.svc', path), lines.map(line => `${line}\n`).join(''))
  await allBehind(
    root,
    lines.map(line => ['INSERT INTO svc_lines (path, line) VALUES (?, ?)', path, line]),
  )
}
