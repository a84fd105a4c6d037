import { describe, expect, it } from 'vitest'
import { inRound, sleepToRound, untilRound } from '#lib/poller'
import { HeldClock } from '../support/index.ts'

describe('a coalesced timer', () => {
  it('is shared by all who wait for the same point in time, whenever they began', async () => {
    const clock = new HeldClock()
    const called: [string, number][] = []
    const note = (who: string) => () => called.push([who, clock.monotonic()])
    await clock.advance(100)
    inRound(clock, 1_000, note('one'))
    await clock.advance(230)
    inRound(clock, 1_000, note('another'))
    inRound(clock, 1_000, note('another'))
    expect(clock.pending).toBe(1)
    expect(untilRound(clock, 1_000)).toBe(670)
    await clock.advance(5_000)
    expect(called).toEqual([
      ['one', 1_000],
      ['another', 1_000],
      ['another', 1_000],
    ])
    expect(clock.pending).toBe(0)
  })

  it('fires at the same points as timers with multiples of its interval', async () => {
    const clock = new HeldClock()
    const times: number[] = []
    for (const ms of [5_000, 1_000, 500, 250]) inRound(clock, ms, () => times.push(clock.monotonic()))
    await clock.advance(10_000)
    expect(times).toEqual([250, 500, 1_000, 5_000])
    // A shorter interval is used as it is: rounded, it would fire again at once.
    expect(untilRound(clock, 100)).toBe(100)
  })

  it('may be cancelled, also while others fire, and leaves no timer behind', async () => {
    const clock = new HeldClock()
    const called: string[] = []
    const second: { back?: () => void } = {}
    inRound(clock, 500, () => {
      called.push('first')
      second.back?.()
    })
    second.back = inRound(clock, 500, () => called.push('second'))
    const third = inRound(clock, 1_000, () => called.push('third'))
    third()
    third()
    expect(clock.pending).toBe(1)
    await clock.advance(2_000)
    expect(called).toEqual(['first'])
  })

  it('ends its sleep when its signal is aborted', async () => {
    const clock = new HeldClock()
    const stop = new AbortController()
    const slept = sleepToRound(clock, 1_000, stop.signal)
    expect(clock.pending).toBe(1)
    stop.abort()
    await slept
    expect(clock.pending).toBe(0)
  })
})
