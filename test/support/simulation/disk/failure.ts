const MESSAGES: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  ENOSPC: 'no space left on device',
  EIO: 'i/o error',
  EMFILE: 'too many open files',
}

/** Returns an error of the disk, as the system would throw it. */
export function failure(code: string, syscall: string, path: string): Error {
  const message = `${code}: ${MESSAGES[code] ?? 'the disk failed'}, ${syscall} '${path}'`
  return Object.assign(new Error(message), { code, syscall, path })
}
