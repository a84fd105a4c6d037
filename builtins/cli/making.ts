import { type Ports, sentenceOf } from '#kernel'
import { CannotWriteError } from './contract.ts'

type Files = Ports['files']

/** Makes a folder where it is missing. @returns whether it was */
export async function makeFolder(files: Files, path: string, mode?: number): Promise<boolean> {
  const made = await files.mkdir(path, { recursive: true, ...(mode === undefined ? {} : { mode }) })
  return made !== undefined
}

/** Makes a file where it is missing, and touches none that is there. @returns whether it was missing */
export async function makeFile(files: Files, path: string, text: string, mode = 0o644): Promise<boolean> {
  try {
    await files.writeFile(path, text, { flag: 'wx', mode })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** What went wrong in making something, for people. */
export function cannotWrite(path: string, cause: unknown): Error {
  return new CannotWriteError({ path, ...explain(cause) }, { cause })
}

function explain(error: unknown): { problem: string; remedy: string } {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EPERM') {
    return { problem: 'this user may not write there', remedy: 'take a folder of your own, or change its mode' }
  }
  if (code === 'EROFS') return { problem: 'the file system is read-only', remedy: 'take a folder that can be written' }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return { problem: 'a file stands where a folder must be', remedy: 'move it away, or take another folder' }
  }
  return { problem: sentenceOf(error), remedy: 'take another folder' }
}
