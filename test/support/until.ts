import type { EventName, Events } from '#kernel'
import { turn } from './clock.ts'
import type { House } from './house.ts'

/** How long to wait before it is said what did not come, in real milliseconds. */
const PATIENCE_MS = 10_000

/** Resolves with the payload of the next event of this name (that matches). @throws after 10 s, naming the event */
export function until<E extends EventName>(
  house: Pick<House, 'kernel'>,
  event: E,
  matches?: (payload: Events[E]) => boolean,
): Promise<Events[E]>
/** Resolves when the predicate, asked at each turn of the event loop, holds. @throws after 10 s, showing the predicate */
export function until(predicate: () => unknown): Promise<void>
export function until<E extends EventName>(
  what: Pick<House, 'kernel'> | (() => unknown),
  event?: E,
  matches: (payload: Events[E]) => boolean = () => true,
): Promise<Events[E] | void> {
  return typeof what === 'function' ? untilTrue(what) : untilEvent(what, event as E, matches)
}

async function untilTrue(predicate: () => unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await predicate())) {
    if (performance.now() > deadline)
      throw new Error(`within ${PATIENCE_MS / 1000} s it did not hold that ${predicate}`)
    await turn()
  }
}

async function untilEvent<E extends EventName>(
  { kernel }: Pick<House, 'kernel'>,
  event: E,
  matches: (payload: Events[E]) => boolean,
): Promise<Events[E]> {
  const seen: Events[E][] = []
  const off = kernel.hooks.on(event, payload => {
    if (matches(payload)) seen.push(payload)
  })
  try {
    await untilTrue(() => seen.length > 0)
    return seen[0]!
  } catch (error) {
    throw new Error(`within ${PATIENCE_MS / 1000} s there was no ${event} as expected`, { cause: error })
  } finally {
    await off()
  }
}
