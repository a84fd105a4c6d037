import { createParser } from 'eventsource-parser'
import type { FeedEvent, ToTab } from './messages.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/**
 * Silence after which a connection counts as dead, in milliseconds. The server sends a sign of life every 15 seconds.
 */
const SILENT_MS = 40_000
const CHECK_MS = 5_000
/** Time in which the events of a burst are collected, in milliseconds. */
const GATHER_MS = 50

/** Follows `/events` until it is stopped, across reconnects, without loss or repetition. */
export function followFeed(headers: Record<string, string>, send: (message: ToTab) => void): () => void {
  const stopped = new AbortController()
  void follow(headers, send, stopped.signal)
  return () => stopped.abort()
}

async function follow(headers: Record<string, string>, send: (message: ToTab) => void, signal: AbortSignal) {
  let after: string | undefined
  let pause = FIRST_PAUSE_MS
  let gathered: FeedEvent[] = []
  const flush = () => {
    if (gathered.length > 0) send({ type: 'events', events: gathered })
    gathered = []
  }
  send({ type: 'state', state: 'connecting' })
  while (!signal.aborted) {
    let refused = false
    const silence = new SilenceTimeout(signal)
    try {
      const answer = await fetch(after === undefined ? '/events?notices=true&last=200' : '/events?notices=true', {
        headers: after === undefined ? headers : { ...headers, 'last-event-id': after },
        signal: silence.signal,
        cache: 'no-store',
      })
      refused = answer.status === 401 || answer.status === 403
      // The requested events are gone: start over.
      if (answer.status === 410) after = undefined
      if (!answer.ok || !answer.body) throw new Error(`${answer.status}`)
      const parser = createParser({
        onEvent({ event, id, data }) {
          if (event === 'open' && Number(id) < Number(after ?? 0)) {
            after = undefined
            gathered = []
            send({ type: 'anew' })
            throw new Error('The received events are from another database.')
          }
          // Only now: anything may answer in place of the server, such as the login page of a proxy.
          if (event === 'open') {
            pause = FIRST_PAUSE_MS
            send({ type: 'state', state: 'live' })
          }
          if (id) after = id
          if (event === 'notice') send({ type: 'notice', notice: JSON.parse(data) })
          if (event !== 'message') return
          if (gathered.length === 0) setTimeout(flush, GATHER_MS)
          gathered.push(JSON.parse(data))
        },
      })
      const decoder = new TextDecoder()
      const reader = answer.body.getReader()
      for (;;) {
        const { value, done } = await reader.read()
        if (done) break
        silence.restart()
        parser.feed(decoder.decode(value, { stream: true }))
      }
    } catch {
      if (signal.aborted) return
    } finally {
      silence.close()
    }
    send({ type: 'state', state: refused ? 'refused' : 'lost' })
    await sleepUntilOnline(pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
  }
}

/** Closes a connection that has gone silent: after the machine slept, nothing else reports that it is dead. */
class SilenceTimeout {
  readonly signal: AbortSignal
  readonly #expired = new AbortController()
  readonly #timer: ReturnType<typeof setInterval>
  #last = Date.now()

  constructor(stopped: AbortSignal) {
    this.signal = AbortSignal.any([stopped, this.#expired.signal])
    this.#timer = setInterval(() => {
      if (Date.now() - this.#last > SILENT_MS) this.#expired.abort()
    }, CHECK_MS)
  }

  restart(): void {
    this.#last = Date.now()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#expired.abort()
  }
}

/** Waits for a pause; returns early if the network comes back. */
function sleepUntilOnline(ms: number): Promise<void> {
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      removeEventListener('online', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    addEventListener('online', finish)
  })
}
