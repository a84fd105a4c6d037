import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { endGoal, insertGoal } from '#core/goals/repository'
import { appendEvent, Store } from '#platform/store/contract'
import Sqlite from '../../support/sqlite.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf } from './axe.ts'
import { type OpenDashboard, openDashboard, PATIENCE_MS, shot, type Visitor, visitor } from './open-dashboard.ts'

const HOUR_MS = 3_600_000
/** Gives the page a clock that begins 18 hours ago, and lets the test pass time and hide the page. */
const BEGIN = `{
  if (location.protocol === 'http:') {
    let isHidden = false
    const passed = () => Number(sessionStorage.getItem('passed') ?? ${-18 * HOUR_MS})
    for (const clock of [Date, performance]) {
      const real = clock.now.bind(clock)
      clock.now = () => real() + passed()
    }
    globalThis.pass = ms => sessionStorage.setItem('passed', passed() + ms)
    globalThis.hide = hidden => {
      isHidden = hidden
      document.dispatchEvent(new Event('visibilitychange'))
    }
    Object.defineProperty(document, 'hidden', { get: () => isHidden })
  }
}`
const VISIT = 'pass(61_000)'
const AWAY = `hide(true); pass(${9 * HOUR_MS}); hide(false)`

describe.skipIf(!hasChromium)('the fleet page after hours away', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  let ann: string
  let bob: string

  beforeAll(async () => {
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ roles: ['server'] })])
    ann = await host.spawn()
    bob = await host.spawn()
    person = await visitor(browser, host, BEGIN)
    page = await person.open()
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })

  const cardOf = (page: Page) => page.locator('section.card', { hasText: 'Since your last visit' })
  const apply = (...effects: ReturnType<typeof appendEvent>[]) => host.home.kernel.use(Store).apply(effects)
  /** Ends a goal whose objective is its name. */
  const end = async (agent_id: string, objective: string, status: 'completed' | 'abandoned', unconfirmed = false) => {
    const goal_id = `goal-${objective.toLowerCase().replaceAll(' ', '-')}`
    const goal = { goal_id, agent_id, objective, reasoning: null, origin: 'operator', priority: 5 } as const
    await apply(insertGoal({ ...goal, place: 0, parent_goal_id: null }))
    await apply(endGoal({ goal_id, status, result: `End of ${objective}.\n\nAnd more.`, unconfirmed }))
    await apply(appendEvent({ type: `goal_${status}`, agent_id, data: { goal_id } }))
  }
  const fail = (agent_id: string, error: string) =>
    apply(appendEvent({ type: 'cycle_done', agent_id, data: { cycle_num: 1, error } }))
  const spend = (agent_id: string, usd: number) => {
    const db = new Sqlite(host.home.kernel.project.database)
    db.prepare(
      `INSERT INTO spend (call_id, agent_id, root_agent_id, kind, model, cost_micros, input_tokens, output_tokens, priced,
       estimated, attempts, duration_ms, at) VALUES ('call', ?, ?, 'goal', 'm', ?, 1, 1, '', 0, 1, 1, ?)`,
    ).run(agent_id, agent_id, usd * 1_000_000, Date.now())
    db.close()
  }
  /** Opens the page anew, and waits for it and for the summary if it is expected. */
  const reload = async (isAsked: boolean) => {
    const asked = isAsked ? page.waitForResponse(/\/summary\?/) : undefined
    await page.reload()
    await page.getByRole('table').waitFor()
    await asked
  }

  it('has no card in a first visit, nor after a glance that was no visit', async () => {
    await page.getByRole('table').waitFor()
    await end(ann, 'Sweep the pier', 'completed')
    await page.evaluate(AWAY)
    await reload(false)
    expect(await cardOf(page).count()).toBe(0)
    person.rest()
  })

  it('shows what ended since the last visit, unsuccessful goals first, and failures', async () => {
    await page.evaluate(VISIT)
    for (let n = 1; n <= 5; n++) await end(ann, `Count boat ${n}`, 'completed')
    await end(bob, 'Ask the harbour', 'completed', true)
    await end(bob, 'Paint the pier', 'abandoned')
    for (let n = 0; n < 6; n++) await end(bob, `Tie boat ${n}`, 'completed')
    for (const error of ['Out of paint.', 'Out of paint.', 'No rope.', 'No wind.', 'No tide.']) await fail(bob, error)
    spend(ann, 1.25)
    await page.evaluate(AWAY)
    // The page learns the difference between the clocks from a response.
    await reload(true)
    const card = cardOf(page)
    await card.waitFor()
    const figures = (await card.locator('.figure').allInnerTexts()).map(text => text.replace(/\s+/g, ' '))
    expect(figures).toEqual([
      'Goals completed 13',
      'Of these, not confirmed 1',
      'Goals abandoned 1',
      'Spent $1.251 model call',
    ])
    const rows = (await card.getByRole('listitem').allInnerTexts()).map(text => text.replace(/\s+/g, ' '))
    expect(rows).toHaveLength(8)
    expect(rows[0]).toMatch(new RegExp(`^abandoned Paint the pier End of Paint the pier\\. ${bob} · `))
    expect(rows[1]).toMatch(/^not confirmed Ask the harbour/)
    expect(rows.slice(2, 5).every(row => row.startsWith('completed Tie boat'))).toBe(true)
    expect(rows.slice(5).map(row => row.split(' worker')[0])).toEqual([
      'failed No tide.',
      'failed No wind.',
      'failed No rope.',
    ])
    await card.getByText('2 more failures').waitFor()
    const hrefs = await card.locator('.figure a').evaluateAll(links => links.map(link => link.getAttribute('href')))
    // Goals completed are of two agents, so no page has them all.
    expect(hrefs).toEqual([
      `#/agents/${bob}/goals?status=completed`,
      `#/agents/${bob}/goals?status=abandoned`,
      '#/spend?span=day',
    ])
    expect(await faultsOf(page)).toEqual([])
    await page.screenshot({ path: shot('last-visit') })
    await card.getByRole('link', { name: 'Paint the pier' }).click()
    await page.getByText('And more.').waitFor()
    await page.goBack()
    await card.waitFor()
    person.rest()
  })

  it('keeps the last visit of each tenant', async () => {
    await page.evaluate("sessionStorage.setItem('tenant', 'bob')")
    await reload(false)
    expect(await cardOf(page).count()).toBe(0)
    await page.evaluate("sessionStorage.removeItem('tenant')")
    await reload(true)
    await cardOf(page).waitFor()
    person.rest()
  })

  it('hides what is marked as seen, and shows later what ended since', async () => {
    await cardOf(page).getByRole('button', { name: 'Mark as seen' }).click()
    await cardOf(page).waitFor({ state: 'detached' })
    await reload(true)
    expect(await cardOf(page).count()).toBe(0)
    await end(ann, 'Close the gate', 'completed')
    await cardOf(page).getByRole('link', { name: 'Close the gate' }).waitFor()
    expect(await cardOf(page).getByRole('listitem').count()).toBe(1)
    person.rest()
  })

  it('has neither card nor error if the module is switched off', async () => {
    const other = await openDashboard({ roles: ['server'], config: { plugins: { disabled: ['summary'] } } })
    expect(await (await fetch(`${other.url}/summary`)).json()).toMatchObject({
      code: 'not_found',
      detail:
        'There is no route at /summary; GET /openapi.json lists the routes. It may belong to a disabled module (plugins.disabled): summary.',
    })
    onTestFinished(() => other.close())
    await other.spawn()
    const reader = await visitor(browser, other, BEGIN)
    const page = await reader.open()
    await page.getByRole('table').waitFor()
    const asked = page.waitForResponse(/\/summary\?/, { timeout: PATIENCE_MS })
    await page.evaluate(`${VISIT}; ${AWAY}`)
    expect((await asked).status()).toBe(404)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await cardOf(page).count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)
    await reader.leave()
  })
})
