import { basename, dirname, join } from 'node:path'
import { errorMessage, type Ports, SvcError } from '#kernel'
import { CannotExportError, ExportExistsError } from './contract.ts'

type Failure = NodeJS.ErrnoException

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EACCES: 'the current user has no write permission there',
  EPERM: 'the current user has no write permission there',
  EROFS: 'it is on a read-only disk',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'its name is too long',
}

/**
 * Checks beforehand that the report can be written.
 * @throws ExportExistsError, CannotExportError
 */
export async function checkTarget(files: Ports['files'], file: string, force: boolean): Promise<void> {
  const found = await files.stat(file).catch((error: Failure) => {
    if (error.code !== 'ENOENT') throw exportError(file, error)
    return undefined
  })
  if (found?.isDirectory()) throw new CannotExportError({ file, problem: 'it is a folder; name a file in it' })
  if (found && !found.isFile()) throw new CannotExportError({ file, problem: 'it is not a regular file' })
  if (found && !force) throw new ExportExistsError({ file })
  await files.access(dirname(file), files.constants.W_OK).catch((error: Failure) => {
    throw exportError(file, error)
  })
}

/**
 * Writes pieces to a file atomically: first to a temporary file beside it, readable only by its owner. An existing file
 * stays unchanged when that fails.
 * @returns the number of bytes
 * @throws ExportExistsError, CannotExportError; what the signal was aborted with
 */
export async function writePieces(
  { files, ids }: Pick<Ports, 'files' | 'ids'>,
  file: string,
  pieces: Iterable<string>,
  { force, signal }: { force: boolean; signal: AbortSignal },
): Promise<number> {
  const beside = join(dirname(file), `.${basename(file).slice(0, 100)}.${ids.make('part', 8)}`)
  let bytes = 0
  try {
    const handle = await files.open(beside, 'wx', 0o600)
    try {
      for (const piece of pieces) {
        signal.throwIfAborted()
        const buffer = Buffer.from(piece)
        await handle.appendFile(buffer)
        bytes += buffer.length
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    await put(files, beside, file, force)
    return bytes
  } catch (error) {
    throw error instanceof SvcError || signal.aborted ? error : exportError(file, error as Failure)
  } finally {
    await files.rm(beside, { force: true })
  }
}

/**
 * Moves the finished file to its place. A link fails where another process was faster, but not every file system has
 * links.
 */
async function put(files: Ports['files'], beside: string, file: string, force: boolean): Promise<void> {
  if (force) return files.rename(beside, file)
  try {
    await files.link(beside, file)
  } catch (error) {
    if ((error as Failure).code === 'EEXIST') throw new ExportExistsError({ file })
    await checkTarget(files, file, force)
    await files.rename(beside, file)
  }
}

function exportError(file: string, error: Failure): SvcError {
  const problem = PROBLEMS[error.code ?? ''] ?? errorMessage(error)
  return new CannotExportError({ file, problem }, { cause: error })
}
