import { setImmediate as turn } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { figures, hostile, type Quality, scanner, threadTime } from './guardrails/measure.ts'

/** The bar: 49 of 49 and the like on a corpus with as many of each kind, so that shares are what counts. */
describe('what guardrails find', () => {
  let quality: Quality
  beforeAll(async () => {
    quality = await figures()
    console.log(quality.lines.join('\n'))
  })

  it.each(['email', 'credit_card', 'iban', 'ssn', 'ip_address', 'secret'])('of %s at least 98 %%', kind => {
    expect(quality.found(kind)).toBeGreaterThanOrEqual(0.98)
  })

  it('of phone numbers at least 70 %', () => {
    expect(quality.found('phone')).toBeGreaterThanOrEqual(0.7)
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

/** The longest time in a row, and the whole time, that a scan takes of this thread. */
async function cost(scan: (text: string) => Promise<unknown>, text: string) {
  const begun = threadTime()
  let last = begun
  let longest = 0
  let going = true
  const watch = (async () => {
    while (going) {
      await turn()
      const now = threadTime()
      longest = Math.max(longest, now - last)
      last = now
    }
  })()
  await scan(text)
  const whole = threadTime() - begun
  going = false
  await watch
  return { longest, whole }
}

describe('what guardrails cost', () => {
  const scan = scanner(['input', 'output'])

  it.each(Object.keys(hostile))('a hostile megabyte (%s) never holds the event loop', async name => {
    const text = hostile[name] ?? ''
    await scan(text.slice(0, 40_000))
    // Three tries and room beside the bar, for machines with much else to do; what is not linear is far beyond.
    let spent = await cost(scan, text)
    for (let again = 0; again < 2 && !(spent.longest < 100 && spent.whole < 3000); again++)
      spent = await cost(scan, text)
    expect(spent.longest).toBeLessThan(100)
    expect(spent.whole).toBeLessThan(3000)
  })
})
