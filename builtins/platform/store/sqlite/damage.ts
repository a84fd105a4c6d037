import { join } from 'node:path'
import { errorMessage } from '#kernel'
import { DatabaseUnusableError } from '../contract.ts'

export const FROM_BACKUP =
  'nothing was changed; stop the service, then put the last good backup in its place: svc db restore .svc/backups/<file>, or move it away to begin anew'

/** SQLite found something in the file that cannot be right. */
export function isDamage(code: string): boolean {
  return code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')
}

/** What the system says where no file can be: a directory is there, a link that leads nowhere, or what one may not write. */
const IN_THE_WAY = new Set(['EISDIR', 'ENOENT', 'ELOOP', 'EACCES', 'EPERM'])

/** Returns whether a path is that of a project's own database. */
export const isOwn = (file: string) => file.endsWith(join('.svc', 'svc.db'))

/** Remedy for any other file than a project's own database: there is nothing to restore over. */
export const OTHER = 'name another one'

/** Errors of SQLite and of the system about the file, as one that names it and the remedy; others as they are. */
export function unusable(file: string, error: unknown): unknown {
  const code = (error as { code?: string }).code ?? ''
  if (!code.startsWith('SQLITE_') && !IN_THE_WAY.has(code)) return error
  const [problem, remedy] = isDamage(code)
    ? [code === 'SQLITE_NOTADB' ? 'is not a database' : 'is damaged', isOwn(file) ? FROM_BACKUP : OTHER]
    : [`cannot be opened (${errorMessage(error)})`, 'check its permissions and the disk']
  return new DatabaseUnusableError({ file, problem, remedy }, { cause: error })
}
