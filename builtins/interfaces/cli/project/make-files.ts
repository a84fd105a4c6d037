import { errorMessage, type Ports, SvcError } from '#kernel'
import { CannotWriteError } from '../contract.ts'

type Files = Ports['files']

/** Makes a folder where it is missing. @returns whether it was */
export async function makeFolder(files: Files, path: string, mode?: number): Promise<boolean> {
  const given = mode === undefined ? {} : { mode }
  const made = await files.mkdir(path, { recursive: true, ...given }).catch(async error => {
    // On a read-only file system, a recursive `mkdir` fails with ENOENT; the plain call gives the real error.
    if (error.code === 'ENOENT') await files.mkdir(path, given)
    throw error
  })
  return made !== undefined
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

/**
 * Replaces the error of a folder that cannot be made, or of a read-only file system, by one that says what to do;
 * returns others unchanged.
 */
export function explainUnwritable(error: unknown): unknown {
  const { code, path, syscall } = error as NodeJS.ErrnoException
  const isUnwritable = code === 'EROFS' || (syscall === 'mkdir' && (code === 'EACCES' || code === 'EPERM'))
  return isUnwritable && path !== undefined && !(error instanceof SvcError) ? cannotWrite(path, error) : error
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
  if (code === 'ENOSPC') return { problem: 'the disk is full', remedy: 'free some space' }
  return { problem: errorMessage(error), remedy: 'choose another folder' }
}
