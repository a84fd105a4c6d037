import { useEffect, useRef, useState } from 'preact/hooks'
import { type Access, access, onAccess, setRefused } from './access.ts'
import { type Fault, faultOf } from './client.ts'
import { type FeedEvent, feed } from './feed.ts'
import { keepUnchanged } from './keep-unchanged.ts'

/** Minimum time between two requests for the same answer, in milliseconds. */
const REST_MS = 700
/** Slow answers are not requested again for this many times their duration. */
const REST_SHARE = 5
/** Pause after which a request that did not reach the server, or made it or a proxy fail, is sent again. */
const RETRY_MS = 5_000

export interface Query<T> {
  data: T | undefined
  /** Error of the last attempt; `data` still holds the answer before it. */
  fault: Fault | undefined
  loading: boolean
  /** Requests the answer again now. */
  reload(): Promise<void>
}

export interface QueryOptions<T> {
  ask: () => Promise<T>
  /** Selects the events and notices after which to request again; all by default. */
  on?: (event: Change) => boolean
}

/** Event or notice that a query can depend on. */
type Change = Pick<FeedEvent, 'type'> & Partial<Pick<FeedEvent, 'agent_id' | 'data'>>

/** Part of the page that uses an answer. */
interface Subscriber<T> {
  options: QueryOptions<T>
  onChange(): void
}

/** Answer of the server, requested once for all parts of the page that use it. */
class SharedQuery<T> {
  data: T | undefined
  fault: Fault | undefined
  readonly #subscribers = new Set<Subscriber<T>>()
  #running: Promise<void> | undefined
  #again = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Time at which the timer fires. */
  #due = Number.POSITIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #rest = REST_MS
  #undo: (() => void)[] = []

  /** @returns a function that ends the subscription */
  subscribe(subscriber: Subscriber<T>): () => void {
    this.#subscribers.add(subscriber)
    if (this.#subscribers.size === 1) this.#begin()
    else this.#soon()
    return () => {
      this.#subscribers.delete(subscriber)
      if (this.#subscribers.size === 0) this.#end()
    }
  }

  /** Requests now, and does not rely on a running request: its answer may be older than what the caller knows. */
  async reload(): Promise<void> {
    await this.#running
    await this.#now()
  }

  /** Drops the answer, because another key or tenant is in use. */
  forget(): void {
    this.data = undefined
    this.fault = undefined
    if (this.#subscribers.size > 0) void this.reload()
  }

  #begin(): void {
    this.fault = undefined
    void this.#now()
    const onVisible = () => this.#soon()
    document.addEventListener('visibilitychange', onVisible)
    this.#undo = [
      feed.onEvents(events => events.some(event => this.#concerns(event)) && this.#soon()),
      feed.onNotice(notice => this.#concerns(notice) && this.#soon()),
      feed.onState(() => feed.state === 'live' && this.#soon()),
      () => document.removeEventListener('visibilitychange', onVisible),
    ]
  }

  #end(): void {
    clearTimeout(this.#timer)
    for (const undo of this.#undo) undo()
  }

  #concerns(event: Change): boolean {
    return [...this.#subscribers].some(({ options: { on = () => true } }) => on(event))
  }

  async #load(): Promise<void> {
    const { ask } = [...this.#subscribers].at(-1)!.options
    const who = access()
    this.#askedAt = performance.now()
    const had = [this.data, this.fault]
    try {
      const answer = keepUnchanged(this.data, await ask())
      if (isOther(who)) return
      setRefused(false)
      this.data = answer
      this.fault = undefined
    } catch (error) {
      if (isOther(who)) return
      this.fault = faultOf(error)
      if (this.fault.status === 401) setRefused(true)
    }
    this.#rest = Math.max(REST_MS, REST_SHARE * (performance.now() - this.#askedAt))
    if (had[0] !== this.data || had[1] !== this.fault) for (const { onChange } of this.#subscribers) onChange()
  }

  async #now(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#subscribers.size === 0) return
    if (this.#running) return this.#running
    this.#again = false
    this.#running = this.#load()
    await this.#running
    this.#running = undefined
    this.#due = Number.POSITIVE_INFINITY
    if (this.#again) this.#later(this.#rest)
    else if (mayPass(this.fault)) this.#later(RETRY_MS)
  }

  #later(pause: number): void {
    clearTimeout(this.#timer)
    if (this.#subscribers.size === 0) return
    this.#due = performance.now() + pause
    this.#timer = setTimeout(() => void this.#now(), pause)
  }

  #soon(): void {
    if (document.hidden) return
    if (this.#running) this.#again = true
    // The first of many events has set the timer already.
    else if (this.#due > this.#askedAt + this.#rest)
      this.#later(Math.max(0, this.#askedAt + this.#rest - performance.now()))
  }
}

/** Returns whether the same request may succeed later without any event in the project. */
function mayPass(fault: Fault | undefined): boolean {
  if (fault === undefined || fault.code === 'daemon_not_running') return false
  return fault.status === 0 || fault.status === 429 || fault.status >= 500
}

/** Returns whether the key or tenant differs from that of a request. */
function isOther(who: Access): boolean {
  const { key, tenant } = access()
  return key !== who.key || tenant !== who.tenant
}

/** Latest answers by key: a page shows them at once when the reader comes back to it. */
const known = new Map<string, SharedQuery<unknown>>()
onAccess(() => {
  for (const shared of known.values()) shared.forget()
})

function sharedOf<T>(key: string): SharedQuery<T> {
  const shared = known.get(key) ?? new SharedQuery<unknown>()
  known.set(key, shared)
  return shared as SharedQuery<T>
}

/**
 * Returns the server's answer; requests it again after events that concern it, and after the stream of events
 * reconnects.
 * @param key names the answer; with null nothing is requested
 */
export function useQuery<T>(key: string | null, options: QueryOptions<T>): Query<T> {
  const [, render] = useState(0)
  const shared = key === null ? undefined : sharedOf<T>(key)
  const subscriber = useRef<Subscriber<T>>({ options, onChange: () => render(n => n + 1) })
  subscriber.current.options = options
  useEffect(() => shared?.subscribe(subscriber.current), [key])
  return {
    data: shared?.data,
    fault: shared?.fault,
    loading: shared !== undefined && shared.data === undefined && shared.fault === undefined,
    reload: async () => shared?.reload(),
  }
}

/**
 * Returns the query with its last answer in place while another one loads, such as for other words or more of a list.
 * @param of what all of its answers are about
 */
export function useLasting<T>(of: string, query: Query<T>): Query<T> {
  const last = useRef({ of, data: query.data })
  if (query.data !== undefined || last.current.of !== of) last.current = { of, data: query.data }
  return { ...query, data: last.current.data }
}

/** Selects what concerns one agent. */
export const ofAgent = (agent_id: string) => (event: Change) => event.agent_id === agent_id
/** Selects events of these types; `goal_` stands for all that begin with it. */
export const ofKinds =
  (...kinds: string[]) =>
  (event: Change) =>
    kinds.some(kind => (kind.endsWith('_') ? event.type.startsWith(kind) : event.type === kind))
/** Selects events that spend, or report spend. */
export const ofSpend = ofKinds(
  'cycle_done',
  'goal_',
  'tool_result',
  'task_',
  'pattern_',
  'swarm_',
  'budget_',
  'status_changed',
)
/** Selects no event, for answers that are requested once. */
export const never = () => false
