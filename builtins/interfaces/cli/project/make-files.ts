import { dirname } from 'node:path'
import { errorMessage, type Ports, SvcError } from '#kernel'
import { CannotWriteError, NotPermittedError } from '../contract.ts'

type Files = Ports['files']

/** Makes a folder where it is missing; its missing parents get the usual mode. @returns whether it was */
export async function makeFolder(files: Files, path: string, mode?: number): Promise<boolean> {
  const make = () =>
    files.mkdir(path, mode === undefined ? {} : { mode }).then(
      () => true,
      async error => {
        if (error.code === 'EEXIST' && (await files.stat(path)).isDirectory()) return false
        throw error
      },
    )
  // Not Node's recursive way: it does not end where the system allows no folder, as in /proc.
  return make().catch(async error => {
    if (error.code !== 'ENOENT' || dirname(path) === path) throw error
    await makeFolder(files, dirname(path))
    return make()
  })
}

/**
 * Creates a file where it is missing, and leaves an existing one unchanged.
 * @returns whether it was missing
 */
export async function makeFile(files: Files, path: string, text: string, mode = 0o644): Promise<boolean> {
  try {
    await files.writeFile(path, text, { flag: 'wx', mode })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns the error for a path that cannot be created, for people. */
export function cannotWrite(path: string, cause: unknown): Error {
  return new CannotWriteError({ path, ...explain(cause) }, { cause })
}

/** Error codes of a folder that the path or its permissions do not allow. */
const MKDIR_ERRORS = ['EACCES', 'EPERM', 'ENOENT', 'EEXIST', 'ENOTDIR']

/**
 * Replaces the error of a folder that cannot be made, of a read-only file system, or of another user's file, by one
 * that says what to do; returns others unchanged.
 */
export function explainFileError(error: unknown): unknown {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (error instanceof SvcError || path === undefined) return error
  const isUnwritable = code === 'EROFS' || (syscall === 'mkdir' && MKDIR_ERRORS.includes(code ?? ''))
  if (isUnwritable) return cannotWrite(path, error)
  return code === 'EACCES' ? new NotPermittedError({ path }, { cause: error }) : error
}

function explain(error: unknown): { problem: string; remedy: string } {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EPERM') {
    return {
      problem: 'this user may not write there',
      remedy: 'choose a folder that you own, or change its permissions',
    }
  }
  if (code === 'EROFS') {
    return {
      problem: 'the file system is read-only',
      remedy: 'remount it for writing, or choose a folder on another file system',
    }
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return { problem: 'a file exists where a folder is needed', remedy: 'move the file away, or choose another folder' }
  }
  if (code === 'ENOENT') return { problem: 'the system allows no folder there', remedy: 'choose another folder' }
  if (code === 'ENOSPC') return { problem: 'the disk is full', remedy: 'free some space' }
  return { problem: errorMessage(error), remedy: 'choose another folder' }
}
