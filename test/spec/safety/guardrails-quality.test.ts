import { setImmediate as turn } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { figures, hostile, processorTime, type Quality, scanner } from './guardrails/measure.ts'

/** The bar: 49 of 49 and the like on a corpus with as many of each kind, so that shares are what counts. */
describe('what guardrails find', () => {
  let quality: Quality
  beforeAll(async () => {
    quality = await figures()
    console.log(quality.lines.join('\n'))
  })

  it.each(['email', 'credit_card', 'iban', 'ssn', 'ip_address', 'secret'])('of %s at least 98 %%', kind => {
    expect(quality.recallOf(kind)).toBeGreaterThanOrEqual(0.98)
  })

  it('of phone numbers at least 70 %', () => {
    expect(quality.recallOf('phone')).toBeGreaterThanOrEqual(0.7)
  })

  it('while at most 1 % of clean texts are changed', () => {
    expect(quality.cleanChanged).toBeLessThanOrEqual(0.01)
  })

  it('of injections at least 20 %, of the plain kind at least 18 of 25, with at most 3 false alarms in 1,500 texts', () => {
    expect(quality.caught).toBeGreaterThanOrEqual(0.2)
    expect(quality.plain).toBeGreaterThanOrEqual(18)
    expect(quality.falseAlarms).toBeLessThanOrEqual(3)
  })
})

/** Milliseconds of processor time for a megabyte, and in a row without a turn for others. */
const BAR = { whole: 500, longest: 50 }

/** What a scan takes as a whole, and in a row. */
async function cost(scan: (text: string) => Promise<unknown>, text: string) {
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
  return { longest, whole }
}

describe('what guardrails cost', () => {
  const scan = scanner(['input', 'output'])

  it.each(Object.keys(hostile))(
    'a hostile megabyte (%s) takes under half a second and never holds the loop',
    async name => {
      const text = hostile[name]?.() ?? ''
      const spent = await cost(scan, text)
      // The least of a few takes, as many as are needed: the first also compiles.
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
