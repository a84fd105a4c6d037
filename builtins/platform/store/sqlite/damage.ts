import { join } from 'node:path'
import { errorMessage } from '#kernel'
import { DatabaseUnusableError } from '../contract.ts'

export const FROM_BACKUP =
  'nothing was changed; stop the service, then restore the last good backup: svc db restore .svc/backups/<file>, or move the file away to start with an empty database'

/** Returns whether an SQLite error code means a damaged file. */
export function isDamage(code: string): boolean {
  return code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')
}

/** System error codes for paths that cannot be opened: a directory, a broken link, or missing permissions. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOENT', 'ELOOP', 'EACCES', 'EPERM'])

/** Returns whether a path is that of a project's own database. */
export const isOwn = (file: string) => file.endsWith(join('.svc', 'svc.db'))

/** Remedy for a file other than the project's own database, which has no backup to restore. */
export const OTHER = 'name another file'

/**
 * Converts errors of SQLite and the system about the file into one that names the file and the remedy; returns others
 * unchanged.
 */
export function unusable(file: string, error: unknown): unknown {
  const code = (error as { code?: string }).code ?? ''
  if (!code.startsWith('SQLITE_') && !IN_THE_WAY.has(code)) return error
  const [problem, remedy] = isDamage(code)
    ? [code === 'SQLITE_NOTADB' ? 'is not a database' : 'is damaged', isOwn(file) ? FROM_BACKUP : OTHER]
    : [`cannot be opened (${errorMessage(error)})`, 'check its permissions and the disk']
  return new DatabaseUnusableError({ file, problem, remedy }, { cause: error })
}
