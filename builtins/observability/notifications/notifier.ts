import { errorMessage, type PluginHandle, token } from '#kernel'
import { newestSeq, Store } from '#platform/store/contract'
import type { NotificationsConfig } from './config.ts'
import { NoNotificationUrlError, NotificationFailedError, type NotificationSent } from './contract.ts'
import { lineOf, requestBody } from './message.ts'
import { moveCursor, newestEvents, readCursor } from './repository.ts'

const TIME_LIMIT_MS = 10_000
/** Maximum number of events that one notification describes. */
const MOST = 20
/** Older events are not sent, such as after a day without a receiver. */
const MAX_AGE_MS = 24 * 3_600_000
const FIRST_WAIT_MS = 10_000
const LONGEST_WAIT_MS = 600_000
/** Number of failures in a row after which the status of the daemon reports them. */
const REPORTED = 3

/**
 * Sends what happened to the operator, in one notification for each heartbeat at most. How far it came is stored after
 * each, so that a notification is sent at least once.
 */
export class Notifier {
  readonly #svc: PluginHandle
  readonly #config: NotificationsConfig
  #sending = false
  #failures = 0
  #problem = ''
  /** Time before which nothing is sent, in milliseconds on the monotonic clock. */
  #notBefore = 0

  constructor(svc: PluginHandle, config: NotificationsConfig) {
    this.#svc = svc
    this.#config = config
  }

  /** Sends the events since the last notification. A failure is logged, and tried again later, after a growing time. */
  async deliver(): Promise<void> {
    const { clock, log } = this.#svc
    if (this.#config.url === '' || this.#sending || clock.monotonic() < this.#notBefore) return
    this.#sending = true
    try {
      await this.#deliver()
      this.#failures = 0
    } catch (error) {
      this.#problem = errorMessage(error)
      this.#notBefore = clock.monotonic() + Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS)
      this.#failures++
      log.warn({ code: 'notification_failed' }, `${this.#problem} It is sent again later.`)
    } finally {
      this.#sending = false
    }
  }

  /** @throws NoNotificationUrlError, NotificationFailedError */
  async test(): Promise<NotificationSent> {
    const text = 'This is a test: notifications of svc arrive.'
    return { text, status: await this.#post({ text, events: [], address: '' }) }
  }

  /** Returns a sentence about a receiver that keeps failing. */
  problems(): string[] {
    if (this.#config.url === '' || this.#failures < REPORTED) return []
    return [`Notifications do not arrive: ${this.#problem} Try it with: svc notifications test`]
  }

  async #deliver(): Promise<void> {
    const store = this.#svc.use(Store)
    const after = await readCursor(store)
    const upTo = await newestSeq(store)
    if (upTo === after) return
    // What happened before notifications were switched on is not sent.
    if (after !== undefined) {
      const since = this.#svc.clock.ms() - MAX_AGE_MS
      const found = await newestEvents(store, { after, upTo, since, types: this.#config.events, limit: MOST + 1 })
      const events = found.slice(0, MOST).reverse()
      const more = found.length > MOST ? ['Earlier ones: svc summary'] : []
      const address = String(this.#svc.config.get('a2a.public.url') ?? '')
      const text = [...events.map(event => lineOf(event, address)), ...more].join('\n')
      if (events.length > 0) await this.#post({ text, events, address })
    }
    await store.apply([moveCursor(upTo)])
  }

  /** @returns the status of the answer @throws NoNotificationUrlError, NotificationFailedError */
  async #post(message: Parameters<typeof requestBody>[1]): Promise<number> {
    const { url, format } = this.#config
    if (url === '') throw new NoNotificationUrlError()
    const { body, type } = requestBody(format, message)
    const request = { method: 'POST', headers: { 'content-type': type }, body, redirect: 'manual' } as const
    const signal = AbortSignal.timeout(TIME_LIMIT_MS)
    const answer = await this.#svc.ports.fetch(url, { ...request, signal }).catch(error => {
      const problem = signal.aborted ? `no answer within ${TIME_LIMIT_MS / 1000} s` : errorMessage(error)
      throw new NotificationFailedError({ problem: problem.replace(/[.\s]*$/, '') })
    })
    await answer.body?.cancel()
    if (!answer.ok) throw new NotificationFailedError({ problem: `the receiver answered HTTP ${answer.status}` })
    return answer.status
  }
}

export const OwnNotifier = token<Notifier>('notifications/notifier')
