import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type AgentSummary, Agents } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import type { ModelsOverview } from '#core/models/overview'
import { definePlugin } from '#kernel'
import { DaemonStatusParts } from '#platform/daemon/contract'
import { appendEvent, Store } from '#platform/store/contract'
import { until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import {
  type DashboardOptions,
  type OpenDashboard,
  openDashboard,
  PATIENCE_MS,
  shot,
  type Visitor,
  visitor,
} from './open-dashboard.ts'

/** Returns a script that computes the contrast ratio (WCAG 2) of an element's text against its background. */
const contrastOf = (selector: string) => `(() => {
  const { color, backgroundColor } = getComputedStyle(document.querySelector('${selector}'))
  const context = document.createElement('canvas').getContext('2d')
  const [words, ground] = [color, backgroundColor].map(colour => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(value => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  })
  return (Math.max(words, ground) + 0.05) / (Math.min(words, ground) + 0.05)
})()`

describe.skipIf(!hasChromium)('an operator at the dashboard', () => {
  let browser: Browser
  let alive: OpenDashboard
  let operator: Visitor
  /** Dashboard of a server without a daemon. */
  let still: OpenDashboard
  let reader: Visitor

  beforeAll(async () => {
    ;[browser, alive] = await Promise.all([theBrowser(), openDashboard()])
    operator = await visitor(browser, alive)
    still = await openDashboard({ roles: ['server'] })
    reader = await visitor(browser, still)
  })
  afterAll(async () => {
    await Promise.all([operator?.leave(), reader?.leave()])
    await Promise.all([alive?.close(), still?.close()])
  })

  const openAnother = async (options: DashboardOptions = {}) => {
    const other = await openDashboard(options)
    onTestFinished(() => other.close())
    return other
  }
  /** Deletes the agent of a finished test, so that it does not run on beside the next tests. */
  const deleteAgent = (id: string) => alive.invoke('agents.delete', { id })
  const statusOf = async (name: string) =>
    (await alive.invoke<AgentSummary[]>('agents.list')).find(agent => agent.name === name)?.status

  it('spawns a first agent in an empty project, and follows its goal, steps and results live', async () => {
    const page = await operator.at('#/')
    await page.getByText('No agents yet.').waitFor()
    await page.getByRole('link', { name: 'simulated, not an AI model' }).click()
    await page.getByText('To use another model').getByRole('link', { name: 'model.default_model' }).click()
    await page.getByRole('button', { name: 'Change model.default_model' }).waitFor()
    await operator.at('#/')
    await page.getByRole('button', { name: 'Spawn an agent' }).click()
    await page.getByRole('combobox', { name: /^Preset/ }).selectOption('coder')
    await page.getByRole('button', { name: 'Spawn', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'coder' }).waitFor()
    await page.getByRole('heading', { name: 'Goal', exact: true }).waitFor()
    await page.locator('.steps li').first().waitFor()
    const recent = page.locator('section', { hasText: 'Recent goals' }).getByText('completed')
    await recent.nth(1).waitFor()
    expect(await page.evaluate("performance.getEntriesByType('navigation').length")).toBe(1)
    operator.rest()
    await deleteAgent('coder')
  })

  it('pauses an agent, resumes it, and nudges it to do something', async () => {
    // Freezes first, so that the agent has no goal: a nudge during a goal is handled within that goal.
    await alive.invoke('daemon.pause')
    const id = await alive.spawn('writer')
    const page = await operator.at(`#/agents/${id}`)
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    expect(await statusOf('writer')).toBe('paused')
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.getByLabel('Nudge').fill('write of lanterns, please')
    await page.getByRole('button', { name: 'Nudge' }).click()
    await page.getByText('Last sent').waitFor()
    await page.getByRole('button', { name: 'Frozen · resume' }).click()
    await page
      .locator('section', { hasText: 'Recent goals' })
      .getByText(/lanterns/)
      .first()
      .waitFor()
    operator.rest()
    await deleteAgent(id)
  })

  it('freezes the service, sees that on every page with enough contrast, and resumes it', async () => {
    const page = await operator.at('#/')
    await page.getByRole('button', { name: 'Freeze' }).click()
    await page.getByRole('button', { name: 'Frozen · resume' }).waitFor()
    expect(await alive.invoke('daemon.status')).toMatchObject({ frozen: true })
    await page.getByRole('button', { name: 'Frozen · resume' }).hover()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await page.evaluate<boolean>(`document.querySelector('.freeze').matches(':hover')`)).toBe(true)
      for (const selector of ['.freeze', '.frozen'])
        expect(await page.evaluate<number>(contrastOf(selector)), `${selector} ${colorScheme}`).toBeGreaterThan(4.5)
      await page.screenshot({ path: shot(`frozen-${colorScheme}`) })
    }
    await page.emulateMedia({ colorScheme: null })
    for (const hash of ['society', 'approvals', 'sessions', 'runs', 'spend', 'plugins', 'models', 'config', 'events']) {
      await operator.at(`#/${hash}`)
      await page.getByText('The service is frozen').waitFor()
    }
    await operator.at('#/')
    await page.getByRole('button', { name: 'Frozen · resume' }).click()
    await page.getByRole('button', { name: 'Freeze', exact: true }).waitFor()
    expect(await alive.invoke('daemon.status')).toMatchObject({ frozen: false })
    operator.rest()
  })

  it('has one event stream for all tabs, and every tab is live', async () => {
    const open = new Set<ServerResponse>()
    let most = 0
    const received = (message: unknown) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
      if (!request.url?.startsWith('/events') || request.headers.host !== new URL(alive.url).host) return
      open.add(response)
      most = Math.max(most, open.size)
      response.on('close', () => open.delete(response))
    }
    const id = await alive.spawn('oracle')
    await alive.invoke('daemon.pause')
    await operator.leave()
    subscribe('http.server.request.start', received)
    onTestFinished(() => void unsubscribe('http.server.request.start', received))
    for (let tab = 1; tab <= 7; tab++) {
      const page = await operator.open('#/events')
      await page.getByText('Live', { exact: true }).waitFor()
      await page.locator('.events li').first().waitFor()
    }
    expect([most, open.size]).toEqual([1, 1])
    await operator.leave()
    await until(() => open.size === 0)
    await deleteAgent(id)
    await alive.invoke('daemon.resume')
  })

  it('sees that the connection is lost, keeps the data, and is live again without a reload', async () => {
    const first = await openDashboard({ roles: ['server'] })
    const id = await first.spawn('oracle')
    const person = await visitor(browser, first)
    const ofAgent = await person.open(`#/agents/${id}`)
    const pause = ofAgent.getByRole('button', { name: 'Pause' })
    await pause.waitFor()
    const approvals = await person.open('#/approvals')
    const noneKnown = approvals.getByText('No pending approvals.')
    await noneKnown.waitFor()
    const page = await person.open()
    const row = page.locator('tbody tr', { hasText: 'oracle' })
    await row.waitFor()
    await page.evaluate('window.mark = 1')
    // Closes the server only: the project is kept for the next one.
    const { root } = first.home
    await first.home.kernel.close()
    await page.getByText('Connection lost').waitFor()
    await row.waitFor()
    const refused = page.locator('.head').getByRole('alert')
    await page.getByRole('button', { name: 'Freeze' }).click()
    await refused.getByText('cannot be reached').waitFor()
    await pause.click()
    await ofAgent.locator('main').getByRole('alert').getByText('cannot be reached').first().waitFor()
    // The calls that wait now are unknown.
    for (const view of ['#/approvals/rules', '#/approvals']) {
      await approvals.evaluate(`location.hash = '${view}'; new Promise(shown => setTimeout(shown, 300))`)
      await approvals.locator('main').getByRole('alert').getByText('cannot be reached').waitFor()
    }
    expect(await noneKnown.count()).toBe(0)
    const kept = await openAnother({ roles: ['server'], root, port: Number(new URL(first.url).port) })
    await kept.spawn('gambler')
    await page.locator('tbody tr', { hasText: 'gambler' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await refused.waitFor({ state: 'detached' })
    await expect.poll(() => ofAgent.getByRole('alert').count(), { timeout: PATIENCE_MS }).toBe(0)
    expect(await page.evaluate('window.mark')).toBe(1)
    await person.leave()
  })

  it('reads the names of agents beside their ids at sessions and approval rules', async () => {
    const named = await openAnother({ roles: ['server'] })
    const { agent_id } = await named.invoke<AgentSummary>('agents.spawn', { preset: 'oracle', name: 'ada' })
    await named.invoke('sessions.create', { agent_id })
    await named.invoke('approvals.grant', { tool_name: 'file_write', agent: agent_id, uses: 1 })
    const person = await visitor(browser, named)
    for (const hash of ['#/sessions', '#/approvals/rules']) {
      const page = await person.open(hash)
      await page.getByRole('cell', { name: `${agent_id} (ada)`, exact: true }).waitFor()
    }
    await person.leave()
  })

  it('asks again after a proxy failed, and after a request got no response', async () => {
    // Half a minute passes in half a second.
    const hasty = 'const wait = setTimeout; setTimeout = (run, ms) => wait(run, ms === 30_000 ? 500 : ms)'
    const person = await visitor(browser, still, hasty)
    const page = await person.open('#/sessions')
    await page.getByText('No sessions yet.').waitFor()
    const alert = page.locator('main').getByRole('alert')
    await page.route('**/config-keys', route => route.fulfill({ status: 503, body: 'No server.' }), { times: 1 })
    await person.at('#/config')
    await alert.getByText('The server answered with status 503.').waitFor()
    await page.locator('.keys').first().waitFor()
    expect(await alert.count()).toBe(0)
    await page.route('**/runs?*', () => {}, { times: 1 })
    await person.at('#/runs')
    await alert.getByText('cannot be reached: no response within 30 s.').waitFor()
    await page.getByText('No runs yet.').waitFor()
    await person.leave()
  })

  it('says that a filter of a list matches nothing', async () => {
    const person = await visitor(browser, still)
    const page = await person.open('#/runs?status=crashed')
    await page.getByText('No matching entries.').waitFor()
    await page.getByLabel('Status').selectOption({ label: 'Any status' })
    await page.getByText('No runs yet.').waitFor()
    await person.leave()
  })

  it('is not connected while a proxy answers with a page instead of the events, and asks ever less often', async () => {
    const person = await visitor(browser, still, 'delete globalThis.SharedWorker')
    const page = await person.open('#/models')
    await page.getByText('Live', { exact: true }).waitFor()
    const asked: string[] = []
    await page.route('**/events?*', route => {
      asked.push('events')
      return route.fulfill({ contentType: 'text/html', body: '<h1>Sign in</h1>' })
    })
    page.on('request', request => request.url().endsWith('/models') && asked.push('models'))
    // A change of the tenant opens another stream.
    await page.getByText('Access', { exact: true }).click()
    await page.getByLabel('Tenant').fill('ann')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Connection lost').waitFor()
    // The other tenant's data are requested once.
    await page.waitForTimeout(1_000)
    asked.length = 0
    await page.waitForTimeout(4_000)
    expect(asked.filter(each => each === 'events').length).toBeLessThanOrEqual(5)
    expect(asked.filter(each => each === 'models').length).toBeLessThanOrEqual(1)
    await page.unroute('**/events?*')
    await page.getByText('Live', { exact: true }).waitFor()
    await person.leave()
  })

  it('receives events at once after the clock has jumped, as it does when the machine slept', async () => {
    const id = await still.spawn('oracle')
    const page = await reader.at(`#/agents/${id}`)
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    const session = await browser.newBrowserCDPSession()
    const { targetInfos } = await session.send('Target.getTargets')
    const worker = targetInfos.find(({ type, url }) => type === 'shared_worker' && url.startsWith(still.url))
    const { sessionId } = await session.send('Target.attachToTarget', { targetId: worker!.targetId, flatten: false })
    const jumped = new Promise(resolve => session.once('Target.receivedMessageFromTarget', resolve))
    const expression = 'const { now } = Date; Date.now = () => now() + 3_600_000'
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } })
    await session.send('Target.sendMessageToTarget', { sessionId, message })
    await jumped
    await still.invoke('agents.pause', { id })
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor({ timeout: 20_000 })
    await session.detach()
    reader.rest()
    await still.invoke('agents.delete', { id })
  })

  it('sees an error in place of a page that cannot be shown, and the other pages', async () => {
    const page = await reader.at('#/sessions')
    await page.route('**/models', route => route.fulfill({ json: {} }))
    await reader.at('#/models')
    await page.getByRole('alert').getByText('The page cannot be shown').waitFor()
    await reader.at('#/plugins')
    await page.getByText('No plugins of your own yet.').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.unroute('**/models')
    await page.reload()
    await reader.at('#/spend?span=constructor&by=toString')
    await page.getByRole('heading', { name: 'Last day' }).waitFor()
    await reader.at('#/society?span=constructor')
    await page.getByRole('heading', { name: 'Last day' }).waitFor()
    reader.rest()
  })

  it('follows a new server with another database, and drops the events of the old one', async () => {
    const first = await openDashboard({ roles: ['server'] })
    for (const preset of ['oracle', 'oracle', 'oracle']) await first.spawn(preset)
    const person = await visitor(browser, first)
    const page = await person.open('#/events')
    const ofOracles = page.locator('.events li', { hasText: 'oracle' })
    await ofOracles.first().waitFor()
    await first.close()
    const other = await openAnother({ roles: ['server'], port: Number(new URL(first.url).port) })
    const id = await other.spawn('gambler')
    await page.locator('.events li', { hasText: id }).first().waitFor()
    expect(await ofOracles.count()).toBe(0)
    await person.leave()
  })

  it('is asked for the right key after a wrong one, and goes on with it; the key stays in the tab', async () => {
    const locked = await openAnother({ roles: ['server'], env: { SVC_API_KEY: 'right key, ümläut' } })
    await locked.spawn('oracle')
    const person = await visitor(browser, locked)
    const page = await person.open()
    await page.getByText('Type the service’s key: the value of server.api_key or SVC_API_KEY.').waitFor()
    const field = page.getByLabel('Key', { exact: true })
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('key')
    await field.fill('wrong key')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Key required').waitFor()
    await page.getByText('The header X-Svc-Key is missing').first().waitFor()
    expect(await page.locator('.toasts p').count()).toBe(0)
    await page.getByText('The key is wrong.').waitFor()
    await field.fill('right key, ümläut')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('tbody tr', { hasText: 'oracle' }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await page.evaluate('JSON.stringify({ ...localStorage, cookie: document.cookie })')).not.toContain('key')
    expect(await (await person.open()).evaluate("sessionStorage.getItem('key')")).toBeNull()
    await person.leave()
  })

  it('sees the sessions of one tenant at a time', async () => {
    const id = await alive.spawn('oracle')
    for (const tenant of ['ann', 'bob']) {
      const session = { agent_id: id, session_key: `of ${tenant}` }
      await alive.home.kernel.invoke('sessions.create', session, { tenant })
    }
    const page = await operator.at('#/sessions')
    await page.getByText('No sessions yet.').waitFor()
    const tenant = page.getByLabel('Tenant')
    await page.getByText('Access', { exact: true }).click()
    await tenant.waitFor()
    await page.getByRole('heading', { level: 1 }).click()
    await tenant.waitFor({ state: 'hidden' })
    await page.getByText('Access', { exact: true }).click()
    await page.getByRole('heading', { level: 1 }).focus()
    await page.keyboard.press('Escape')
    await tenant.waitFor({ state: 'hidden' })
    await page.getByText('Access', { exact: true }).click()
    await tenant.fill('ann')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('link', { name: 'of ann' }).waitFor()
    await page.getByRole('columnheader', { name: 'Subject' }).waitFor()
    expect(await page.getByRole('link', { name: 'of bob' }).count()).toBe(0)
    operator.rest()
    await deleteAgent(id)
  })

  it('sees that the budget is reached, and resets the counter', async () => {
    const tight = await openAnother({
      config: { daemon: { heartbeat: 0.2, budget_tokens: 6_000, budget_mode: 'record_only' } },
    })
    await tight.spawn('coder')
    const person = await visitor(browser, tight)
    const page = await person.open('#/spend')
    await page.getByRole('link', { name: /Budget reached: .* of 6K tokens/ }).waitFor()
    await page
      .getByText(/budget is used up|exceeded|reached/i)
      .first()
      .waitFor()
    await page.locator('.plot canvas').waitFor()
    await page.getByRole('button', { name: 'Freeze' }).click()
    await page.getByRole('button', { name: 'Frozen · resume' }).waitFor()
    await page.getByRole('button', { name: 'Reset counter…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click()
    await page.getByRole('link', { name: /^0 of 6K tokens/ }).waitFor()
    await page.locator('.figure', { hasText: 'Limit' }).getByRole('link', { name: 'Change' }).click()
    await page.getByRole('button', { name: 'Change daemon.budget_usd' }).waitFor()
    await person.leave()
  })

  it('reads that nothing needs attention only while agents can work', async () => {
    const calm = 'No agent is stuck, and nothing needs your attention.'
    const page = await operator.at('#/')
    const id = await alive.spawn('oracle')
    await page.getByText(calm).waitFor()
    await alive.invoke('daemon.pause')
    await page.getByText(calm).waitFor({ state: 'detached' })
    await alive.invoke('daemon.resume')
    await page.getByText(calm).waitFor()
    const problem = 'The disk is full.'
    await page.route('**/daemon', async route => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), health: 'stalled', problem } })
    })
    await page.reload()
    await page.getByText(`The daemon is stalled: ${problem}`).waitFor()
    await page.getByRole('table').waitFor()
    expect(await page.getByText(calm).count()).toBe(0)
    await page.unroute('**/daemon')
    operator.rest()
    await deleteAgent(id)

    const keyless = await openAnother({ config: { model: { default_model: 'openai:gpt-5.4' } } })
    const person = await visitor(browser, keyless)
    const attention = (await person.open('#/')).locator('.attention')
    await attention.getByText('The default model openai:gpt-5.4 is not available: OPENAI_API_KEY is not set').waitFor()
    await attention.getByRole('link', { name: 'Show' }).click()
    await attention.page().getByRole('heading', { name: 'Models' }).waitFor()
    await person.leave()
  })

  it('reads problems of modules over the whole width, and that a provider is suspended', async () => {
    const problems = ['first', 'second', 'third', 'fourth', 'fifth'].map(
      n => `The ${n} problem of a module has a remedy`,
    )
    const troubled = definePlugin({
      name: 'troubled',
      setup: svc => svc.add(DaemonStatusParts, { name: 'troubled', read: async () => ({ problems }) }),
    })
    const other = await openAnother({ roles: ['server'], builtins: [troubled] })
    await other.spawn('oracle')
    const person = await visitor(browser, other)
    const page = await person.open('#/')
    const attention = page.getByRole('region', { name: 'Needs your attention' })
    const first = (await attention.getByText(problems[0]!).boundingBox())!
    // One line.
    expect(first.height).toBeLessThan(40)
    expect(await attention.getByText('problem of a module').count()).toBe(3)
    await attention.getByText('2 more problems: svc daemon').waitFor()
    await page.route('**/models', async route => {
      const response = await route.fetch()
      const overview = (await response.json()) as ModelsOverview
      const traffic = { breaker: 'open', last_failure: 'HTTP 500: no answer' }
      for (const provider of overview.providers) Object.assign(provider.traffic, traffic)
      await route.fulfill({ response, json: overview })
    })
    await person.at('#/models')
    await page.reload()
    await page.getByRole('row', { name: 'sim suspended HTTP 500: no answer' }).waitFor()
    await person.leave()
  })

  it('reads the list of runs on a small screen without scrolling sideways', async () => {
    const page = await operator.at('#/runs')
    const size = page.viewportSize()!
    await page.setViewportSize({ width: 1024, height: 768 })
    await page.getByRole('columnheader', { name: 'Started' }).waitFor()
    expect(
      await page.evaluate(
        'document.querySelector(".scroll").scrollWidth - document.querySelector(".scroll").clientWidth',
      ),
    ).toBe(0)
    await page.setViewportSize(size)
    operator.rest()
  })

  it('sorts the fleet, and sees a stuck agent and the reason before all others', async () => {
    const page = await reader.at('#/')
    await page.getByText('No agents yet.').waitFor()
    const ids: Record<string, string> = {}
    for (const preset of ['coder', 'oracle', 'writer']) ids[preset] = await still.spawn(preset)
    await page.getByRole('table').waitFor()
    // Without a daemon no agent works, so the page does not say that all is well.
    expect(await page.getByText('nothing needs your attention').count()).toBe(0)
    const error = 'The provider says: no credit is left.'
    const outcome = still.home.kernel.use(Agents).recordOutcome({ agent_id: ids.writer!, error, waiting_for: null })
    const event = appendEvent({
      type: 'agent_changed',
      agent_id: ids.writer!,
      data: { agent_id: ids.writer!, changes: [] },
    })
    await still.home.kernel.use(Store).apply([outcome, event])
    // An agent that waits for another one needs nothing from the operator.
    const awaited = await still.invoke<Goal>('goals.add', { id: ids.coder!, objective: 'Count' })
    const after = [awaited.goal_id]
    await still.invoke<Goal>('goals.add', { id: ids.oracle!, objective: 'Wait for the count', after })
    const waiting_for = `Its goal waits for ${awaited.goal_id}`
    const waits = still.home.kernel.use(Agents).recordOutcome({ agent_id: ids.oracle!, error: null, waiting_for })
    await still.home.kernel.use(Store).apply([waits, event])
    const names = async () => (await page.locator('tbody th').allInnerTexts()).join(' ')
    const attention = page.getByRole('region', { name: 'Needs your attention' })
    await attention.getByText(`writer: ${error}`).waitFor()
    await page
      .getByRole('row', { name: /oracle/ })
      .getByText(waiting_for)
      .waitFor()
    expect(await attention.getByText('oracle').count()).toBe(0)
    expect(await names()).toBe('writer coder oracle')
    await page.getByRole('button', { name: 'Agent', exact: true }).click()
    await expect.poll(names).toBe('coder oracle writer')
    await page.getByRole('button', { name: 'Agent', exact: true }).click()
    await expect.poll(names).toBe('writer oracle coder')
    expect(await page.getByRole('columnheader', { name: 'Agent' }).getAttribute('aria-sort')).toBe('descending')
    await page.getByLabel('Sort by').selectOption('-cost')
    await page.getByLabel('Status').selectOption('stuck')
    await expect.poll(names).toBe('writer')
    await page.getByRole('link', { name: 'Show' }).click()
    await page.getByRole('heading', { level: 1, name: 'writer' }).waitFor()
    reader.rest()
  })

  it('sees what a server without a daemon cannot show, and no error or endless loading on any page', async () => {
    const id = await still.spawn('oracle')
    const page = await reader.at('#/spend')
    await page.getByText('No daemon is running. Start it with: svc start').waitFor()
    await page.getByText('The daemon manages the budget').waitFor()
    for (const hash of ['#/spend', '#/', `#/agents/${id}`, '#/runs', '#/approvals', '#/models']) {
      await reader.at(hash)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => page.locator('.skeleton').count(), { timeout: PATIENCE_MS }).toBe(0)
      expect(await page.getByRole('alert').allTextContents(), hash).toEqual([])
    }
    await reader.at('#/')
    await page.locator('tbody tr', { hasText: 'oracle' }).first().waitFor()
    expect(await page.getByText('Next wake-up').count()).toBe(0)
    reader.rest()
  })

  it('is asked for the new key when it changes during use, and keeps the data on the page', async () => {
    const page = await reader.at('#/')
    const row = page.locator('tbody tr', { hasText: 'writer' })
    await row.waitFor()
    const refused = { status: 401, contentType: 'application/json', body: '{"code":"unauthorized","status":401}' }
    // Answers every request as a server would: any other response says that the key is right.
    await page.route('**', route => {
      const request = route.request()
      const opens = request.resourceType() !== 'fetch' || request.headers()['x-svc-key'] === 'new'
      return opens ? route.continue() : route.fulfill(refused)
    })
    // A page fetches on an event, when its stream reconnects, or when its tab becomes visible again.
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await page.getByText('Key required').waitFor()
    expect(await row.count()).toBe(1)
    await page.getByLabel('Key', { exact: true }).fill('new')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    await row.waitFor()
    reader.rest()
  })

  it('distinguishes agents with the same name, also before one is killed', async () => {
    const ids = [await still.spawn('gambler'), await still.spawn('gambler')]
    const page = await reader.at('#/')
    for (const id of ids) await page.getByRole('link', { name: id, exact: true }).waitFor()
    await page.getByRole('link', { name: ids[1]!, exact: true }).click()
    await page.getByRole('button', { name: 'Kill…' }).click()
    await page.getByRole('heading', { name: `Kill ${ids[1]}?` }).waitFor()
    await page.getByRole('button', { name: 'Kill agent' }).click()
    await page.getByRole('link', { name: 'gambler', exact: true }).waitFor()
    reader.rest()
  })

  it("sees ages by the server’s clock when the browser's clock is wrong", async () => {
    const id = await still.spawn('oracle')
    const person = await visitor(browser, still, 'const { now } = Date; Date.now = () => now() - 3_600_000')
    const page = await person.open(`#/agents/${id}/identity`)
    await page.getByText(/· created (now|\d+ s ago)$/).waitFor()
    await person.leave()
  })

  it('finds a page at its last scroll position, other pages at the top, and their names in the title', async () => {
    const id = await still.spawn('oracle')
    const page = await reader.at('#/config')
    await page.locator('.keys').first().waitFor()
    const scrollPosition = () => page.evaluate<number>('scrollY')
    await page.evaluate('scrollTo(0, 1500)')
    await page.getByRole('link', { name: 'Fleet' }).click()
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor()
    expect(await scrollPosition()).toBe(0)
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor()
    await expect.poll(scrollPosition).toBe(1500)
    await reader.at(`#/agents/${id}/memory`)
    await expect.poll(() => page.title()).toBe(`Memory · ${id} · Agent · svc`)
    await reader.at(`#/agents/${id}/inner`)
    await expect.poll(() => page.title()).toBe(`Mood and stress · ${id} · Agent · svc`)
    reader.rest()
  })

  it('follows events live in a browser without shared workers too', async () => {
    const person = await visitor(browser, alive, 'delete globalThis.SharedWorker')
    const page = await person.open('#/events')
    await page.getByText('Live', { exact: true }).waitFor()
    const id = await alive.spawn('oracle')
    await page.locator('.events li', { hasText: id }).first().waitFor()
    await person.leave()
  })
})
