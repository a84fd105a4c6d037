import { basename, dirname, join, resolve } from 'node:path'
import type { Entry } from './entry.ts'
import { failure } from './failure.ts'

/** First number of an open file: every process has the lower ones. */
const FIRST_FD = 10

/** Entries on the disk by path, and the open files. A missing entry throws the error of a real disk. */
export class Tree {
  readonly #entries = new Map<string, Entry>()
  /** Paths of open files, by their numbers. */
  readonly #open = new Map<number, string>()
  readonly #now: () => number
  #inodes = 0
  #fds = FIRST_FD
  #temporary = 0
  #stamps = 0

  constructor(now: () => number) {
    this.#now = now
    this.add('/', 'folder', 0o755)
  }

  find(path: string): Entry | undefined {
    return this.#entries.get(path)
  }

  /** Returns the paths of all files, sorted. */
  files(): string[] {
    return [...this.#entries].flatMap(([path, { kind }]) => (kind === 'file' ? [path] : [])).sort()
  }

  /** Opens the file at a path. @returns its number */
  open(path: string): number {
    this.#open.set(this.#fds, path)
    return this.#fds++
  }

  /** The path of an open file. */
  pathOf(fd: number): string | undefined {
    return this.#open.get(fd)
  }

  close(fd: number): void {
    this.#open.delete(fd)
  }

  /** Returns a path that was never used before. */
  temporary(prefix: string): string {
    return `${prefix}${String(++this.#temporary).padStart(6, '0')}`
  }

  /** Resolves a path, also one that begins at an open folder. */
  real(path: string): string {
    const [, fd, below] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/.exec(path) ?? []
    if (fd === undefined) return resolve(path)
    return resolve(`${this.#open.get(Number(fd)) ?? '/nowhere'}${below ?? ''}`)
  }

  /** Returns the entry at a path. @throws ENOENT, ENOTDIR */
  get(path: string, op: string): Entry {
    const entry = this.#entries.get(path)
    if (entry) return entry
    const above = this.#entries.get(dirname(path))
    throw failure(above?.kind === 'file' ? 'ENOTDIR' : 'ENOENT', op, path)
  }

  /** Returns the current time, never the same twice in a row. */
  stamp(): number {
    return this.#now() + (this.#stamps++ % 1000) / 1000
  }

  /** Places an entry at a path, in addition to its other paths. */
  place(path: string, entry: Entry): void {
    this.#entries.set(path, entry)
    if (path !== '/') this.#touch(path)?.names.add(basename(path))
  }

  #take(path: string): void {
    if (this.#entries.delete(path)) this.#touch(path)?.names.delete(basename(path))
  }

  /** Records a change in a folder and notifies its watchers. @returns the folder */
  #touch(path: string): Entry | undefined {
    const folder = this.#entries.get(dirname(path))
    if (!folder) return undefined
    folder.changed = this.stamp()
    for (const watcher of folder.watchers ?? []) watcher(basename(path))
    return folder
  }

  /** Checks that a path is a folder. @throws ENOTDIR if it is not */
  folder(path: string, op: string): void {
    if (this.get(path, op).kind !== 'folder') throw failure('ENOTDIR', op, path)
  }

  /** Creates an entry at a path. */
  add(path: string, kind: Entry['kind'], mode: number): Entry {
    const now = this.stamp()
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
    this.place(path, entry)
    return entry
  }

  /** Creates a folder and its parents. @returns the first that was created */
  makeFolders(path: string, mode = 0o777): string | undefined {
    const entry = this.#entries.get(path)
    if (entry?.kind === 'file') throw failure('EEXIST', 'mkdir', path)
    if (entry) return undefined
    const first = this.makeFolders(dirname(path), mode) ?? path
    this.add(path, 'folder', mode)
    return first
  }

  /** Removes a path; the entry keeps its other paths. */
  remove(path: string): void {
    const entry = this.#entries.get(path)
    if (entry) entry.nlink--
    this.#take(path)
  }

  /** Returns the paths of everything in a folder, at any depth. */
  listPaths(path: string): string[] {
    const names = this.#entries.get(path)?.names ?? []
    return [...names].map(name => join(path, name)).flatMap(each => [each, ...this.listPaths(each)])
  }

  /** Returns the names in a folder, sorted. */
  list(path: string, op: string): string[] {
    this.folder(path, op)
    return [...this.#entries.get(path)!.names].sort()
  }

  /** Moves an entry, with everything below it, to another path. @throws ENOTEMPTY, ENOENT, ENOTDIR */
  move(from: string, to: string): void {
    const entry = this.get(from, 'rename')
    this.folder(dirname(to), 'rename')
    const there = this.#entries.get(to)
    if (there === entry) return
    if (there) {
      if (there.kind === 'folder' && this.listPaths(to).length > 0) throw failure('ENOTEMPTY', 'rename', to)
      this.remove(to)
    }
    const moved = [from, ...this.listPaths(from)].map(path => [path, this.#entries.get(path)!] as const)
    for (const [path] of moved.toReversed()) this.#take(path)
    for (const [path, each] of moved) this.place(`${to}${path.slice(from.length)}`, each)
  }
}
