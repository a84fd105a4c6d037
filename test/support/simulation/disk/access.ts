import { basename, dirname } from 'node:path'
import { systemPorts } from '#lib/system-ports'
import type { Entry } from './entry.ts'
import { failure } from './failure.ts'
import type { Tree } from './tree.ts'

/** One operation of a process on the disk, before it is carried out. */
export interface Access {
  op: string
  path: string
  /** Number of bytes to write. */
  bytes?: number
}
/**
 * @returns the error of the access, and for a write the number of bytes that reach the disk before it; undefined for no
 * fault
 */
export type Fault = (access: Access) => { error: string; written?: number } | undefined

const { constants } = systemPorts().files
const OPEN_FLAGS: Record<string, number> = {
  r: constants.O_RDONLY,
  'r+': constants.O_RDWR,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
  wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
  'w+': constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC,
  a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND,
  'a+': constants.O_RDWR | constants.O_CREAT | constants.O_APPEND,
}

/** Returns the bits of flags such as `'a+'`. */
export function bitsOf(flags: string | number): number {
  return typeof flags === 'number' ? flags : OPEN_FLAGS[flags]!
}

export function encodingOf(options: unknown): BufferEncoding | undefined {
  if (typeof options === 'string') return options as BufferEncoding
  return (options as { encoding?: BufferEncoding } | undefined)?.encoding
}

/** File access of one process, which may fail. */
export class FileAccess {
  readonly #tree: Tree
  readonly #identity: string
  readonly #fault: Fault

  constructor(tree: Tree, identity: string, fault: Fault) {
    this.#tree = tree
    this.#identity = identity
    this.#fault = fault
  }

  /** Throws the fault of an access, if any. @returns how a write fails in the middle */
  check(access: Access): ReturnType<Fault> {
    const found = this.#fault(access)
    if (found && found.written === undefined) throw failure(found.error, access.op, access.path)
    return found
  }

  open(path: string, flags: number, mode: number): Entry {
    let entry = this.#tree.find(path)
    this.check({ op: 'open', path })
    if (entry && flags & constants.O_CREAT && flags & constants.O_EXCL) throw failure('EEXIST', 'open', path)
    if (!entry) {
      if (!(flags & constants.O_CREAT)) throw failure('ENOENT', 'open', path)
      this.#tree.folder(dirname(path), 'open')
      entry = this.#tree.add(path, 'file', mode)
    }
    const writes = (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0
    if (entry.kind === 'folder' && writes) throw failure('EISDIR', 'open', path)
    if (entry.kind === 'file' && flags & constants.O_DIRECTORY) throw failure('ENOTDIR', 'open', path)
    if (flags & constants.O_TRUNC) {
      entry.bytes = Buffer.alloc(0)
      entry.changed = this.#tree.stamp()
    }
    return entry
  }

  read(path: string, options?: unknown): string | Buffer {
    const special = specialFile(path, this.#identity)
    const encoding = encodingOf(options)
    if (special !== undefined) return encoding ? special : Buffer.from(special)
    this.check({ op: 'read', path })
    const { kind, bytes } = this.#tree.get(path, 'open')
    if (kind === 'folder') throw failure('EISDIR', 'read', path)
    return encoding ? bytes.toString(encoding) : Buffer.from(bytes)
  }

  /** Writes data at a place in a file. @returns the number of bytes written */
  write(path: string, entry: Entry, place: number, data: Buffer): number {
    const found = this.check({ op: 'write', path, bytes: data.length })
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
    entry.changed = this.#tree.stamp()
    for (const watcher of this.#tree.find(dirname(path))?.watchers ?? []) watcher(basename(path))
    if (found) throw failure(found.error, 'write', path)
    return written.length
  }

  put(path: string, data: string | Uint8Array, flag: string, mode = 0o666): void {
    const entry = this.open(path, bitsOf(flag), mode)
    this.write(path, entry, flag.startsWith('a') ? entry.bytes.length : 0, Buffer.from(data as Uint8Array))
  }
}

/** Returns what a file below `/proc` contains on a Linux machine; undefined for any other file. */
function specialFile(path: string, identity: string): string | undefined {
  if (!path.startsWith('/proc/')) return undefined
  if (path === '/proc/sys/kernel/random/boot_id') return 'simulated-boot\n'
  // Field 22 is the start time of the process.
  if (path === `/proc/${process.pid}/stat`) return `${process.pid} (svc) S ${'0 '.repeat(18)}${identity} 0`
  return undefined
}
