import { dirname, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { type Fault, FileAccess } from './access.ts'
import { callsOf } from './calls.ts'
import { Stats } from './entry.ts'
import { Tree } from './tree.ts'

type Files = Ports['files']

const { constants } = systemPorts().files

/**
 * Disk in memory with the calls of `node:fs/promises` that the program uses. Each is carried out at once, and its
 * result outlives the process.
 */
export class Disk {
  readonly #tree: Tree

  constructor(now: () => number) {
    this.#tree = new Tree(now)
  }

  /** Creates a file with its folders. */
  put(path: string, text: string | Buffer): void {
    this.#tree.makeFolders(dirname(path))
    this.#tree.add(path, 'file', 0o600).bytes = Buffer.from(text)
  }

  /** Returns a file's text; undefined when there is no such file. */
  text(path: string): string | undefined {
    return this.#tree.find(path)?.bytes.toString('utf8')
  }

  /** Returns the paths of all files, sorted. */
  paths(): string[] {
    return this.#tree.files()
  }

  /**
   * Returns the disk as one process sees it.
   * @param identity start time of the process, as `/proc` reports it
   * @param alive calls of a dead process are never answered
   */
  filesFor(identity: string, alive: () => boolean, fault: Fault): Files {
    const calls = callsOf(this.#tree, new FileAccess(this.#tree, identity, fault)) as Record<
      string,
      (...args: never[]) => unknown
    >
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

  /** Returns the inode of the file at a path; undefined when there is none. */
  inodeOf(path: string): bigint | undefined {
    const entry = this.#tree.find(this.#tree.real(path))
    return entry && BigInt(entry.ino)
  }

  /** Returns a value that changes whenever the file at a path does. */
  stampOf(path: string): string | undefined {
    const entry = this.#tree.find(this.#tree.real(path))
    if (!entry) return undefined
    const { ino, mtimeMs, size } = new Stats(entry)
    return `${ino}:${mtimeMs}:${size}`
  }

  /** Sets the change time of the file at a path. */
  touch(path: string, ms: number): void {
    const entry = this.#tree.find(this.#tree.real(path))
    if (entry) entry.changed = ms
  }

  /** Yields the changes in a folder until the signal is aborted. */
  async *#watch(path: string, signal: AbortSignal | undefined, alive: () => boolean) {
    const folder = this.#tree.get(path, 'watch')
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
}
