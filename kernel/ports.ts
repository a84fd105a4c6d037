import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import type * as fs from 'node:fs/promises'
import { TimeLimitError } from './errors.ts'

/** Wall clock, monotonic clock and timers, in milliseconds. A test holds one of its own. */
export interface Clock {
  now(): Date
  /** Wall clock, milliseconds since 1970. */
  ms(): number
  /** Never jumps; only differences mean something. */
  monotonic(): number
  after(ms: number, fn: () => void): () => void
  /** Resolves after `ms`, or as soon as the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Lets the event loop do what is waiting. */
  yield(): Promise<void>
  /** Set where a test moves it by hand: then no other machine's clock counts. */
  readonly held?: true
}

/** Randomness keyed by (seed, stream, key…): concurrency cannot reorder it and a restart cannot repeat it. */
export interface Random {
  readonly seed: number
  /** A number in [0, 1). */
  number(stream: string, ...key: (string | number)[]): number
}

export interface Ids {
  /** `<prefix>-<hex digits>`. Those with 12 digits and more ascend, so that rows with them are appended to an index. */
  make(prefix: string, digits: number): string
}

/** `fetch`, as the platform has it. */
export interface Fetch {
  (input: string | URL, init?: RequestInit): Promise<Response>
  /** It goes straight to the machine's network, over no proxy: Node's own HTTP, which costs less, does the same. */
  readonly direct?: boolean
}

export interface Ports {
  clock: Clock
  random: Random
  ids: Ids
  files: typeof fs
  /**
   * Writes small files into a folder, which is made for them, at once: through the pool of threads that costs many times as
   * much. Not there where `files` are not the machine's own.
   */
  filesNow?: (folder: string, files: Readonly<Record<string, string | Uint8Array>>) => void
  /** Which file lies at a path, undefined for none; at once, for what is asked before every write. */
  inodeOf: (path: string) => bigint | undefined
  /**
   * What is another text whenever the file at a path is another or has changed; undefined for none. At once, as above. It ends with
   * a colon and the size in bytes.
   */
  stampOf: (path: string) => string | undefined
  /** Sets when the file at a path was changed, in milliseconds since 1970; does nothing where there is none. At once, as above. */
  touch: (path: string, ms: number) => void
  fetch: Fetch
  spawn: (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess
  /** All addresses of a host. */
  lookup: (host: string) => Promise<LookupAddress[]>
  presence: Presence
  env: Readonly<Record<string, string | undefined>>
}

/** How the processes of one machine show that they live: by sockets, which the system closes however a process ends. */
export interface Presence {
  /** Listens at a path for as long as this process lives. @returns the release. Rejects when the path is taken or cannot be made */
  hold(path: string): Promise<() => Promise<void>>
  /** Returns whether a process listens at a path. Never rejects. */
  held(path: string): Promise<boolean>
}

export type Log = Pick<import('pino').Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>

export const ROLES = ['daemon', 'joined', 'server', 'mcp', 'cli'] as const
/** What a process is for. One process may have several roles; `joined` is a daemon that may run beside the project's own. */
export type Role = (typeof ROLES)[number]

/** Where things lie in the project. */
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
