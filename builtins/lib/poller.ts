import type { Clock } from '#kernel'
import { withoutRecording } from '#lib/recording-context'
import { sleepOn } from '#lib/sleep'

/**
 * Steps in milliseconds. Polls fall on multiples of the longest step that does not exceed their interval; shorter
 * intervals are not rounded.
 */
const STEPS_MS = [1_000, 500, 250]

interface Round {
  due: Set<() => void>
  cancel: () => void
}

/** Pending polls by clock and time. */
const waiting = new WeakMap<Clock, Map<number, Round>>()

/**
 * Returns the milliseconds until the next shared polling time about `ms` away, which may at first differ by up to half
 * of that. An idle process wakes once for all pollers.
 */
export function untilRound(clock: Clock, ms: number): number {
  const now = clock.monotonic()
  return Math.max(1, roundAfter(now, ms) - now)
}

/**
 * Calls `fn` at the time that `untilRound` returns; all calls due at one time share a timer.
 * @returns a function that cancels the call
 */
export function inRound(clock: Clock, ms: number, fn: () => void): () => void {
  return withoutRecording(() => {
    const now = clock.monotonic()
    const at = roundAfter(now, ms)
    const rounds = waiting.get(clock) ?? new Map<number, Round>()
    waiting.set(clock, rounds)
    const round = rounds.get(at) ?? beginRound(clock, rounds, at, Math.max(1, at - now))
    // A wrapper, so that the same function given twice is called twice.
    const call = () => fn()
    round.due.add(call)
    return () => {
      if (!round.due.delete(call) || round.due.size > 0 || rounds.get(at) !== round) return
      round.cancel()
      rounds.delete(at)
    }
  })
}

/** Sleeps until the next shared polling time, or until the signal is aborted. Never rejects. */
export function sleepToRound(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return sleepOn({ after: (ms, fn) => inRound(clock, ms, fn) }, ms, signal)
}

/**
 * Runs `work`, which never rejects, at each shared polling time.
 * @returns a function that stops this and resolves when the last run is over
 */
export function eachRound(clock: Clock, ms: number, work: () => Promise<void>): () => Promise<void> {
  const stop = new AbortController()
  const look = async () => {
    for (;;) {
      await sleepToRound(clock, ms, stop.signal)
      if (stop.signal.aborted) return
      await work()
    }
  }
  const looking = look()
  return () => {
    stop.abort()
    return looking
  }
}

function beginRound(clock: Clock, rounds: Map<number, Round>, at: number, ms: number): Round {
  const due = new Set<() => void>()
  const cancel = clock.after(ms, () => {
    rounds.delete(at)
    for (const call of due) call()
  })
  const round = { due, cancel }
  rounds.set(at, round)
  return round
}

function roundAfter(now: number, ms: number): number {
  const step = STEPS_MS.find(each => each <= ms)
  return step === undefined ? now + ms : Math.round((now + ms) / step) * step
}
