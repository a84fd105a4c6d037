import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#kernel'
import { TooManyAttemptsError, UnauthorizedError } from '../contract.ts'

const WINDOW_MS = 1_000
const WRONG_PER_WINDOW = 10
/** Maximum number of addresses remembered; beyond it the oldest is forgotten. */
const REMEMBERED = 1_000
/** Minimum number of visible characters of a key; a shorter one can be guessed. */
const SHORTEST_STRONG = 16

/** Command that sets a key that cannot be guessed. It uses Node, which is installed wherever svc runs. */
export const MAKE_A_KEY = `svc config set server.api_key "$(node -p 'crypto.randomBytes(32).toString("hex")')"`

/** Returns the weakness of a key that other machines can try; undefined when the key is long enough. */
export function weaknessOf(key: string): string | undefined {
  const visible = key.match(/[\p{L}\p{N}\p{P}\p{S}]/gu)?.length ?? 0
  if (key === '' || visible >= SHORTEST_STRONG) return undefined
  return `The key in server.api_key has ${visible} visible characters; with fewer than ${SHORTEST_STRONG} it can be guessed`
}

/** Checks the shared key, and limits guessing. */
export class Keys {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #wrong = new Map<string, { since: number; count: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /**
   * Accepts `key` even after many wrong keys from its address, because all clients behind a proxy share one.
   * @param authorization whether the request has the header Authorization, which the error then mentions
   * @throws UnauthorizedError alike for a missing and a wrong key
   * @throws TooManyAttemptsError for a wrong key after ten within a second from the same address
   */
  check(key: string, given: string | undefined, address: string, authorization = false): void {
    // Node decodes header bytes as Latin-1, though a key beyond ASCII was sent as UTF-8. A missing key takes the same
    // time to compare.
    const isRight = timingSafeEqual(digest(Buffer.from(given ?? '', 'latin1')), digest(Buffer.from(key)))
    if (isRight && given !== undefined) return
    if (given !== undefined && this.#count(address) > WRONG_PER_WINDOW) throw new TooManyAttemptsError()
    throw new UnauthorizedError({ authorization })
  }

  /**
   * Counts a wrong key.
   * @returns the number of wrong keys from this address in its current second
   */
  #count(address: string): number {
    const now = this.#clock.monotonic()
    const known = this.#wrong.get(address)
    if (known && now - known.since < WINDOW_MS) return ++known.count
    this.#wrong.delete(address)
    const [oldest] = this.#wrong.keys()
    if (oldest !== undefined && this.#wrong.size >= REMEMBERED) this.#wrong.delete(oldest)
    this.#wrong.set(address, { since: now, count: 1 })
    return 1
  }
}

/** Hashes a key, so that all compared values have the same length and the comparison takes the same time. */
function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
