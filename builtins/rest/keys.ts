import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#kernel'
import { TooManyAttemptsError, UnauthorizedError } from './contract.ts'

const WINDOW_MS = 1_000
const WRONG_PER_WINDOW = 10
/** Addresses remembered; beyond it, those whose window is over are forgotten. */
const REMEMBERED = 1_000

/** The check of the shared key, with a brake on guessing. */
export class Keys {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #wrong = new Map<string, { since: number; count: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /**
   * Lets the holder of `key` pass.
   * @throws UnauthorizedError alike for a missing and a wrong key
   * @throws TooManyAttemptsError after ten wrong ones within a second from the same address, right or wrong
   */
  check(key: string, given: string | undefined, address: string): void {
    const wrong = this.#recent(address)
    if (wrong && wrong.count >= WRONG_PER_WINDOW) throw new TooManyAttemptsError()
    // Node reads header bytes as Latin-1; a key beyond ASCII was sent as UTF-8. A missing one takes the same time.
    const right = timingSafeEqual(digest(Buffer.from(given ?? '', 'latin1')), digest(Buffer.from(key)))
    if (right && given !== undefined) return
    if (given !== undefined) {
      if (wrong) wrong.count++
      else this.#remember(address)
    }
    throw new UnauthorizedError()
  }

  #recent(address: string) {
    const wrong = this.#wrong.get(address)
    if (wrong && this.#clock.monotonic() - wrong.since < WINDOW_MS) return wrong
    this.#wrong.delete(address)
    return undefined
  }

  #remember(address: string): void {
    if (this.#wrong.size >= REMEMBERED) for (const known of [...this.#wrong.keys()]) this.#recent(known)
    this.#wrong.set(address, { since: this.#clock.monotonic(), count: 1 })
  }
}

/** Equal lengths, whatever was sent, so that the comparison takes the same time for all. */
function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
