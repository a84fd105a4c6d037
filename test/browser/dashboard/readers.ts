import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApprovalSummary } from '#safety/approvals/contract'
import { until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf, waitUntilLoaded } from './axe.ts'
import { type OpenDashboard, openDashboard, type Visitor, visitor } from './open-dashboard.ts'

/** Plugin that fails to load, which the navigation counts. */
const BROKEN = "throw new Error('It is broken.')\n"

/** Pixels by which a table is wider than the box around it. */
const WIDER = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.scroll'))"

describe.skipIf(!hasChromium)('accessibility of the dashboard', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let pages: string[]
  let coder: string

  beforeAll(async () => {
    const config = { daemon: { heartbeat: 0.2 }, model: { sim_delay: 0 }, approval: { enabled: true } }
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ config, plugins: { 'broken.ts': BROKEN } })])
    person = await visitor(browser, host)
    const id = await host.spawn('coder')
    coder = id
    await host.spawn('philosopher')
    await until(async () => (await host.invoke<ApprovalSummary[]>('approvals.queue')).length > 1)
    const [asked] = await host.invoke<ApprovalSummary[]>('approvals.queue')
    await host.invoke('approvals.decide', { approval_id: asked!.approval_id, decision: 'approve' })
    await host.invoke('tasks.run', { id, instruction: 'say hello', session_key: `dashboard:${id}` })
    await host.invoke('messages.send', { id, body: 'hello' })
    const [run] = await host.invoke<{ run_id: string }[]>('runs.list')
    const [goal] = await host.invoke<{ goal_id: string }[]>('goals.list', { id })
    const [session] = await host.invoke<{ session_id: string }[]>('sessions.list')
    pages = [
      '',
      'approvals',
      'approvals/history',
      'approvals/rules',
      `approvals/item/${asked!.approval_id}`,
      'sessions',
      `sessions/${session!.session_id}`,
      'runs',
      `runs/${run!.run_id}`,
      'spend',
      'plugins?builtins=1',
      'models',
      'config?section=daemon',
      'events',
      'nowhere',
      'agents/unknown',
      ...['', '/goals', `/goals/${goal!.goal_id}`, '/chat', '/memory', '/messages', '/tools'].map(
        view => `agents/${id}${view}`,
      ),
    ]
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })

  it('supports the keyboard alone: the focus is visible, and dialogs hold it and give it back', async () => {
    const page = await person.open()
    const focusedText = () => page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''")
    await page.getByRole('table').waitFor()
    await page.keyboard.press('Tab')
    expect(await focusedText()).toBe('Skip to content')
    const order: string[] = []
    for (let n = 0; n < 16; n++) {
      await page.keyboard.press('Tab')
      order.push(await focusedText())
      const outlineStyle = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      expect(outlineStyle, order.at(-1)).not.toBe('none')
    }
    expect(order[0]).toBe('svc')
    expect(order.indexOf('Freeze')).toBeLessThan(order.indexOf('Fleet'))
    expect(order.indexOf('Fleet')).toBeLessThan(order.indexOf('Events'))
    const spawn = page.getByRole('button', { name: 'Spawn an agent' })
    await spawn.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: /^Preset/ }).waitFor()
    for (let n = 0; n < 8; n++) {
      await page.keyboard.press('Tab')
      const inside = 'document.activeElement === document.body || !!document.activeElement.closest("dialog")'
      expect(await page.evaluate(inside)).toBe(true)
    }
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focusedText()).toBe('Spawn an agent')
    const access = page.getByText('Access', { exact: true })
    await access.focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Tenant').focus()
    await page.keyboard.press('Escape')
    await page.getByLabel('Tenant').waitFor({ state: 'hidden' })
    expect(await focusedText()).toBe('Access')
    person.rest()
  })

  it('keeps the focus after an action by keyboard, and gives it back when a form is closed', async () => {
    const page = await person.at('#/config?q=daemon.heartbeat')
    const focusedText = () =>
      page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent')
    await page.getByRole('button', { name: 'Freeze' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Frozen · resume', disabled: false }).waitFor()
    await expect.poll(focusedText).toContain('resume')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Freeze', exact: true }).waitFor()
    await expect.poll(focusedText).toBe('Freeze')
    const change = page.getByRole('button', { name: 'Change daemon.heartbeat', exact: true })
    await change.focus()
    await page.keyboard.press('Enter')
    await expect.poll(focusedText).toBe('Value of daemon.heartbeat')
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')
    expect(await focusedText()).toBe('Change daemon.heartbeat')
    person.rest()
  })

  it("marks the current place in the reader's forced colours, and keeps meaningful colours", async () => {
    const page = await person.at('#/')
    const colour = (selector: string, part = '') =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}'), '${part}').backgroundColor`)
    const [good, here, other] = ['.feed.is-live', '.nav a[aria-current]', '.nav a:not([aria-current])'] as const
    await page.locator(good).waitFor()
    await page.emulateMedia({ colorScheme: 'light' })
    const was = await colour(good, '::before')
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
    expect(await colour(good, '::before')).toBe(was)
    expect(await colour(here)).not.toBe(await colour(other))
    await page.emulateMedia({ colorScheme: null, forcedColors: null })
    person.rest()
  })

  it('fits a bar beside its figure, and a table without a scroll bar, into a window of 320 pixels', async () => {
    const page = await person.at(`#/agents/${coder}/inner`)
    await page.setViewportSize({ width: 320, height: 900 })
    const happiness = page.locator('.bars.thrice > div', { hasText: 'Happiness' })
    const bar = await happiness.getByRole('meter').boundingBox()
    const figure = await happiness.locator('dd > span').boundingBox()
    await person.at(`#/agents/${coder}/tools`)
    await page.getByRole('table', { name: 'Tools' }).waitFor()
    expect(await page.evaluate(WIDER), 'table of tools').toBe(0)
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(bar!.width).toBeGreaterThan(40)
    expect(bar!.x + bar!.width).toBeLessThan(figure!.x)
    person.rest()
  })

  it('shows the id of a run beside its status, not under it, in a window of 400 pixels', async () => {
    const page = await person.at('#/runs')
    await page.setViewportSize({ width: 400, height: 900 })
    await page.getByRole('link', { name: /^run-/ }).first().waitFor()
    const covered = await page.evaluate<string[]>(`[...document.querySelectorAll('tbody tr')].flatMap(row => {
      const id = document.createRange()
      id.selectNodeContents(row.querySelector('a'))
      const [a, b] = [id.getBoundingClientRect(), row.querySelector('.status').getBoundingClientRect()]
      return a.right > b.left && a.bottom > b.top && b.bottom > a.top ? [row.textContent] : []
    })`)
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(covered).toEqual([])
    person.rest()
  })

  it('has no faults that axe finds on any page, in light and dark, and no page is wider than its window', {
    timeout: 240_000,
  }, async () => {
    // The agents do nothing meanwhile.
    await host.invoke('daemon.pause')
    const page = await person.at('#/')
    const found: Record<string, string[]> = {}
    for (const hash of pages) {
      await person.at(`#/${hash}`)
      await waitUntilLoaded(page)
      const faults = await faultsOf(page)
      if (faults.length > 0) found[hash] = faults
    }
    expect(found).toEqual({})
    person.rest()
  })
})
