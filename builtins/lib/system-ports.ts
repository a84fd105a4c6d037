import { type BigIntStats, statSync, utimesSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import type { Clock, Fetch, Ports } from '#kernel'
import { keyedRandom } from '#lib/keyed-random'
import { sleepOn } from '#lib/sleep'
import { ownFiles } from '#lib/system-files'
import { systemPresence } from '#lib/system-presence'

/**
 * Returns the machine's own clock, entropy, files, network and processes. Node's modules for entropy and processes are
 * loaded at their first use: short commands do without, and loading takes a tenth of one.
 */
export function systemPorts(overrides: Partial<Ports> = {}): Ports {
  const ascendingDigits = ascendingIds()
  return {
    clock: systemClock,
    random: keyedRandom(Math.floor(Math.random() * 2 ** 32)),
    ids: {
      make: (prefix, digits) => `${prefix}-${digits < ASCENDING_DIGITS ? hexDigits(digits) : ascendingDigits(digits)}`,
    },
    files: fs,
    ownFiles: overrides.files ?? ownFiles,
    inodeOf,
    stampOf,
    touch,
    fetch: Object.assign((...args: Parameters<Fetch>) => fetch(...args).catch(throwWithReason), {
      direct: !process.env.NODE_USE_ENV_PROXY,
    }),
    spawn: (command, args, options) => process.getBuiltinModule('node:child_process').spawn(command, args, options),
    lookup: async host => (await import('node:dns/promises')).lookup(host, { all: true }),
    presence: systemPresence,
    env: process.env,
    ...overrides,
  }
}

/** Adds the reason, such as a refused connection, to Node's 'fetch failed'. */
function throwWithReason(error: unknown): never {
  if (error instanceof TypeError && error.cause instanceof Error) {
    const { message, code } = error.cause as Error & { code?: string }
    // With several addresses, the cause has a code alone.
    error.message += `: ${message || code}`
  }
  throw error
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
    // The file does not exist, or may not be changed.
  }
}

/** Reads a file's status synchronously, which takes microseconds; the thread pool would take many times that. */
function look(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Number of entropy bytes read at a time: one call per id would cost more than most requests. */
const POOL_BYTES = 4096
let pool = ''

function hexDigits(count: number): string {
  if (pool.length < count)
    pool = process.getBuiltinModule('node:crypto').randomBytes(Math.max(POOL_BYTES, count)).toString('hex')
  const digits = pool.slice(0, count)
  pool = pool.slice(count)
  return digits
}

/** Number of digits from which ids ascend; things with shorter ids are few. */
const ASCENDING_DIGITS = 12

/**
 * Returns a maker of ids from the day (3 digits) and 4 random digits, which it keeps for some thousand ids, a number that
 * ascends by 1 to 256 so that successive ids look different (5 digits), and random digits. Rows with ascending ids are
 * appended to an index; with random ids, each changes another page, and a model turn writes a fifth more bytes.
 */
function ascendingIds(): (digits: number) => string {
  let block = ''
  let place = 16 ** 5
  return digits => {
    place += 1 + Number.parseInt(hexDigits(2), 16)
    if (place >= 16 ** 5) {
      block = lastDigits(Math.floor(Date.now() / 86_400_000), 3) + hexDigits(4)
      place = Number.parseInt(hexDigits(4), 16)
    }
    return block + lastDigits(place, 5) + hexDigits(digits - ASCENDING_DIGITS)
  }
}

function lastDigits(n: number, digits: number): string {
  return n.toString(16).padStart(digits, '0').slice(-digits)
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
