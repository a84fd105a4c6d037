import { useEffect, useRef, useState } from 'preact/hooks'
import { onAccess } from './access.ts'
import { type Fault, faultOf } from './client.ts'
import { feed, type Happening } from './feed.ts'

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

/** What was answered last, by key: a page that is come back to shows it at once. */
const known = new Map<string, unknown>()
onAccess(() => known.clear())

/**
 * What the server answers, kept up to date while it is looked at: by events, and now and then.
 * @param key names the answer; null asks for nothing
 */
export function useQuery<T>(key: string | null, { ask, on = () => true, every = REFRESH_MS }: Asked<T>): Query<T> {
  const [, render] = useState(0)
  const fault = useRef<Fault | undefined>(undefined)
  const latest = useRef({ ask, on })
  latest.current = { ask, on }
  const reload = useRef<() => Promise<void>>(async () => {})

  useEffect(() => {
    if (key === null) return
    let gone = false
    let running: Promise<void> | undefined
    let again = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let asked = Number.NEGATIVE_INFINITY
    let rest = REST_MS

    const load = async () => {
      asked = performance.now()
      try {
        const answer = await latest.current.ask()
        if (gone) return
        known.set(key, answer)
        fault.current = undefined
      } catch (error) {
        if (gone) return
        fault.current = faultOf(error)
      }
      rest = Math.max(REST_MS, REST_SHARE * (performance.now() - asked))
      render(n => n + 1)
    }
    const now = async () => {
      clearTimeout(timer)
      if (running) {
        again = true
        return running
      }
      running = load()
      await running
      running = undefined
      if (gone) return
      later(again ? rest : every)
      again = false
    }
    const later = (pause: number | null) => {
      clearTimeout(timer)
      // What nobody looks at is not asked for.
      if (!gone && pause !== null) timer = setTimeout(() => (document.hidden ? later(pause) : void now()), pause)
    }
    const soon = () => {
      if (document.hidden) return
      if (running) again = true
      else later(Math.max(0, rest - (performance.now() - asked)))
    }
    const seen = () => document.hidden || soon()
    reload.current = now
    fault.current = undefined
    void now()
    const undo = [
      feed.onEvents(events => events.some(event => latest.current.on(event)) && soon()),
      feed.onState(() => feed.state === 'live' && soon()),
      onAccess(() => void now()),
    ]
    document.addEventListener('visibilitychange', seen)
    return () => {
      gone = true
      clearTimeout(timer)
      for (const each of undo) each()
      document.removeEventListener('visibilitychange', seen)
    }
  }, [key])

  const data = key === null ? undefined : (known.get(key) as T | undefined)
  return {
    data,
    fault: fault.current,
    loading: key !== null && data === undefined && fault.current === undefined,
    reload: () => reload.current(),
  }
}

/** Events of one agent. */
export const ofAgent = (agent_id: string) => (event: Happening) => event.agent_id === agent_id
/** Events of these kinds: `goal_` stands for all that begin so. */
export const ofKinds =
  (...kinds: string[]) =>
  (event: Happening) =>
    kinds.some(kind => (kind.endsWith('_') ? event.type.startsWith(kind) : event.type === kind))
