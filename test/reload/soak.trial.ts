import { expect, it } from 'vitest'
import { soak } from '../bench/process/reload.ts'
import { trialCount } from '../support/vitest/trial-count.ts'

const RELOADS = trialCount(200, 20)

it(`${RELOADS} reloads under load: no call fails, each event is handled once, no count is lost, memory stays flat`, async () => {
  const figures = await soak({ reloads: RELOADS, warmUp: 10, rate: 150 })
  const { requests, events, notes, cycles } = figures
  expect(figures.errors).toEqual([])
  expect(figures.failed).toEqual([])
  expect(requests.answered).toBeGreaterThan(RELOADS * 5)
  expect(requests.counted).toBe(requests.answered)
  expect(events).toMatchObject({ counted: events.emitted, missed: 0, doubled: 0 })
  expect(notes.committed).toBeGreaterThan(0)
  expect(notes).toMatchObject({ counted: notes.committed, failed: 0 })
  expect(cycles.failed).toBe(0)
  expect(figures.open).toBe(1)
  // The limits of a thousand reloads, with a margin for a busy machine; the full proof is `npm run soak:reloads`.
  expect(figures.heap_mib).toBeLessThan(10)
  expect(figures.rss_mib).toBeLessThan(60)
}, 300_000)
