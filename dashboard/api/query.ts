import { useEffect, useRef, useState } from 'preact/hooks'
import { type Access, access, onAccess, setRefused } from './access.ts'
import { type Fault, faultOf } from './client.ts'
import { feed, type Happening } from './feed.ts'
import { kept } from './kept.ts'

/** Answers are asked for again at most so often, however much happens. */
const REST_MS = 700
/** And large ones, which take long, rest so many times as long as they took. */
const REST_SHARE = 5
/** And at least so often while they are looked at, since not everything is told as an event. */
const REFRESH_MS = 5_000

export interface Query<T> {
  data: T | undefined
  /** Why the last try failed; what was known before still stands in `data`. */
  fault: Fault | undefined
  loading: boolean
  /** Asks again now. */
  reload(): Promise<void>
}

interface Asked<T> {
  ask: () => Promise<T>
  /** Asked again when such an event comes; by every event unless told. */
  on?: (event: Happening) => boolean
  /** Milliseconds between two askings without events; null for never. */
  every?: number | null
}

/** A part of the page that looks at an answer. */
interface Looker<T> {
  asked: Asked<T>
  told(): void
}

/** One answer of the server, however many parts of the page look at it: asked for once for all of them. */
class Shared<T> {
  data: T | undefined
  fault: Fault | undefined
  readonly #lookers = new Set<Looker<T>>()
  #running: Promise<void> | undefined
  #again = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** When the timer goes off. */
  #due = Number.POSITIVE_INFINITY
  #asked = Number.NEGATIVE_INFINITY
  #rest = REST_MS
  #undo: (() => void)[] = []

  /** @returns ends the look */
  look(looker: Looker<T>): () => void {
    this.#lookers.add(looker)
    if (this.#lookers.size === 1) this.#begin()
    else this.#soon()
    return () => {
      this.#lookers.delete(looker)
      if (this.#lookers.size === 0) this.#end()
    }
  }

  /** Asks now; what was being asked for already may be older than what the asker knows. */
  async reload(): Promise<void> {
    await this.#running
    await this.#now()
  }

  /** Another reader is here: nothing is known any more. */
  forget(): void {
    this.data = undefined
    this.fault = undefined
    if (this.#lookers.size > 0) void this.reload()
  }

  #begin(): void {
    this.fault = undefined
    void this.#now()
    const seen = () => this.#soon()
    document.addEventListener('visibilitychange', seen)
    this.#undo = [
      feed.onEvents(events => events.some(event => this.#concerns(event)) && this.#soon()),
      feed.onState(() => feed.state === 'live' && this.#soon()),
      () => document.removeEventListener('visibilitychange', seen),
    ]
  }

  #end(): void {
    clearTimeout(this.#timer)
    for (const undo of this.#undo) undo()
  }

  #concerns(event: Happening): boolean {
    return [...this.#lookers].some(({ asked: { on = () => true } }) => on(event))
  }

  async #load(): Promise<void> {
    const { ask } = [...this.#lookers].at(-1)!.asked
    const who = access()
    this.#asked = performance.now()
    const had = [this.data, this.fault]
    try {
      const answer = kept(this.data, await ask())
      if (isOther(who)) return
      setRefused(false)
      this.data = answer
      this.fault = undefined
    } catch (error) {
      if (isOther(who)) return
      this.fault = faultOf(error)
      if (this.fault.status === 401) setRefused(true)
    }
    this.#rest = Math.max(REST_MS, REST_SHARE * (performance.now() - this.#asked))
    if (had[0] !== this.data || had[1] !== this.fault) for (const { told } of this.#lookers) told()
  }

  async #now(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#lookers.size === 0) return
    if (this.#running) return this.#running
    this.#again = false
    this.#running = this.#load()
    await this.#running
    this.#running = undefined
    this.#later(this.#again ? this.#rest : this.#every())
  }

  #every(): number | null {
    const all = [...this.#lookers].map(({ asked: { every = REFRESH_MS } }) => every ?? Number.POSITIVE_INFINITY)
    const shortest = Math.min(...all)
    return shortest === Number.POSITIVE_INFINITY ? null : shortest
  }

  #later(pause: number | null): void {
    clearTimeout(this.#timer)
    this.#due = Number.POSITIVE_INFINITY
    if (this.#lookers.size === 0 || pause === null) return
    this.#due = performance.now() + pause
    // What nobody looks at is not asked for.
    this.#timer = setTimeout(() => (document.hidden ? this.#later(pause) : void this.#now()), pause)
  }

  #soon(): void {
    if (document.hidden) return
    if (this.#running) this.#again = true
    // Of many events, the first has set the time.
    else if (this.#due > this.#asked + this.#rest)
      this.#later(Math.max(0, this.#asked + this.#rest - performance.now()))
  }
}

/** Whether another key or tenant is used than was when something was asked. */
function isOther(who: Access): boolean {
  const { key, tenant } = access()
  return key !== who.key || tenant !== who.tenant
}

/** By key, what was answered last: a page that is come back to shows it at once. */
const known = new Map<string, Shared<unknown>>()
onAccess(() => {
  for (const shared of known.values()) shared.forget()
})

function sharedOf<T>(key: string): Shared<T> {
  const shared = known.get(key) ?? new Shared<unknown>()
  known.set(key, shared)
  return shared as Shared<T>
}

/**
 * What the server answers, kept up to date while it is looked at: by events, and now and then.
 * @param key names the answer; null asks for nothing
 */
export function useQuery<T>(key: string | null, asked: Asked<T>): Query<T> {
  const [, render] = useState(0)
  const shared = key === null ? undefined : sharedOf<T>(key)
  const looker = useRef<Looker<T>>({ asked, told: () => render(n => n + 1) })
  looker.current.asked = asked
  useEffect(() => shared?.look(looker.current), [key])
  return {
    data: shared?.data,
    fault: shared?.fault,
    loading: shared !== undefined && shared.data === undefined && shared.fault === undefined,
    reload: async () => shared?.reload(),
  }
}

/**
 * The same query, its last answer in place while another is asked for: other words, or more of a list.
 * @param of what all of its answers are of
 */
export function useLasting<T>(of: string, query: Query<T>): Query<T> {
  const last = useRef({ of, data: query.data })
  if (query.data !== undefined || last.current.of !== of) last.current = { of, data: query.data }
  return { ...query, data: last.current.data }
}

/** Events of one agent. */
export const ofAgent = (agent_id: string) => (event: Happening) => event.agent_id === agent_id
/** Events of these kinds: `goal_` stands for all that begin so. */
export const ofKinds =
  (...kinds: string[]) =>
  (event: Happening) =>
    kinds.some(kind => (kind.endsWith('_') ? event.type.startsWith(kind) : event.type === kind))
