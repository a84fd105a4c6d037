import type { Log, Ports } from '#kernel'
import type { ModelCall, ModelError } from '../contract.ts'

/** Interval at which a server that is loading its model is asked again, in seconds. */
const LOADING_POLL_S = 2

interface LoadingLimits {
  ports: Pick<Ports, 'clock'>
  log: Log
  /** Maximum wait, in seconds. */
  first_byte_timeout: number
}

/** Waits for a server that is loading its model, with one line in the log. */
export class LoadingWait {
  readonly #call: ModelCall
  readonly #limits: LoadingLimits
  /** Time in milliseconds on the monotonic clock, set when the server is first seen to load. */
  #until: number | undefined
  #isLogged = false

  constructor(call: ModelCall, limits: LoadingLimits) {
    this.#call = call
    this.#limits = limits
  }

  /** Whether time is left to ask the server again. */
  get allowsAnother(): boolean {
    const { ports, first_byte_timeout } = this.#limits
    const now = ports.clock.monotonic()
    this.#until ??= now + first_byte_timeout * 1000
    return now + LOADING_POLL_S * 1000 < this.#until
  }

  /** Waits until the server may be asked again, or the signal is aborted. */
  async pause(failure: ModelError, signal: AbortSignal): Promise<void> {
    const { ports, log, first_byte_timeout } = this.#limits
    const { agent_id, goal_id, cycle_num } = this.#call.purpose
    if (!this.#isLogged) {
      log.warn(
        { agent_id, goal_id, cycle_num, code: 'model_loading' },
        `${failure.message} Asking again every ${LOADING_POLL_S} s, for ${first_byte_timeout} s at most.`,
      )
    }
    this.#isLogged = true
    await ports.clock.sleep(LOADING_POLL_S * 1000, signal)
  }
}
