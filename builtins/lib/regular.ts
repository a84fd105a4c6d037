import type { Ports } from '#kernel'

/**
 * Reads a file that a person may have put there. A named pipe would be waited on for ever, and a device may never end.
 * @throws Error with the problem, for a named pipe, a socket or a device, also behind a link; else what `readFile` throws
 */
export async function readRegular(files: Ports['files'], file: string): Promise<Buffer> {
  const stats = await files.stat(file)
  // A folder is refused by reading it.
  if (stats.isFile() || stats.isDirectory()) return files.readFile(file)
  const kind = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device'
  throw new Error(`is ${kind}, not a regular file`)
}
