import { createParser } from 'eventsource-parser'
import type { Happening, ToTab } from './messages.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** Events that come in a burst are told together. */
const GATHER_MS = 50

/** Follows `/events` until it is stopped, over every break of the connection, without loss or repetition. */
export function followFeed(headers: Record<string, string>, tell: (message: ToTab) => void): () => void {
  const stopped = new AbortController()
  void follow(headers, tell, stopped.signal)
  return () => stopped.abort()
}

async function follow(headers: Record<string, string>, tell: (message: ToTab) => void, signal: AbortSignal) {
  let after: string | undefined
  let pause = FIRST_PAUSE_MS
  let gathered: Happening[] = []
  const flush = () => {
    if (gathered.length > 0) tell({ type: 'events', events: gathered })
    gathered = []
  }
  tell({ type: 'state', state: 'connecting' })
  while (!signal.aborted) {
    let refused = false
    try {
      const answer = await fetch(after === undefined ? '/events?last=200' : '/events', {
        headers: after === undefined ? headers : { ...headers, 'last-event-id': after },
        signal,
        cache: 'no-store',
      })
      refused = answer.status === 401 || answer.status === 403
      // What is asked for is gone: begin anew.
      if (answer.status === 410) after = undefined
      if (!answer.ok || !answer.body) throw new Error(`${answer.status}`)
      tell({ type: 'state', state: 'live' })
      pause = FIRST_PAUSE_MS
      const parser = createParser({
        onEvent({ event, id, data }) {
          if (id) after = id
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
        parser.feed(decoder.decode(value, { stream: true }))
      }
    } catch {
      if (signal.aborted) return
    }
    tell({ type: 'state', state: refused ? 'refused' : 'lost' })
    await new Promise(resolve => setTimeout(resolve, pause))
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
  }
}
