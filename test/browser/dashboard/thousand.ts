import Sqlite from 'better-sqlite3'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agents } from '../../../builtins/agents/contract.ts'
import { appendEvent, Store } from '../../../builtins/store/contract.ts'
import { hasChromium } from '../browser.ts'
import { type Lit, lit, theBrowser, visitor } from './house.ts'

const AGENTS = 1_000
const STEPS = 100
/** Of the page's thread for each 400 pixels, in its own CPU time: what else the machine does is left out. */
const STEP_MS = 50

/** Scrolls by 400 pixels a frame: how long each frame took, shortest first, and how many rows there were at most. */
const SCROLLED = `globalThis.scrolled = async steps => {
  const frames = []
  let most = 0
  let last = performance.now()
  for (let n = 0; n < steps; n++) {
    scrollBy(0, 400)
    const now = await new Promise(requestAnimationFrame)
    frames.push(now - last)
    last = now
    most = Math.max(most, document.querySelectorAll('tbody tr').length)
  }
  return { frames: frames.sort((a, b) => a - b), most }
}`

describe.skipIf(!hasChromium)('a thousand agents at the dashboard', () => {
  let browser: Browser
  let house: Lit

  beforeAll(async () => {
    ;[browser, house] = await Promise.all([theBrowser(), lit({ roles: ['server'] })])
    const id = await house.spawn()
    const db = new Sqlite(house.home.kernel.project.database)
    db.transaction(() => {
      for (const table of ['agents', 'leases']) {
        const row = db.prepare<[string], object>(`SELECT * FROM ${table} WHERE agent_id = ?`).get(id)!
        const names = Object.keys(row)
        const copy = db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
        const copied = (value: unknown, n: number) =>
          typeof value === 'string' ? value.replace(id, `worker-${n}`).replace(/^worker$/, `worker ${n}`) : value
        for (let n = 0; n < AGENTS - 1; n++) copy.run(Object.values(row).map(value => copied(value, n)))
      }
    })()
    db.close()
  })
  afterAll(async () => {
    await house?.close()
  })

  function happens(n: number): Promise<boolean> {
    const agent_id = `worker-${n % (AGENTS - 1)}`
    const { kernel } = house.home
    return kernel
      .use(Store)
      .apply([
        kernel.use(Agents).fared({ agent_id, error: `The ${n}th thing went wrong.`, waiting_for: null }),
        appendEvent({ type: 'nudge_received', agent_id, data: { agent_id, nudge_id: `nudge-${n}` } }),
      ])
  }

  for (const width of [1600, 400]) {
    it(`are scrolled and filtered without stutter at ${width} pixels, by drawing only what is seen`, async () => {
      const person = await visitor(browser, house, { width })
      const page = await person.open()
      await page.getByRole('table').waitFor()
      expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(AGENTS + 1))
      await page.evaluate(SCROLLED)
      // Fifty events a second, each of another agent, which change what its row says.
      let told = 0
      const flood = setInterval(() => void happens(told++), 20)
      onTestFinished(() => clearInterval(flood))
      const cpu = await cpuOf(page)
      const { frames, most } = await page.evaluate<{ frames: number[]; most: number }>(`scrolled(${STEPS})`)
      const step = ((await cpu()) * 1000) / STEPS
      clearInterval(flood)
      const p95 = frames[Math.floor(STEPS * 0.95)]!
      console.log(
        `${width} px: ${step.toFixed(1)} ms of CPU a step, p95 frame ${p95.toFixed(1)} ms, at most ${most} rows`,
      )
      expect(step).toBeLessThan(STEP_MS)
      expect(most).toBeLessThan(80)
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      await page.getByText('worker 998', { exact: true }).waitFor()
      await page.getByLabel('Find agents').fill('worker-998')
      await page.getByRole('heading', { name: `Agents · 1 of ${AGENTS}` }).waitFor()
      expect(await page.locator('tbody tr').count()).toBe(1)
      await person.leave()
    })
  }
})

/** Seconds of CPU that the page's thread uses between now and the call. */
async function cpuOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const used = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')!.value
  }
  const before = await used()
  return async () => (await used()) - before
}
