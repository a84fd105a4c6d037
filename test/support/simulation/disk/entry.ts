import { systemPorts } from '#lib/system-ports'

const { constants } = systemPorts().files
const TYPES = { file: constants.S_IFREG, folder: constants.S_IFDIR, link: constants.S_IFLNK }

/** File, folder or link on the disk. Hard links are one entry under several paths. */
export interface Entry {
  /** Links are read, never followed. */
  kind: 'file' | 'folder' | 'link'
  bytes: Buffer
  mode: number
  ino: number
  nlink: number
  changed: number
  born: number
  /** Names in a folder. */
  names: Set<string>
  /** Listeners for changes in a folder. */
  watchers?: Set<(name: string) => void>
}

export function resize(entry: Entry, length: number): void {
  const bytes = Buffer.alloc(length)
  entry.bytes.copy(bytes)
  entry.bytes = bytes
}

/** Status of an entry. Files are looked at often, so dates are created only on access. */
export class Stats {
  readonly dev = 1
  readonly ino: number
  readonly nlink: number
  readonly size: number
  readonly mode: number
  readonly mtimeMs: number
  readonly birthtimeMs: number
  readonly #kind: Entry['kind']

  constructor({ kind, bytes, mode, ino, nlink, changed, born }: Entry) {
    this.#kind = kind
    this.ino = ino
    this.nlink = nlink
    this.size = kind === 'folder' ? 4096 : bytes.length
    this.mode = mode | TYPES[kind]
    this.mtimeMs = changed
    this.birthtimeMs = born
  }

  get mtime(): Date {
    return new Date(this.mtimeMs)
  }

  isFile(): boolean {
    return this.#kind === 'file'
  }

  isDirectory(): boolean {
    return this.#kind === 'folder'
  }

  isSymbolicLink(): boolean {
    return this.#kind === 'link'
  }
}

export function statsOf(entry: Entry, options?: { bigint?: boolean }) {
  const stats = new Stats(entry)
  if (!options?.bigint) return stats
  const { dev, ino, nlink, size, mode, mtimeMs } = stats
  return {
    dev: BigInt(dev),
    ino: BigInt(ino),
    nlink: BigInt(nlink),
    size: BigInt(size),
    mode: BigInt(mode),
    mtimeNs: BigInt(Math.round(mtimeMs * 1000)) * 1000n,
    isFile: () => stats.isFile(),
    isDirectory: () => stats.isDirectory(),
    isSymbolicLink: () => stats.isSymbolicLink(),
  }
}

export function direntOf(parentPath: string, name: string, { kind }: Entry) {
  return {
    name,
    parentPath,
    path: parentPath,
    isFile: () => kind === 'file',
    isDirectory: () => kind === 'folder',
    isSymbolicLink: () => kind === 'link',
  }
}
