import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fleet } from '#core/agents/contract'
import { Store } from '#platform/store/contract'
import { goalAnswer } from '../../spec/safety/approvals-host.ts'
import { until } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, PATIENCE_MS, shot, type Visitor, visitor } from './open-dashboard.ts'

const AGENTS = 1_000
const ENDED = 60
const MONTH_MS = 2_592_000_000
const QUIET_MS = 15_000

describe.skipIf(!hasChromium)('the dashboard with a thousand agents at rest', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page

  beforeAll(async () => {
    ;[browser, host] = await Promise.all([
      theBrowser(),
      openDashboard({ script: () => goalAnswer(''), config: { daemon: { heartbeat: 2 } } }),
    ])
    const id = await host.spawn()
    const db = new Sqlite(host.home.kernel.project.database)
    const rests = db.prepare('SELECT 1 FROM idle_agents WHERE agent_id = ?')
    await until(() => rests.get(id) !== undefined)
    await until(
      () => db.prepare('SELECT 1 FROM leases WHERE id = ? AND passed > 0 AND owner IS NULL').get(id) !== undefined,
    )
    copies(db, id)
    // Each has a name of its own, so its model is asked once more before it rests.
    const resting = db.prepare<[number], { n: number }>('SELECT count(*) AS n FROM idle_agents WHERE ask_again_at > ?')
    const rest = db.prepare('UPDATE idle_agents SET ask_again_at = asked_at + ? WHERE times > 1')
    await until(() => {
      rest.run(MONTH_MS)
      return resting.get(Date.now() + MONTH_MS / 2)!.n === AGENTS
    })
    db.close()
    person = await visitor(browser, host)
    page = await person.open('#/')
    await page.getByRole('table').waitFor()
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })

  const names = async () => (await page.locator('tbody th').allInnerTexts()).map(text => text.split('\n')[0]!.trim())

  it('sends no request besides its stream of events while nothing happens', async () => {
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(new URL(request.url()).pathname)
    const before = await heartbeatCount(host)
    const inQuiet = async () => {
      asked.length = 0
      page.on('request', note)
      await page.waitForTimeout(QUIET_MS)
      page.off('request', note)
      return [...asked]
    }
    // On a busy machine the requests after each start of the stream come late.
    await expect.poll(inQuiet, { timeout: PATIENCE_MS }).toEqual([])
    // The daemon went on meanwhile, and the page is still connected.
    expect(await heartbeatCount(host)).toBeGreaterThan(before)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.screenshot({ path: shot('fleet') })

    // Changes are shown without a reload.
    await host.invoke('agents.pause', { id: 'worker-8' })
    await page.locator('.figure', { hasText: 'Paused' }).getByRole('link', { name: '1', exact: true }).waitFor()
    person.rest()
  })

  it('filters, sorts and pages the list on the server, fifty agents at a time', async () => {
    const fetched = page.waitForResponse(response => response.url().includes('/fleet?'))
    await page.getByLabel('Sort by').selectOption('name')
    const answer = (await (await fetched).json()) as Fleet
    expect(answer.agents).toHaveLength(50)
    expect(answer.summary).toMatchObject({ total: AGENTS, hidden: ENDED, statuses: { paused: 1, idle: AGENTS - 1 } })
    await expect.poll(names).toContain('worker 48')
    await page.getByText(`1–50 of ${AGENTS.toLocaleString('en')}`).waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText(`51–100 of ${AGENTS.toLocaleString('en')}`).waitFor()
    expect(await names()).toHaveLength(50)
    expect((await names())[0]).toBe('worker 49')
    expect(page.url()).toContain('page=2')
    await page.screenshot({ path: shot('fleet-page-2') })

    await page.getByLabel('Find agents').fill('worker-998')
    await page.getByRole('heading', { name: `Agents · 1 of ${AGENTS.toLocaleString('en')}` }).waitFor()
    expect(await names()).toEqual(['worker 998'])
    await page.getByLabel('Find agents').fill('')
    await page.getByLabel('Status').selectOption('paused')
    await page.getByRole('heading', { name: `Agents · 1 of ${AGENTS.toLocaleString('en')}` }).waitFor()
    await expect.poll(names).toEqual(['worker 8'])
    await page.getByLabel('Status').selectOption('')
    await page.getByRole('columnheader', { name: 'Agent' }).getByRole('button').click()
    await expect.poll(async () => (await names())[0]).toBe('worker 998')
    person.rest()
  })

  it('hides sub-agents that have ended, and shows them on request', async () => {
    await person.at('#/?sort=-name')
    expect((await names()).some(name => name.startsWith('scout'))).toBe(false)
    await page.getByLabel(`Show ${ENDED} ended sub-agents`).check()
    await page.getByText(`1–50 of ${(AGENTS + ENDED).toLocaleString('en')}`).waitFor()
    const figure = (label: string) => page.locator('.figure', { hasText: label }).locator('dd').innerText()
    const statuses = ['Working', 'Idle', 'Waiting', 'Need approval', 'Paused', 'Dead']
    const counts = async () => (await Promise.all(statuses.map(figure))).map(text => Number(text.replaceAll(',', '')))
    await expect.poll(counts).toEqual([0, AGENTS - 1, 0, 0, 1, ENDED])
    await page.getByLabel('Find agents').fill('scout')
    await page.getByRole('heading', { name: `Agents · ${ENDED} of 1,060` }).waitFor()
    expect((await names()).every(name => name.startsWith('scout'))).toBe(true)
    await page.screenshot({ path: shot('fleet-ended') })
    await page.getByLabel('Show ended sub-agents').click()
    await page.getByText('No matching agents.').waitFor()
    person.rest()
  })
})

const heartbeatCount = async ({ home }: OpenDashboard) =>
  (await home.kernel.use(Store).get<{ n: number }>("SELECT cycle_num AS n FROM leases WHERE id = 'sys:beat'"))!.n

/** Copies one agent at rest, with all of its rows, and adds sub-agents that have ended. */
function copies(db: InstanceType<typeof Sqlite>, id: string): void {
  db.transaction(() => {
    for (const table of ['agents', 'leases', 'idle_agents', 'inner_lives', 'identities']) {
      const row = tableOf(db, table, id)
      if (!row) continue
      const names = Object.keys(row)
      const copy = db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
      for (let n = 0; n < AGENTS - 1; n++) {
        const copied = { ...row, ...('name' in row ? { name: `worker ${n}` } : {}) }
        copy.run(Object.values(copied).map(value => (value === id ? `worker-${n}` : value)))
      }
    }
    const ended = db.prepare(
      `INSERT INTO agents (agent_id, name, role, preset, spawned_at, spawned_by, root_agent_id, died_at)
       VALUES (?, ?, 'looks around', 'worker', 1, ?, ?, 1)`,
    )
    for (let n = 0; n < ENDED; n++) ended.run(`sub-scout-${n}`, `scout ${n}`, id, id)
  })()
}

function tableOf(db: InstanceType<typeof Sqlite>, table: string, id: string): Record<string, unknown> | undefined {
  const known = db.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(table)
  if (!known) return undefined
  return db.prepare<[string], Record<string, unknown>>(`SELECT * FROM ${table} WHERE agent_id = ?`).get(id)
}
