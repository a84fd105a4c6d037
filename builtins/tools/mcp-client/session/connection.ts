import { type Clock, errorMessage, HostToken, type PluginHandle, withTimeLimit } from '#kernel'
import type { McpServerSettings } from '../config.ts'
import { type McpServer, McpServerDownError } from '../contract.ts'
import { type Listing, readListing } from '../listing.ts'
import { preparePreset, presetFailure } from '../presets.ts'
import { redactorFor } from './environment.ts'
import { explainError, openSession, type Session } from './session.ts'

/** Delay after the first of consecutive failures, in milliseconds; it doubles with each further one. */
const FIRST_REST_MS = 1_000
/**
 * Number of consecutive failures after which a server is suspended, and duration of the suspension, in milliseconds.
 */
const FAILURES = 5
const SUSPENDED_MS = 300_000
/** Minimum run time after which an end does not count as a consecutive failure, in milliseconds. */
const STEADY_MS = 60_000
/** Minimum time between two reads of a changed list of tools, in milliseconds. */
const LIST_GAP_MS = 1_000

/**
 * The connection to one server: opened on demand, reopened with a delay after failures, suspended after repeated ones.
 */
export class Connection {
  readonly #svc: PluginHandle
  readonly #name: string
  readonly #settings: McpServerSettings
  readonly #onListing: (listing: Listing) => Promise<void>
  readonly #stop = new AbortController()
  #session: Session | undefined
  #connecting: Promise<Session> | undefined
  #hurry = new AbortController()
  #reading: Promise<void> | undefined
  #isStale = false
  #made = 0
  #since = 0
  #failures = 0
  #retryAt = 0
  /** The latest failure; null after a success. */
  error: string | null = null

  /** @param onListing called with the server's tools before they are used, and whenever they change */
  constructor(
    svc: PluginHandle,
    name: string,
    settings: McpServerSettings,
    onListing: (listing: Listing) => Promise<void>,
  ) {
    this.#svc = svc
    this.#name = name
    this.#settings = settings
    this.#onListing = onListing
  }

  get session(): Session | undefined {
    return this.#session
  }

  get restarts(): number {
    return Math.max(0, this.#made - 1)
  }

  /** Milliseconds until the next attempt; 0 when it may start now. */
  get rest(): number {
    return Math.max(0, this.#retryAt - this.#clock.monotonic())
  }

  get state(): McpServer['state'] {
    if (this.#session) return 'connected'
    if (this.rest > 0) return this.#failures < FAILURES ? 'waiting' : 'suspended'
    return this.#connecting ? 'starting' : 'idle'
  }

  /**
   * Returns the open connection, or opens one once the delay is over.
   * @throws McpServerDownError
   */
  ready(): Promise<Session> {
    if (this.#session) return Promise.resolve(this.#session)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /**
   * Opens a new connection at once, regardless of earlier failures.
   * @throws McpServerDownError
   */
  async restart(): Promise<Session> {
    this.#failures = 0
    this.#retryAt = 0
    this.#hurry.abort()
    await this.#connecting?.catch(() => {})
    if (this.#session) await this.drop(this.#session)
    return this.ready()
  }

  /** Closes a broken connection. With a problem it counts as a failure. */
  async drop(session: Session, problem?: string): Promise<void> {
    if (this.#session !== session) return
    this.#session = undefined
    if (problem !== undefined) this.#recordFailure(problem)
    await session.close()
  }

  /** Records a successful call. */
  recordSuccess(): void {
    this.#failures = 0
    this.error = null
  }

  /** Closes the connection for good, including all processes that it started. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('its connection was closed, because its configuration changed or svc is stopping'))
    await this.#connecting?.catch(() => {})
    if (this.#session) await this.drop(this.#session)
    await this.#reading
  }

  get #clock(): Clock {
    return this.#svc.clock
  }

  async #connect(): Promise<Session> {
    const { signal } = this.#stop
    if (this.state === 'suspended') throw this.#down(`${this.error}; it failed ${this.#failures} times in a row`)
    this.#hurry = new AbortController()
    if (this.rest > 0) await this.#clock.sleep(this.rest, AbortSignal.any([signal, this.#hurry.signal]))
    if (signal.aborted) throw this.#down(errorMessage(signal.reason))
    const abort = new AbortController()
    const started = this.#start(AbortSignal.any([signal, abort.signal]))
    try {
      const limit = this.#settings.start_timeout * 1000
      const session = await withTimeLimit(this.#clock, limit, 'Starting the server and listing its tools', started)
      this.#made++
      this.#since = this.#clock.monotonic()
      this.error = null
      this.#session = session
      void session.ended.then(reason => this.drop(session, reason))
      return session
    } catch (error) {
      abort.abort(error)
      // Wait until nothing of the failed attempt is left.
      await started.then(
        session => session.close(),
        () => {},
      )
      if (signal.aborted) throw this.#down(errorMessage(signal.reason))
      this.#recordFailure(explainError(error))
      throw this.#down(this.error ?? '')
    }
  }

  async #start(signal: AbortSignal): Promise<Session> {
    const listChanged = () => {
      this.#isStale = true
      this.#reading ??= this.#readAgain().finally(() => {
        this.#reading = undefined
      })
    }
    const isProgram = this.#settings.command !== undefined
    const blockedReason = isProgram ? await this.#svc.use(HostToken).blockedReason() : undefined
    if (blockedReason !== undefined) throw new Error(`its program was not started: ${blockedReason}`)
    const settings = await preparePreset(this.#svc, this.#settings)
    const session = await openSession(this.#svc, this.#name, settings, { signal, listChanged }).catch(error => {
      throw signal.aborted ? error : presetFailure(settings, error)
    })
    try {
      await this.#onListing(await readListing(session, signal))
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }

  /** Reads the server's list of tools again after changes, at a limited rate. */
  async #readAgain(): Promise<void> {
    const { signal } = this.#stop
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false
      try {
        if (this.#session) await this.#onListing(await readListing(this.#session, signal))
      } catch (error) {
        this.#svc.log.warn({}, `MCP server ${this.#name}: its tools could not be listed again: ${explainError(error)}`)
      }
      await this.#clock.sleep(LIST_GAP_MS, signal)
    }
  }

  #recordFailure(problem: string): void {
    const now = this.#clock.monotonic()
    const isSteady = this.#made > 0 && now - this.#since >= STEADY_MS
    this.#failures = isSteady ? 1 : this.#failures + 1
    const rest = this.#failures < FAILURES ? FIRST_REST_MS * 2 ** (this.#failures - 1) : SUSPENDED_MS
    this.#retryAt = now + rest
    this.error = redactorFor(this.#settings, this.#svc.ports.env)(problem)
    this.#svc.log.warn({}, `MCP server ${this.#name}: ${this.error}; it is not started again for ${rest / 1000} s`)
  }

  #down(problem: string): Error {
    const again =
      this.rest > 0
        ? `; it can be started again in ${Math.ceil(this.rest / 1000)} s, or at once with: svc mcp-servers restart ${this.#name}`
        : ''
    return new McpServerDownError({ name: this.#name, problem: `${problem}${again}` })
  }
}
