import type { EventName, Events } from '#kernel'
import { turn } from './clock.ts'
import type { TestHost } from './test-host.ts'

/** Time to wait before failing, in real milliseconds. */
const PATIENCE_MS = 60_000
/** Number of event loop turns after which work of this process is done; other processes are polled. */
const TURNS = 200
/** Pause between two polls, in real milliseconds, which leaves the processor to the processes that are waited for. */
const REST_MS = 5

/** Resolves with the payload of the next event of this name (that matches). @throws after 60 s, naming the event */
export function until<E extends EventName>(
  host: Pick<TestHost, 'kernel'>,
  event: E,
  matches?: (payload: Events[E]) => boolean,
): Promise<Events[E]>
/** Resolves when the predicate, polled repeatedly, holds. @throws after 60 s, showing the predicate */
export function until(predicate: () => unknown): Promise<void>
export function until<E extends EventName>(
  what: Pick<TestHost, 'kernel'> | (() => unknown),
  event?: E,
  matches: (payload: Events[E]) => boolean = () => true,
): Promise<Events[E] | void> {
  return typeof what === 'function' ? untilTrue(what) : untilEvent(what, event as E, matches)
}

async function untilTrue(predicate: () => unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (let looks = 1; !(await predicate()); looks++) {
    if (performance.now() > deadline)
      throw new Error(`within ${PATIENCE_MS / 1000} s it did not hold that ${predicate}`)
    await (looks < TURNS ? turn() : new Promise(resolve => setTimeout(resolve, REST_MS)))
  }
}

async function untilEvent<E extends EventName>(
  { kernel }: Pick<TestHost, 'kernel'>,
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
