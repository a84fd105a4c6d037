import { useEffect, useState } from 'preact/hooks'
import { access, headerOf, onAccess } from './access.ts'
import { followFeed } from './follow.ts'
import { type FeedEvent, type FeedState, type FromTab, HELLO_MS, KEPT, type Notice, type ToTab } from './messages.ts'

export type { FeedEvent, FeedState, Notice } from './messages.ts'

type Listener = (events: readonly FeedEvent[]) => void

/** Events of the project, from the one stream that all tabs share. */
class Feed {
  state: FeedState = 'connecting'
  readonly latest: FeedEvent[] = []
  readonly #listeners = new Set<Listener>()
  readonly #noticers = new Set<(notice: Notice) => void>()
  readonly #watchers = new Set<() => void>()
  #port: MessagePort | undefined
  #stop = () => {}

  constructor() {
    if (typeof SharedWorker === 'undefined') this.#alone()
    else this.#connectWorker()
  }

  #connectWorker(): void {
    const worker = new SharedWorker('/assets/feed.js', { type: 'module', name: 'svc events' })
    const { port } = worker
    this.#port = port
    worker.onerror = () => {
      this.#port = undefined
      this.#alone()
    }
    port.onmessage = ({ data }: MessageEvent<ToTab>) => this.#receive(data)
    this.#hello()
    setInterval(() => this.#hello(), HELLO_MS)
    addEventListener('pagehide', () => this.#say({ type: 'bye' }))
    addEventListener('pageshow', () => this.#hello())
    onAccess(() => this.#hello())
  }

  onEvents(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  onNotice(listener: (notice: Notice) => void): () => void {
    this.#noticers.add(listener)
    return () => void this.#noticers.delete(listener)
  }

  onState(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Opens a stream for this tab alone, if the browser has no shared workers or does not start one. */
  #alone(): void {
    const begin = () => {
      this.#stop()
      this.#stop = followFeed(headers(), message => this.#receive(message))
    }
    begin()
    onAccess(begin)
  }

  #hello(): void {
    this.#say({ type: 'hello', headers: headers() })
  }

  #say(message: FromTab): void {
    this.#port?.postMessage(message)
  }

  #receive(message: ToTab): void {
    if (message.type === 'state') {
      this.state = message.state
      for (const watcher of this.#watchers) watcher()
      return
    }
    if (message.type === 'anew') {
      this.latest.length = 0
      return
    }
    if (message.type === 'notice') {
      for (const listener of this.#noticers) listener(message.notice)
      return
    }
    const last = this.latest.at(-1)?.seq ?? 0
    const fresh = message.events.filter(({ seq }) => seq > last)
    if (fresh.length === 0) return
    this.latest.push(...fresh)
    this.latest.splice(0, this.latest.length - KEPT)
    for (const listener of this.#listeners) listener(fresh)
  }
}

function headers(): Record<string, string> {
  const { key, tenant } = access()
  return { ...(key ? { 'x-svc-key': headerOf(key) } : {}), ...(tenant ? { 'x-svc-user': tenant } : {}) }
}

export const feed = new Feed()

export function useFeedState(): FeedState {
  const [state, setState] = useState(feed.state)
  useEffect(() => {
    const update = () => setState(feed.state)
    // The state may have changed before this effect ran.
    update()
    return feed.onState(update)
  }, [])
  return state
}

/** Returns the latest matching events, newest first, and keeps them up to date. */
export function useLatest(matches: (event: FeedEvent) => boolean, limit: number): readonly FeedEvent[] {
  const pick = () => feed.latest.filter(matches).slice(-limit).reverse()
  const [events, setEvents] = useState(pick)
  useEffect(() => {
    setEvents(pick())
    return feed.onEvents(came => came.some(matches) && setEvents(pick()))
  }, [])
  return events
}
