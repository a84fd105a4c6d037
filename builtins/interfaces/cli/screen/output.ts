import { dirname, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { replaceFile } from '#lib/yaml'
import { cannotWrite } from '../project/make-files.ts'

/**
 * Checks beforehand that the output file named by an option can be written.
 * @throws CannotWriteError
 */
export async function canWriteOutput({ files }: Ports, path: unknown): Promise<void> {
  if (path === undefined) return
  const file = resolve(String(path))
  await files.access(dirname(file), files.constants.W_OK).catch(error => {
    throw cannotWrite(file, error)
  })
}

/**
 * Writes the output file named by an option; does nothing where none is named.
 * @throws CannotWriteError
 */
export async function writeOutput({ files }: Ports, path: unknown, text: string, mode?: number): Promise<void> {
  if (path === undefined) return
  const file = resolve(String(path))
  await replaceFile(files, file, text, mode).catch(error => {
    throw cannotWrite(file, error)
  })
}
