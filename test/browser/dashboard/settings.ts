import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, type Visitor, visitor } from './open-dashboard.ts'

const GOOD = `import { definePlugin } from 'svc'
export default definePlugin({ name: 'greeter', description: 'Greets.', setup(svc) { svc.on('cycle_start', () => {}) } })
`

describe.skipIf(!hasChromium)('configuration and plugins on the dashboard', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page

  beforeAll(async () => {
    const config = { daemon: { heartbeat: 0.5 }, server: { api_key: 'a secret of ours' } }
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ config })])
    const begin = "if (location.protocol === 'http:') sessionStorage.setItem('key', 'a secret of ours')"
    person = await visitor(browser, host, begin)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })
  afterEach(() => person.rest())

  const file = () => readFile(join(host.home.root, '.svc/config.yaml'), 'utf8')
  const rowOf = (key: string) => page.locator('.keys li').filter({ has: page.getByText(key, { exact: true }) })

  it('changes a key, shows when the change applies, and writes it to the file', async () => {
    page = await person.at('#/config?q=daemon.heartbeat')
    const row = rowOf('daemon.heartbeat')
    await row.getByText('at once').waitFor()
    await row.getByRole('button', { name: 'Change' }).click()
    await row.getByLabel('Value of daemon.heartbeat').fill('7')
    await row.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. It applies from the next heartbeat.').waitFor()
    await row.getByText('7', { exact: true }).waitFor()
    expect(await file()).toMatch(/heartbeat: 7/)
    await row.getByRole('button', { name: 'Change' }).click()
    await row.getByRole('button', { name: 'Reset to default' }).click()
    await row.getByText('set', { exact: true }).waitFor({ state: 'detached' })
    expect(await file()).not.toMatch(/heartbeat/)
  })

  it('edits an optional list with one entry per line: entries, an empty list, and null', async () => {
    const key = 'tools.sub_agent_toolkits'
    page = await person.at(`#/config?q=${key}`)
    const row = rowOf(key)
    const save = async (text: string, shown: string) => {
      await row.getByRole('button', { name: 'Change' }).click()
      if (text) await row.getByLabel(`Value of ${key}`).fill(text)
      await row.getByRole('button', { name: 'Save' }).click()
      await row.getByLabel(`Value of ${key}`).waitFor({ state: 'detached' })
      await row.locator('p > code', { hasText: shown }).waitFor()
    }
    await save('file\nmemory', 'memory')
    // Saving without a change keeps the value.
    await save('', 'memory')
    expect(await file()).toMatch(/sub_agent_toolkits:\s+- file\s+- memory/)
    await save('[]', '[]')
    await save('', '[]')
    expect(await file()).toMatch(/sub_agent_toolkits: \[\]/)
    await save(' ', '–')
    expect(await file()).toMatch(/sub_agent_toolkits: null/)
  })

  it('shows the server’s message at a key with a wrong value, and changes nothing', async () => {
    page = await person.at('#/config?q=server.cors_origins')
    const before = await file()
    const row = rowOf('server.cors_origins')
    await row.getByRole('button', { name: 'Change' }).click()
    await row.getByLabel('Value of server.cors_origins').fill('nobody’s origin')
    await row.getByRole('button', { name: 'Save' }).click()
    const alert = row.getByRole('alert').getByText(/must be an origin such as/)
    await alert.first().waitFor()
    expect(await alert.count()).toBe(1)
    expect(await file()).toBe(before)
  })

  it('never shows a secret, and keeps it when nothing is typed or the edit is cancelled', async () => {
    page = await person.at('#/config?q=server.api_key')
    const row = rowOf('server.api_key')
    await row.getByText('***', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Change' }).click()
    expect(await row.getByLabel('Value of server.api_key').inputValue()).toBe('')
    expect(await page.content()).not.toContain('a secret of ours')
    await page.keyboard.press('Enter')
    expect(await row.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    expect(person.changes).toEqual([])
    await row.getByRole('button', { name: 'Cancel' }).click()
    expect(await file()).toContain('a secret of ours')
  })

  it('shows where a broken plugin fails, and that it is live once it is fixed', async () => {
    page = await person.at('#/plugins')
    await page.getByText('No plugins of your own yet.').waitFor()
    await host.home.write({ 'plugins/greeter.ts': `${GOOD}const broken = \n` })
    await page.getByRole('button', { name: 'Apply changes now' }).click()
    await page
      .getByText(/greeter\.ts:\d+/)
      .first()
      .waitFor()
    await page.getByText('Cannot apply the changes: greeter.').waitFor()
    const card = page.locator('section.card', { hasText: 'greeter' })
    await card.getByText('failed', { exact: true }).waitFor()
    await host.home.write({ 'plugins/greeter.ts': GOOD })
    await page.getByRole('button', { name: 'Apply changes now' }).click()
    await page.getByText('Changes applied.').waitFor()
    await card.getByText('live', { exact: true }).waitFor()
    await card.getByText('Greets.').waitFor()
    await card.getByRole('button', { name: /Registered/ }).click()
    await card.getByText(/cycle_start/).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
