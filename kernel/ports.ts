import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { type BigIntStats, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { TimeLimitError } from './errors.ts'
import { type Presence, systemPresence } from './presence.ts'

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
  /** Set where somebody moves it by hand: then no other machine's clock says what time it is. */
  readonly held?: true
}

/** Randomness keyed by (seed, stream, key…): concurrency cannot reorder it and a restart cannot repeat it. */
export interface Random {
  readonly seed: number
  /** A number in [0, 1). */
  number(stream: string, ...key: (string | number)[]): number
}

export interface Ids {
  /** `<prefix>-<hex digits>` */
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

/** The machine's own clock, entropy, files, network and processes. */
export function systemPorts(overrides: Partial<Ports> = {}): Ports {
  return {
    clock: systemClock,
    random: keyedRandom(randomBytes(4).readUInt32LE()),
    ids: { make: (prefix, digits) => `${prefix}-${hexDigits(digits)}` },
    files: fs,
    ...(overrides.files && overrides.files !== fs ? {} : { filesNow }),
    inodeOf,
    stampOf,
    touch,
    fetch: Object.assign((...asked: Parameters<Fetch>) => fetch(...asked), { direct: !process.env.NODE_USE_ENV_PROXY }),
    spawn: (command, args, options) => spawn(command, args, options),
    lookup: async host => (await import('node:dns/promises')).lookup(host, { all: true }),
    presence: systemPresence,
    env: process.env,
    ...overrides,
  }
}

function filesNow(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o600 })
}

function inodeOf(path: string): bigint | undefined {
  return look(path)?.ino
}

function stampOf(path: string): string | undefined {
  const found = look(path)
  return found && `${found.dev}:${found.ino}:${found.mtimeNs}:${found.size}`
}

function touch(path: string, ms: number): void {
  try {
    utimesSync(path, ms / 1000, ms / 1000)
  } catch {
    // None, or none that may be touched.
  }
}

/** A look is microseconds; through the pool of threads it would be many times that. */
function look(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Entropy is fetched in pieces of this many bytes: a call of its own for each id costs more than most requests. */
const POOL_BYTES = 4096
let pool = ''

function hexDigits(count: number): string {
  if (pool.length < count) pool = randomBytes(Math.max(POOL_BYTES, count)).toString('hex')
  const digits = pool.slice(0, count)
  pool = pool.slice(count)
  return digits
}

const systemClock: Clock = {
  now: () => new Date(),
  ms: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
  yield: () => new Promise(resolve => setImmediate(resolve)),
}

/** `Clock.sleep` in terms of `Clock.after`, for every clock alike. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Randomness from SHA-256 of the key: slower than a generator, but any draw can be made again alone. */
export function keyedRandom(seed: number): Random {
  return {
    seed,
    number(stream, ...key) {
      const digest = createHash('sha256')
        .update(JSON.stringify([seed, stream, ...key]))
        .digest()
      return digest.readUIntBE(0, 6) / 2 ** 48
    },
  }
}

/** Ids drawn from keyed randomness, so that a simulated run repeats them. */
export function keyedIds(random: Random): Ids {
  const drawn = new Map<string, number>()
  return {
    make(prefix, digits) {
      const n = (drawn.get(prefix) ?? 0) + 1
      drawn.set(prefix, n)
      return `${prefix}-${createHash('sha256').update(`${random.seed}/${prefix}/${n}`).digest('hex').slice(0, digits)}`
    },
  }
}

/** Waits for `work`, but no longer than `ms`. @throws TimeLimitError naming `what` */
export function within<T>(clock: Clock, ms: number, what: string, work: PromiseLike<T>): Promise<T> {
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
