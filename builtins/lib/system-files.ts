import * as now from 'node:fs'
import * as fs from 'node:fs/promises'
import { promisify } from 'node:util'

/** The functions below, each run at once in place of the thread pool. */
const AT_ONCE = [
  'appendFile',
  'lstat',
  'mkdir',
  'readFile',
  'readdir',
  'readlink',
  'rename',
  'rm',
  'stat',
  'symlink',
  'unlink',
  'writeFile',
] as const

/**
 * `node:fs/promises` for small files of the service itself, such as logs, locks and memories, and of agents' own folders.
 * A call runs before it returns: it takes microseconds, as with the database beside these files, whereas waking a thread
 * of the pool and this one again takes ten times as long. Only what syncs to the disk uses the pool. Not for folders of
 * users, which may be on slow disks, nor for long files: a loop of such calls does not let the event loop turn.
 */
export const ownFiles: typeof fs = {
  ...fs,
  ...Object.fromEntries(AT_ONCE.map(name => [name, async (...args: unknown[]) => callNow(name, args)])),
  realpath: (async path => now.realpathSync.native(path as string)) as typeof fs.realpath,
  open: async (path, flags, mode) => new OpenFile(now.openSync(path, flags ?? 'r', mode)) as unknown as fs.FileHandle,
}

function callNow(name: (typeof AT_ONCE)[number], args: unknown[]): unknown {
  return (now[`${name}Sync`] as (...args: unknown[]) => unknown)(...args)
}

const datasync = promisify(now.fdatasync)
const sync = promisify(now.fsync)

/** The methods of a `FileHandle` that `ownFiles` has. */
class OpenFile implements Pick<fs.FileHandle, 'fd' | 'datasync' | 'sync' | 'close'> {
  readonly fd: number

  constructor(fd: number) {
    this.fd = fd
  }

  async appendFile(data: string | Uint8Array): Promise<void> {
    now.writeFileSync(this.fd, data)
  }

  async chmod(mode: number): Promise<void> {
    now.fchmodSync(this.fd, mode)
  }

  async close(): Promise<void> {
    now.closeSync(this.fd)
  }

  datasync(): Promise<void> {
    return datasync(this.fd)
  }

  async read<B extends NodeJS.ArrayBufferView>(buffer: B, offset: number, length: number, position?: number | null) {
    return { bytesRead: now.readSync(this.fd, buffer, offset, length, position ?? null), buffer }
  }

  async readFile(encoding?: BufferEncoding): Promise<Buffer | string> {
    return now.readFileSync(this.fd, encoding)
  }

  async stat(): Promise<now.Stats> {
    return now.fstatSync(this.fd)
  }

  sync(): Promise<void> {
    return sync(this.fd)
  }

  async truncate(length?: number): Promise<void> {
    now.ftruncateSync(this.fd, length)
  }

  async writeFile(data: string | Uint8Array): Promise<void> {
    now.writeFileSync(this.fd, data)
  }
}
