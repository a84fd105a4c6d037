import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import type * as fs from 'node:fs/promises'
import { TimeLimitError } from './errors.ts'

/** Wall clock, monotonic clock and timers, in milliseconds. Tests have a clock that they move themselves. */
export interface Clock {
  now(): Date
  /** Wall clock, milliseconds since 1970. */
  ms(): number
  /** Monotonic; only differences are meaningful. */
  monotonic(): number
  /** Calls `fn` once after `ms`. @returns a function that cancels it */
  after(ms: number, fn: () => void): () => void
  /** Resolves after `ms`, or as soon as the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Resolves in the next turn of the event loop. */
  yield(): Promise<void>
  /** Set for clocks that a test moves by hand; clocks of other machines are then ignored. */
  readonly held?: true
}

/** Random numbers keyed by (seed, stream, key…), so that they do not depend on the order of concurrent calls. */
export interface Random {
  readonly seed: number
  /** Returns a number in [0, 1). */
  number(stream: string, ...key: (string | number)[]): number
}

export interface Ids {
  /** `<prefix>-<hex digits>`. Those with 12 digits and more ascend, so that rows with them are appended to an index. */
  make(prefix: string, digits: number): string
}

/** The platform's `fetch`. */
export interface Fetch {
  (input: string | URL, init?: RequestInit): Promise<Response>
  /** Whether it connects without a proxy, so that Node's cheaper HTTP client can replace it. */
  readonly direct?: boolean
}

export interface Ports {
  clock: Clock
  random: Random
  ids: Ids
  files: typeof fs
  /** `files` for small files that the service itself writes, such as logs and locks; may work synchronously, which costs less. */
  ownFiles: typeof fs
  /** Returns the inode of a file, synchronously; undefined if it does not exist. */
  inodeOf: (path: string) => bigint | undefined
  /**
   * Returns a fingerprint that changes whenever the file is replaced or modified, synchronously; undefined if it does not
   * exist. It ends with a colon and the size in bytes.
   */
  stampOf: (path: string) => string | undefined
  /** Sets the modification time of a file, in milliseconds since 1970, synchronously; does nothing if it does not exist. */
  touch: (path: string, ms: number) => void
  fetch: Fetch
  spawn: (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess
  /** Returns all addresses of a host. */
  lookup: (host: string) => Promise<LookupAddress[]>
  presence: Presence
  env: Readonly<Record<string, string | undefined>>
}

/** Shows which processes run, by sockets, which the system closes however a process ends. */
export interface Presence {
  /** Listens at a path until it is released or the process ends. @returns the release @throws if the path is taken or cannot be created */
  hold(path: string): Promise<() => Promise<void>>
  /** Returns whether a process listens at a path. Never rejects. */
  held(path: string): Promise<boolean>
}

export type Log = Pick<import('pino').Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>

export const ROLES = ['daemon', 'joined', 'server', 'mcp', 'cli'] as const
/** Purpose of a process. A process may have several roles; `joined` is a daemon that runs beside the project's own. */
export type Role = (typeof ROLES)[number]

/** Paths of the project. */
export interface Project {
  /** The folder that holds `.svc/`, `plugins/` and `profiles/`. */
  readonly root: string
  readonly svc: string
  readonly config: string
  readonly database: string
  readonly workspaces: string
  readonly plugins: readonly string[]
}

/** Waits for `work`, but no longer than `ms`. @throws TimeLimitError naming `what` */
export function withTimeLimit<T>(clock: Clock, ms: number, what: string, work: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new TimeLimitError({ what, ms })))
    work.then(
      value => {
        void cancel()
        resolve(value)
      },
      error => {
        void cancel()
        reject(error)
      },
    )
  })
}
