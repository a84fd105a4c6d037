import { dirname, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { replaceFile } from '#lib/yaml'
import { cannotWrite } from '../project/making.ts'

/** Finds out beforehand that the file that an option names cannot be written. @throws CannotWriteError */
export async function canWriteOutput({ files }: Ports, path: unknown): Promise<void> {
  if (path === undefined) return
  const file = resolve(String(path))
  await files.access(dirname(file), files.constants.W_OK).catch(error => {
    throw cannotWrite(file, error)
  })
}

/** Writes the file that an option names; where none is named nothing. @throws CannotWriteError */
export async function writeOutput({ files }: Ports, path: unknown, text: string, mode?: number): Promise<void> {
  if (path === undefined) return
  const file = resolve(String(path))
  await replaceFile(files, file, text, mode).catch(error => {
    throw cannotWrite(file, error)
  })
}
