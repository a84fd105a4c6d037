import type { Ports } from '#kernel'

/**
 * Reads a file that people may have created, and refuses special files: a named pipe would block for ever, and a device
 * may never end.
 * @throws Error with the problem, for a named pipe, a socket or a device, also behind a link; else what `readFile`
 * throws
 */
export async function readRegular(files: Ports['files'], file: string): Promise<Buffer> {
  refuseSpecial(await files.stat(file))
  return files.readFile(file)
}

/**
 * A folder is not refused: it fails when it is read.
 * @param file named in the error, if given
 * @throws Error for a named pipe, a socket or a device
 */
export function refuseSpecial(stats: Awaited<ReturnType<Ports['files']['stat']>>, file = ''): void {
  if (stats.isFile() || stats.isDirectory()) return
  const kind = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device'
  throw new Error(`${file} is ${kind}, not a regular file`.trimStart())
}
