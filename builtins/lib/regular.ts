import type { Ports } from '#kernel'

/**
 * Reads a file that people may have created, and refuses special files: a named pipe would block for ever, and a device
 * may never end.
 * @throws Error with the problem, for a named pipe, a socket or a device, also behind a link; else what `readFile`
 * throws
 */
export async function readRegular(files: Ports['files'], file: string): Promise<Buffer> {
  const stats = await files.stat(file)
  // For a folder, `readFile` gives the right error.
  if (stats.isFile() || stats.isDirectory()) return files.readFile(file)
  const kind = stats.isFIFO() ? 'a named pipe' : stats.isSocket() ? 'a socket' : 'a device'
  throw new Error(`is ${kind}, not a regular file`)
}
