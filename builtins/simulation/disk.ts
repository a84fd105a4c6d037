import { basename, dirname, join, resolve } from 'node:path'
import { type Ports, systemPorts } from '#kernel'

type Files = Ports['files']

/** What lies at a path. Hard links are one of these under several paths. */
interface Entry {
  /** A link is read, never followed. */
  kind: 'file' | 'folder' | 'link'
  bytes: Buffer
  mode: number
  ino: number
  nlink: number
  changed: number
  born: number
  /** Of a folder: the names in it. */
  names: Set<string>
  /** Who waits for changes in it. */
  watchers?: Set<(name: string) => void>
}

/** What one process does with the disk, before it is done. What it throws is what the disk would. */
export interface Access {
  op: string
  path: string
  /** Of a write: what is to be written. */
  bytes?: number
}
/** @returns for a write, how many bytes of it reach the disk before it fails with `error`; undefined when all is well */
export type Fault = (access: Access) => { error: string; written?: number } | undefined

const { constants } = systemPorts().files
/** Numbers of open files begin here: below are those that every process has. */
const FIRST_FD = 10
const TYPES = { file: constants.S_IFREG, folder: constants.S_IFDIR, link: constants.S_IFLNK }
const OPEN_FLAGS: Record<string, number> = {
  r: constants.O_RDONLY,
  'r+': constants.O_RDWR,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
  wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
  'w+': constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
  a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND,
  'a+': constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
}

/** A disk in memory with the calls of `node:fs/promises` that the program uses. Each is done at once, and outlives whoever made it. */
export class Disk {
  readonly #entries = new Map<string, Entry>()
  readonly #open = new Map<number, string>()
  readonly #now: () => number
  #inodes = 0
  #fds = FIRST_FD
  #temporary = 0
  #stamps = 0

  constructor(now: () => number) {
    this.#now = now
    this.#add('/', 'folder', 0o755)
  }

  /** Puts a file there, with its folders. */
  put(path: string, text: string | Buffer): void {
    this.#makeFolders(dirname(path))
    this.#add(path, 'file', 0o600).bytes = Buffer.from(text)
  }

  /** A file's text; undefined when there is none. */
  text(path: string): string | undefined {
    return this.#entries.get(path)?.bytes.toString('utf8')
  }

