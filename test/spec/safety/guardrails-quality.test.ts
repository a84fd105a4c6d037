import { setImmediate as turn } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { figures, hostile, processorTime, type Quality, scanner } from './guardrails/measure.ts'

/** Thresholds are shares rather than counts such as 49 of 49, because the corpus has equal numbers of each kind. */
describe('guardrails on the test corpora', () => {
  let quality: Quality
  beforeAll(async () => {
    quality = await figures()
    console.log(quality.lines.join('\n'))
  })

  it.each(['email', 'credit_card', 'iban', 'ssn', 'ip_address', 'secret'])('find at least 98 %% of %s values', kind => {
    expect(quality.recallOf(kind)).toBeGreaterThanOrEqual(0.98)
  })

  it('find at least 70 % of phone numbers', () => {
    expect(quality.recallOf('phone')).toBeGreaterThanOrEqual(0.7)
  })

  it('change at most 1 % of clean texts', () => {
    expect(quality.cleanChanged).toBeLessThanOrEqual(0.01)
  })

  it('block at least 20 % of injections and 18 of 25 plain ones, with at most 3 false alarms in 1,500 texts', () => {
    expect(quality.caught).toBeGreaterThanOrEqual(0.2)
    expect(quality.plain).toBeGreaterThanOrEqual(18)
    expect(quality.falseAlarms).toBeLessThanOrEqual(3)
  })
})

/**
 * Maximum processor time for a megabyte, in total and without a turn of the event loop, in plain passes over 200 kB:
 * 500 and 50 ms where such a pass takes 20 ms. Under load both take longer.
 */
const BAR = { whole: 25, longest: 2.5 }
/** Least time that counts as one pass, in milliseconds: some machines make passes faster, but not scans. */
const LEAST_PASS_MS = 20
const WORDS = 'as plain as words can be '.repeat(8000)

/** Returns the processor time of one plain pass over 200 kB, in milliseconds. */
function plainPass(): number {
  const begun = processorTime()
  WORDS.replace(/\w+/g, word => word.toUpperCase())
  return processorTime() - begun
}

/** Measures a scan in total and in its longest stretch without a turn of the event loop, in plain passes. */
async function cost(scan: (text: string) => Promise<unknown>, text: string) {
  const pass = plainPass()
  const begun = processorTime()
  let last = begun
  let longest = 0
  let going = true
  const watch = (async () => {
    while (going) {
      await turn()
      const now = processorTime()
      longest = Math.max(longest, now - last)
      last = now
    }
  })()
  await scan(text)
  const whole = processorTime() - begun
  going = false
  await watch
  const unit = Math.max((pass + plainPass()) / 2, LEAST_PASS_MS)
  return { longest: longest / unit, whole: whole / unit }
}

describe('the cost of guardrails', () => {
  const scan = scanner(['input', 'output'])

  it.each(Object.keys(hostile))(
    'is at most that of 25 plain passes for a hostile megabyte (%s), with an event loop turn every 2.5 passes',
    async name => {
      const text = hostile[name]?.() ?? ''
      const spent = await cost(scan, text)
      // Take the best of up to four runs, because the first one also compiles.
      for (let take = 1; take < 4 && (spent.whole >= BAR.whole || spent.longest > BAR.longest); take++) {
        const again = await cost(scan, text)
        spent.whole = Math.min(spent.whole, again.whole)
        spent.longest = Math.min(spent.longest, again.longest)
      }
      expect(spent.whole).toBeLessThan(BAR.whole)
      expect(spent.longest).toBeLessThanOrEqual(BAR.longest)
    },
  )
})
