import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock, Undo } from '#kernel'
import { inRound } from '#lib/poller'
import { Frugal } from './frugal.ts'

/** How often it is looked whether the process is at rest, in milliseconds. */
const LOOK_MS = 1_000
/** The same of one at rest that has nothing to give back. */
const AT_REST_MS = 5_000
/** A process is at rest that used the processor for less than this share of the time, at two looks in a row. */
const AT_REST = 0.05
const CALM_LOOKS = 2
/** One that uses less than this share of it has time to spare. */
const SPARE = 0.5
/** It is not frugal at first, in milliseconds: what is compiled is kept for the next start, and V8 refuses it under other flags. */
const YOUNG_MS = 60_000
/** By so much the old must have grown since the last time, in bytes. */
const GROWN = 8 * 1024 * 1024
/** The space for what is new is small when it takes less than this, in bytes. */
const SMALL = 4 * 1024 * 1024
/** Number of tries to shrink the heap: V8 does so when it finds, over some five seconds, that little was new. */
const TRIES = 10

/** Of all, where nothing is said. */
type Collect = (options?: { type: 'minor' }) => void

/**
 * Gives back the memory that a burst of work took, once it is over: V8 collects when something new is asked for, so a process
 * that does nothing keeps what it needed at its busiest, for hours. One that is at work all the time, and not busy, is frugal. Only
 * in a process of our own; the heap of a program that embeds us is that program's.
 */
export function giveMemoryBack(clock: Clock): Undo {
  let seen = processorTime(clock)
  let calm = 0
  /** How large the old was after it was collected last, and how often the new has been since. */
  let kept = 0
  let tries = 0
  const grown = seen.at + YOUNG_MS
  const frugal = new Frugal()
  const look = () => {
    const now = processorTime(clock)
    const share = (now.cpu - seen.cpu) / (now.at - seen.at)
    calm = share < AT_REST ? calm + 1 : 0
    seen = now
    if (calm === 0) tries = 0
    frugal.look(calm === 0 && share < SPARE && now.at >= grown)
    const isDone = calm >= CALM_LOOKS && !collect()
    cancel = inRound(clock, isDone ? AT_REST_MS : LOOK_MS, look)
  }
  /** @returns whether there was something to do */
  const collect = (): boolean => {
    const young = sizeOfNew()
    // What is old costs least when nothing new is in its way.
    if (young <= SMALL) tries = 0
    else if (tries++ < TRIES) {
      collector()({ type: 'minor' })
      return true
    }
    if (sizeOfAll() - young < kept + GROWN) return false
    compact()
    calm = 0
    kept = sizeOfAll() - sizeOfNew()
    tries = 0
    return true
  }
  let cancel = inRound(clock, LOOK_MS, look)
  return () => {
    cancel()
    frugal.look(false)
  }
}

function sizeOfNew(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}

/** With the new, which has a size of its own that V8 makes smaller when it sees fit. */
function sizeOfAll(): number {
  return getHeapStatistics().total_heap_size
}

/**
 * Also pages that are half full, and compiled code: what is called again is compiled again, which adds some 30 ms to the first
 * cycle after a rest. Without marking by and by, V8 does not plan two more collections for the half minute after.
 */
const THOROUGH = [
  '--compact-on-every-full-gc',
  '--stress-flush-code',
  '--flush-baseline-code',
  '--no-incremental-marking',
]
const AS_EVER = THOROUGH.map(flag => (flag.startsWith('--no-') ? `--${flag.slice(5)}` : `--no-${flag.slice(2)}`))

/** Takes some tens of milliseconds, in which no request waits. */
function compact(): void {
  for (const flag of THOROUGH) setFlagsFromString(flag)
  collector()()
  for (const flag of AS_EVER) setFlagsFromString(flag)
}

/** Milliseconds: of the processor, and that have gone by. */
function processorTime(clock: Clock): { cpu: number; at: number } {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1000, at: clock.monotonic() }
}

let gc: Collect | undefined

/** V8's own, which it shows to those who ask for it by a flag: no others are to find it. */
function collector(): Collect {
  if (gc) return gc
  setFlagsFromString('--expose-gc')
  gc = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return gc
}