  /** Paths of all files, sorted. */
  paths(): string[] {
    return [...this.#entries].flatMap(([path, { kind }]) => (kind === 'file' ? [path] : [])).sort()
  }

  /**
   * The disk as one process sees it.
   * @param identity what `/proc` tells of a process: when it began
   * @param alive what a dead process asks for is never answered
   */
  filesFor(identity: string, alive: () => boolean, fault: Fault): Files {
    const calls = this.#calls(identity, fault) as Record<string, (...args: never[]) => unknown>
    const made: Record<string, unknown> = { constants }
    for (const [name, call] of Object.entries(calls)) {
      made[name] = (...args: never[]) => {
        if (!alive()) return new Promise(() => {})
        try {
          return Promise.resolve(call(...args))
        } catch (error) {
          return Promise.reject(error)
        }
      }
    }
    made.watch = (path: string, { signal }: { signal?: AbortSignal } = {}) => this.#watch(resolve(path), signal, alive)
    return made as unknown as Files
  }

  #calls(identity: string, fault: Fault) {
    const at = (path: string | URL) => this.#real(String(path))
    const check = (access: Access) => {
      const found = fault(access)
      if (found && found.written === undefined) throw failure(found.error, access.op, access.path)
      return found
    }
    const write = (op: string, path: string, entry: Entry, place: number, data: Buffer) => {
      const found = check({ op, path, bytes: data.length })
      const written = found ? data.subarray(0, found.written) : data
      const end = place + written.length
      const before = entry.bytes
      if (place === before.length) entry.bytes = Buffer.concat([before, written])
      else {
        const bytes = Buffer.alloc(Math.max(before.length, end))
        before.copy(bytes)
        written.copy(bytes, place)
        entry.bytes = bytes
      }
      entry.changed = this.#stamp()
      for (const watcher of this.#entries.get(dirname(path))?.watchers ?? []) watcher(basename(path))
      if (found) throw failure(found.error, op, path)
      return written.length
    }
    const read = (path: string, options?: unknown) => {
      const special = specialFile(path, identity)
      const encoding = encodingOf(options)
      if (special !== undefined) return encoding ? special : Buffer.from(special)
      check({ op: 'read', path })
      const { kind, bytes } = this.#get(path, 'open')
      if (kind === 'folder') throw failure('EISDIR', 'read', path)
      return encoding ? bytes.toString(encoding) : Buffer.from(bytes)
    }
    const open = (path: string, flags: number, mode: number): Entry => {
      let entry = this.#entries.get(path)
      check({ op: 'open', path })
      if (entry && flags & constants.O_CREAT && flags & constants.O_EXCL) throw failure('EEXIST', 'open', path)
      if (!entry) {
        if (!(flags & constants.O_CREAT)) throw failure('ENOENT', 'open', path)
        this.#folder(dirname(path), 'open')
        entry = this.#add(path, 'file', mode)
      }
      const writes = (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0
      if (entry.kind === 'folder' && writes) throw failure('EISDIR', 'open', path)
      if (entry.kind === 'file' && flags & constants.O_DIRECTORY) throw failure('ENOTDIR', 'open', path)
      if (flags & constants.O_TRUNC) {
        entry.bytes = Buffer.alloc(0)
        entry.changed = this.#stamp()
      }
      return entry
    }
    const put = (path: string, data: string | Uint8Array, flag: string, mode = 0o666) => {
      const entry = open(path, OPEN_FLAGS[flag]!, mode)
      write('write', path, entry, flag.startsWith('a') ? entry.bytes.length : 0, Buffer.from(data as Uint8Array))
    }

    return {
      access: (path: string) => void this.#get(at(path), 'access'),
      appendFile: (path: string, data: string | Uint8Array, options: { mode?: number; flag?: string } = {}) =>
        put(at(path), data, options.flag ?? 'a', options.mode),
      writeFile: (path: string, data: string | Uint8Array, options: { mode?: number; flag?: string } = {}) =>
        put(at(path), data, options.flag ?? 'w', options.mode),
      readFile: (path: string, options?: unknown) => read(at(path), options),
      chmod: (path: string, mode: number) => {
        this.#get(at(path), 'chmod').mode = mode
      },
      copyFile: (from: string, to: string, flags = 0) => {
        const path = at(to)
        if (flags & constants.COPYFILE_EXCL && this.#entries.has(path)) throw failure('EEXIST', 'copyfile', path)
        put(path, read(at(from)) as Buffer, 'w')
      },
      link: (from: string, to: string) => {
        const entry = this.#get(at(from), 'link')
        if (this.#entries.has(at(to))) throw failure('EEXIST', 'link', at(to))
        this.#folder(dirname(at(to)), 'link')
        entry.nlink++
        this.#place(at(to), entry)
      },
      symlink: (target: string, path: string) => {
        const real = at(path)
        check({ op: 'symlink', path: real })
        if (this.#entries.has(real)) throw failure('EEXIST', 'symlink', real)
        this.#folder(dirname(real), 'symlink')
        this.#add(real, 'link', 0o777).bytes = Buffer.from(target)
      },
      stat: (path: string, options?: { bigint?: boolean }) => statsOf(this.#get(at(path), 'stat'), options),
      lstat: (path: string, options?: { bigint?: boolean }) => statsOf(this.#get(at(path), 'lstat'), options),
      statfs: () => ({ type: 0, bsize: 4096, blocks: 1e9, bfree: 1e9, bavail: 1e9, files: 1e9, ffree: 1e9 }),
      mkdir: (path: string, options: number | { recursive?: boolean; mode?: number } = {}) => {
        const { recursive = false, mode = 0o777 } = typeof options === 'number' ? { mode: options } : options
        const real = at(path)
        check({ op: 'mkdir', path: real })
        if (recursive) return this.#makeFolders(real, mode)
        if (this.#entries.has(real)) throw failure('EEXIST', 'mkdir', real)
        this.#folder(dirname(real), 'mkdir')
        this.#add(real, 'folder', mode)
        return undefined
      },
      mkdtemp: (prefix: string) => {
        const path = `${at(prefix)}${String(++this.#temporary).padStart(6, '0')}`
        this.#makeFolders(path, 0o700)
        return path
      },
      readdir: (path: string, options?: { withFileTypes?: boolean }) => {
        const names = this.#list(at(path), 'scandir')
        if (!options?.withFileTypes) return names
        return names.map(name => direntOf(at(path), name, this.#entries.get(join(at(path), name))!))
      },
      opendir: (path: string) => {
        const entries = this.#list(at(path), 'opendir').map(name =>
          direntOf(at(path), name, this.#entries.get(join(at(path), name))!),
        )
        return Object.assign(entries.values(), { close: async () => {}, read: async () => entries.shift() ?? null })
      },
      readlink: (path: string) => {
        const fd = /^\/proc\/self\/fd\/(\d+)$/.exec(path)?.[1]
        const target = fd === undefined ? undefined : this.#open.get(Number(fd))
        if (target !== undefined) return target
        const { kind, bytes } = this.#get(at(path), 'readlink')
        if (kind !== 'link') throw failure('EINVAL', 'readlink', path)
        return bytes.toString('utf8')
      },
      realpath: (path: string) => {
        this.#get(at(path), 'realpath')
        return at(path)
      },
      rename: (from: string, to: string) => {
        check({ op: 'rename', path: at(to) })
        this.#move(at(from), at(to))
      },
      rm: (path: string, options: { recursive?: boolean; force?: boolean } = {}) => {
        const real = at(path)
        const entry = this.#entries.get(real)
        if (!entry && options.force) return
        if (this.#get(real, 'rm').kind === 'folder' && !options.recursive) throw failure('ERR_FS_EISDIR', 'rm', real)
        for (const below of this.#below(real)) this.#remove(below)
        this.#remove(real)
      },
      unlink: (path: string) => {
        this.#get(at(path), 'unlink')
        this.#remove(at(path))
      },
      truncate: (path: string, length = 0) => resize(this.#get(at(path), 'open'), length),
      open: (path: string, flags: string | number = 'r', mode = 0o666) => {
        const real = at(path)
        const bits = typeof flags === 'number' ? flags : OPEN_FLAGS[flags]!
        const entry = open(real, bits, mode)
        const fd = this.#fds++
        this.#open.set(fd, real)
        const appends = (bits & constants.O_APPEND) !== 0
        let place = 0
        const store = (data: string | Uint8Array) => {
          if (appends) place = entry.bytes.length
          place += write('write', real, entry, place, Buffer.from(data as Uint8Array))
        }
        const take = (buffer: Uint8Array, offset: number, length: number, position: number | null | undefined) => {
          check({ op: 'read', path: real })
          const from = position ?? place
          const bytesRead = entry.bytes.copy(buffer, offset, from, Math.min(from + length, entry.bytes.length))
          if (position === null || position === undefined) place += bytesRead
          return { bytesRead, buffer }
        }
        const calls: Record<string, (...args: never[]) => unknown> = {
          appendFile: store,
          writeFile: store,
          write: (data: string | Uint8Array) => {
            store(data)
            return { bytesWritten: data.length, buffer: data }
          },
          read: (
            given: Uint8Array | { buffer: Uint8Array; offset?: number; length?: number; position?: number | null },
            offset?: number,
            length?: number,
            position?: number | null,
          ) => {
            if (given instanceof Uint8Array) {
              const start = offset ?? 0
              return take(given, start, length ?? given.length - start, position)
            }
            const start = given.offset ?? 0
            return take(given.buffer, start, given.length ?? given.buffer.length - start, given.position)
          },
          readFile: (options?: unknown) => {
            check({ op: 'read', path: real })
            const rest = entry.bytes.subarray(place)
            const encoding = encodingOf(options)
            return encoding ? rest.toString(encoding) : Buffer.from(rest)
          },
          stat: (options?: { bigint?: boolean }) => statsOf(entry, options),
          chmod: (bits: number) => {
            entry.mode = bits
          },
          sync: () => void check({ op: 'sync', path: real }),
          datasync: () => void check({ op: 'sync', path: real }),
          truncate: (length = 0) => resize(entry, length),
          close: () => void this.#open.delete(fd),
        }
        const handle: Record<string | symbol, unknown> = {
          fd,
          async *createReadStream({ start = 0 } = {}) {
            yield entry.bytes.subarray(start)
          },
        }
        for (const [name, call] of Object.entries(calls)) {
          handle[name] = async (...args: never[]) => call(...args)
        }
        handle[Symbol.asyncDispose] = handle.close
        return handle
      },
    }
  }

  /** The path that is meant, also where it begins at an open folder. */
  #real(path: string): string {
    const [, fd, below] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/.exec(path) ?? []
    if (fd === undefined) return resolve(path)
    return resolve(`${this.#open.get(Number(fd)) ?? '/nowhere'}${below ?? ''}`)
  }

  /** Which file lies at a path. */
  inodeOf(path: string): bigint | undefined {
    const entry = this.#entries.get(this.#real(path))
    return entry && BigInt(entry.ino)
  }

  /** What changes whenever the file at a path does. */
  stampOf(path: string): string | undefined {
    const entry = this.#entries.get(this.#real(path))
    if (!entry) return undefined
    const { ino, mtimeMs, size } = new Stats(entry)
    return `${ino}:${mtimeMs}:${size}`
  }

  /** When the file at a path was changed, from now on. */
  touch(path: string, ms: number): void {
    const entry = this.#entries.get(this.#real(path))
    if (entry) entry.changed = ms
  }

  #get(path: string, op: string): Entry {
    const entry = this.#entries.get(path)
    if (entry) return entry
    const above = this.#entries.get(dirname(path))
    throw failure(above?.kind === 'file' ? 'ENOTDIR' : 'ENOENT', op, path)
  }

  /** Now, and never the same twice in a row. */
  #stamp(): number {
    return this.#now() + (this.#stamps++ % 1000) / 1000
  }

  #place(path: string, entry: Entry): void {
    this.#entries.set(path, entry)
    if (path !== '/') this.#touch(path)?.names.add(basename(path))
  }

  #take(path: string): void {
    if (this.#entries.delete(path)) this.#touch(path)?.names.delete(basename(path))
  }

  /** Something came into a folder, changed in it or left it. @returns the folder */
  #touch(path: string): Entry | undefined {
    const folder = this.#entries.get(dirname(path))
    if (!folder) return undefined
    folder.changed = this.#stamp()
    for (const watcher of folder.watchers ?? []) watcher(basename(path))
    return folder
  }

  /** What changes in a folder, until the signal is aborted. */
  async *#watch(path: string, signal: AbortSignal | undefined, alive: () => boolean) {
    const folder = this.#get(path, 'watch')
    const seen: string[] = []
    let wake = () => {}
    const watcher = (name: string) => {
      seen.push(name)
      if (alive()) wake()
    }
    folder.watchers ??= new Set()
    folder.watchers.add(watcher)
    signal?.addEventListener('abort', () => wake(), { once: true })
    try {
      while (!signal?.aborted) {
        const filename = seen.shift()
        if (filename !== undefined) yield { eventType: 'rename', filename }
        else
          await new Promise<void>(resolve => {
            wake = resolve
          })
      }
    } finally {
      folder.watchers.delete(watcher)
    }
    throw signal?.reason
  }

  #folder(path: string, op: string): void {
    if (this.#get(path, op).kind !== 'folder') throw failure('ENOTDIR', op, path)
  }

  #add(path: string, kind: Entry['kind'], mode: number): Entry {
    const now = this.#stamp()
    const entry = {
      kind,
      bytes: Buffer.alloc(0),
      mode,
      ino: ++this.#inodes,
      nlink: 1,
      changed: now,
      born: now,
      names: new Set<string>(),
    }
    this.#place(path, entry)
    return entry
  }

  #makeFolders(path: string, mode = 0o777): string | undefined {
    const entry = this.#entries.get(path)
    if (entry?.kind === 'file') throw failure('EEXIST', 'mkdir', path)
    if (entry) return undefined
    const first = this.#makeFolders(dirname(path), mode) ?? path
    this.#add(path, 'folder', mode)
    return first
  }

  #remove(path: string): void {
    const entry = this.#entries.get(path)
    if (entry) entry.nlink--
    this.#take(path)
  }

  #below(path: string): string[] {
    const names = this.#entries.get(path)?.names ?? []
    return [...names].map(name => join(path, name)).flatMap(each => [each, ...this.#below(each)])
  }

  #list(path: string, op: string): string[] {
    this.#folder(path, op)
    return [...this.#entries.get(path)!.names].sort()
  }

  #move(from: string, to: string): void {
    const entry = this.#get(from, 'rename')
    this.#folder(dirname(to), 'rename')
    const there = this.#entries.get(to)
    if (there === entry) return
    if (there) {
      if (there.kind === 'folder' && this.#below(to).length > 0) throw failure('ENOTEMPTY', 'rename', to)
      this.#remove(to)
    }
    const moved = [from, ...this.#below(from)].map(path => [path, this.#entries.get(path)!] as const)
    for (const [path] of moved.toReversed()) this.#take(path)
    for (const [path, each] of moved) this.#place(`${to}${path.slice(from.length)}`, each)
  }
}

/** What the kernel of a Linux machine tells of processes; null stands for what is not there. */
function specialFile(path: string, identity: string): string | undefined {
  if (!path.startsWith('/proc/')) return undefined
  if (path === '/proc/sys/kernel/random/boot_id') return 'simulated-boot\n'
  // Field 22 is when the process began.
  if (path === `/proc/${process.pid}/stat`) return `${process.pid} (svc) S ${'0 '.repeat(18)}${identity} 0`
  return undefined
}

function resize(entry: Entry, length: number): void {
  const bytes = Buffer.alloc(length)
  entry.bytes.copy(bytes)
  entry.bytes = bytes
}

function encodingOf(options: unknown): BufferEncoding | undefined {
  if (typeof options === 'string') return options as BufferEncoding
  return (options as { encoding?: BufferEncoding } | undefined)?.encoding
}

/** Costly to make for each of the many looks at files: dates are made when they are asked for. */
class Stats {
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

function statsOf(entry: Entry, options?: { bigint?: boolean }) {
  const stats = new Stats(entry)
  if (!options?.bigint) return stats
  const { dev, ino, nlink, size, mode, mtimeMs } = stats
  return {
    ...{ dev: BigInt(dev), ino: BigInt(ino), nlink: BigInt(nlink), size: BigInt(size), mode: BigInt(mode) },
    mtimeNs: BigInt(Math.round(mtimeMs * 1000)) * 1000n,
    isFile: () => stats.isFile(),
    isDirectory: () => stats.isDirectory(),
    isSymbolicLink: () => stats.isSymbolicLink(),
  }
}

function direntOf(parentPath: string, name: string, { kind }: Entry) {
  return {
    ...{ name, parentPath, path: parentPath },
    isFile: () => kind === 'file',
    isDirectory: () => kind === 'folder',
    isSymbolicLink: () => kind === 'link',
  }
}

function failure(code: string, syscall: string, path: string): Error {
  const message = `${code}: ${MESSAGES[code] ?? 'the disk failed'}, ${syscall} '${path}'`
  return Object.assign(new Error(message), { code, syscall, path })
}

const MESSAGES: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  ENOTDIR: 'not a directory',
  EISDIR: 'illegal operation on a directory',
  ENOSPC: 'no space left on device',
  EIO: 'i/o error',
  EMFILE: 'too many open files',
}
