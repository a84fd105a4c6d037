import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { endGoal, insertGoal } from '#core/goals/repository'
import { appendEvent, Store } from '#platform/store/contract'
import { Mail } from '#society/a2a/contract'
import { MessageGraph } from '#society/a2a/graph'
import type { PatternRun } from '#society/patterns/contract'
import type { SwarmReport } from '#society/swarm/contract'
import { type Link, layout } from '../../../dashboard/pages/society/layout.ts'
import Sqlite from '../../support/sqlite.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf, waitUntilLoaded } from './axe.ts'
import { type OpenDashboard, openDashboard, PATIENCE_MS, type Visitor, visitor } from './open-dashboard.ts'

const NAMES = ['ann', 'bob', 'cleo', 'dora'] as const
const PATIENT = { timeout: PATIENCE_MS }
const HOSTILE = `<img src=x onerror="window.owned=1"> \u202egnp.exe`

interface Box {
  left: number
  right: number
  top: number
  bottom: number
}

describe.skipIf(!hasChromium)('the society page', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    const files = Object.fromEntries(
      NAMES.map(name => [`profiles/${name}.yaml`, `name: ${name}\nrole: does what ${name} does\nmax_steps: 6\n`]),
    )
    // The agents do only what the test makes them do.
    const config = { swarm: { policy: 'active' } }
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ roles: ['server'], config, files })])
    for (const name of NAMES) ids[name] = await host.spawn(name)
    person = await visitor(browser, host)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })
  beforeEach(async () => {
    page = await person.at('#/society')
  })
  afterEach(() => person.rest())

  const store = () => host.home.kernel.use(Store)
  const mail = () => host.home.kernel.use(Mail)
  async function says(from: string, to: string, body: string, type: 'request' | 'query' = 'request') {
    const { effects } = await mail().post({ type, from_agent: ids[from]!, to: ids[to] ?? to, body })
    await store().apply(effects)
  }
  /** Answers an agent's unread message with this subject. */
  async function answers(who: string, subject: string, body: string) {
    const asked = (await mail().listUnread(ids[who]!, 20)).find(message => message.subject.startsWith(subject))
    const { effects } = await mail().reply(asked!.message_id, ids[who]!, body)
    await store().apply([...effects, mail().read([asked!.message_id])])
  }
  const nodes = () => page.locator('.graph .node')
  const runs = () => host.invoke<PatternRun[]>('patterns.runs')

  it('says so while there are no messages, patterns, delegations or reports', async () => {
    await page.getByText('No messages in this period.').waitFor()
    for (const [tab, expected] of [
      ['Patterns', 'No patterns yet.'],
      ['Delegations', 'No delegations yet.'],
      ['Swarm', 'No reports yet.'],
    ] as const) {
      await page.getByRole('link', { name: tab, exact: true }).click()
      await page.getByText(expected).waitFor()
    }
  })

  it('draws the messages between agents as they happen, and shows the same in a table', async () => {
    await page.getByText('No messages in this period').waitFor()
    for (let n = 0; n < 3; n++) await says('ann', 'bob', `draft ${n}`)
    await says('bob', 'ann', 'The second is better.')
    // Messages that came in through other modules are shown as text too.
    const db = new Sqlite(host.home.kernel.project.database)
    db.prepare("UPDATE a2a_messages SET body = ? WHERE body LIKE 'The second%'").run(HOSTILE)
    db.close()
    await says('cleo', 'ann', 'Which one is newer?', 'query')
    await says('dora', 'operator', 'All is well.')
    await expect.poll(() => nodes().count(), PATIENT).toBe(5)
    const graph = await host.invoke<MessageGraph>('messages.graph')
    expect(MessageGraph.parse(graph)).toMatchObject({ messages: 6, complete: true, left_out: 0 })
    expect(graph.edges[0]).toMatchObject({ from_agent: ids.ann, to_agent: ids.bob, messages: 3, types: { request: 3 } })
    // Nodes are sized by the number of messages.
    const sizes = await page
      .locator('.graph circle:not(.reach)')
      .evaluateAll(all => all.map(each => Number(each.getAttribute('r'))))
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a))
    expect(await page.locator('.graph .edge.kind-question').count()).toBe(1)
    const row = page.getByRole('row', { name: /^ann and bob/ })
    expect(await row.innerText()).toMatch(/Requests 4[\s\S]*3 : 1[\s\S]*4/)
    // Text of agents is shown as text.
    await page.getByText('window.owned=1').waitFor()
    expect(await page.locator('.last').innerText()).toContain('\\u{202e}')
    expect(await page.evaluate('window.owned')).toBeUndefined()
    expect(person.changes).toEqual([])
  })

  it('counts only messages in the chosen span, and limits the number of agents', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    expect(await host.invoke<MessageGraph>('messages.graph', { since: tomorrow })).toMatchObject({
      messages: 0,
      edges: [],
    })
    const few = await host.invoke<MessageGraph>('messages.graph', { limit: 2 })
    expect(few).toMatchObject({ messages: 6, left_out: 3 })
    expect(few.agents.map(({ name }) => name)).toEqual(['ann', 'bob'])
    await page.getByLabel('Period').selectOption({ label: 'Last hour' })
    await page.waitForURL(/span=hour/)
    await expect.poll(() => nodes().count(), PATIENT).toBe(5)
  })

  it('moves through the graph by arrow keys, and shows the last messages of two agents on hover', async () => {
    const first = page.locator('.graph .node').first()
    await first.focus()
    expect(await first.getAttribute('aria-label')).toContain('ann: sent 3, received 2 messages')
    await page.getByRole('heading', { name: 'ann and bob' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('heading', { name: /cleo/ }).waitFor()
    await page.getByText('Which one is newer?').waitFor()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel'), PATIENT).toContain('bob')
    await page.getByRole('heading', { name: 'ann and bob' }).waitFor()
    // The graph is one stop for Tab, for any number of nodes.
    expect(await page.locator('.graph .node[tabindex="0"]').count()).toBe(1)
    await page.locator('.graph .node', { hasText: 'dora' }).hover()
    await page.getByText('All is well.').waitFor()
    await page
      .getByRole('button', { name: 'Show the latest messages of cleo and ann' })
      .or(page.getByRole('button', { name: 'Show the latest messages of ann and cleo' }))
      .click()
    await page.getByText('Which one is newer?').waitFor()
    await first.focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`#/agents/${ids.ann}/messages`))
  })

  it('starts a pattern, shows its messages, and cancels it', async () => {
    await page.getByRole('link', { name: 'Patterns', exact: true }).click()
    await page.getByText('Start a pattern').click()
    await page.getByRole('combobox', { name: 'Pattern' }).selectOption('debate')
    await page.getByLabel('Initiator').selectOption(ids.ann!)
    await page.getByRole('button', { name: 'Start' }).waitFor()
    await page.getByRole('textbox', { name: 'Task' }).fill('Tests come first')
    await page.getByRole('button', { name: 'Start' }).click()
    // Without a participant, the server's message appears at the form.
    await page.locator('.trouble').waitFor()
    await page.getByRole('checkbox', { name: 'bob' }).check()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Argue for this in a few sentences: Tests come first').waitFor()
    const [run] = await runs()
    expect(run).toMatchObject({
      name: 'debate',
      initiator: ids.ann,
      participants: [ids.bob],
      status: 'running',
      rounds: 3,
    })
    await answers('ann', 'Debate', 'They show what is meant.')
    await page.getByText('They show what is meant.').first().waitFor()
    await page.getByText('The other side said').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    expect((await runs())[0]?.status).toBe('cancelled')
    await page.getByText('"answer": "They show what is meant."').waitFor()
  })

  it('lists delegations with their sender, recipient and result', async () => {
    await host.invoke('messages.send', { id: ids.cleo, type: 'delegate', body: 'Write a poem about the sea' })
    await page.getByRole('link', { name: 'Delegations' }).click()
    const row = page.getByRole('row', { name: /Write a poem/ })
    await row.waitFor()
    expect(await row.innerText()).toMatch(/operator → cleo-\w+[\s\S]*pending/)
    const [goal] = await host.invoke<{ goal_id: string }[]>('goals.list', { id: ids.cleo })
    await host.invoke('goals.abandon', { goal_id: goal!.goal_id })
    await host.home.kernel.hooks.emit('beat', { beat: 1 })
    await row.getByText('failed').waitFor()
  })

  it('shows what the swarm learned and changed, and reverts it', async () => {
    let made = 0
    const endGoals = async (who: string, objective: string, how: string) => {
      for (const each of how) {
        const goal_id = `goal-swarm-${++made}`
        const agent_id = ids[who]!
        const goal = {
          goal_id,
          agent_id,
          objective,
          priority: 4,
          origin: 'operator',
          reasoning: null,
          parent_goal_id: null,
        }
        await store().apply([insertGoal({ ...goal, place: 0 })])
        const status = each === '+' ? 'completed' : 'abandoned'
        const event = appendEvent({ type: `goal_${status}`, agent_id, data: { agent_id, goal_id } })
        await store().apply([endGoal({ goal_id, status, result: 'so it was', unconfirmed: false }), event])
      }
    }
    await endGoals('ann', 'Fix the bug in the parser', '+++++')
    await endGoals('bob', 'Fix the bug in the parser', '----')
    await host.home.kernel.hooks.emit('beat', { beat: 5 })
    const [report] = await host.invoke<SwarmReport[]>('swarm.reports')
    expect(report!.effects.length).toBeGreaterThan(0)
    await page.getByRole('link', { name: 'Swarm', exact: true }).click()
    await page.getByText(report!.recommendations[0]!.text).first().waitFor()
    await page.getByRole('button', { name: 'Revert' }).click()
    await page.getByRole('row').locator('.tag', { hasText: 'reverted' }).waitFor()
    const after = await host.invoke<SwarmReport>('swarm.report', { report_id: report!.report_id })
    expect(after.reverted_at).not.toBeNull()
  })

  it('has no faults that axe finds, and no page is wider than its window', { timeout: 240_000 }, async () => {
    const [run] = await runs()
    const places = [
      'society',
      'society/patterns',
      `society/patterns/${run!.pattern_id}`,
      'society/delegations',
      'society/swarm',
    ]
    for (const place of places) {
      await person.at(`#/${place}`)
      await waitUntilLoaded(page)
      for (const each of await page.locator('details.card > summary').all()) await each.click()
      expect(await faultsOf(page), place).toEqual([])
    }
  })

  it('draws 200 agents quickly, in a deterministic layout where neither nodes nor names overlap', async () => {
    const links: Link[] = Array.from({ length: 199 }, (_, n) => ({
      from: n + 1,
      to: Math.floor(n / 3),
      weight: (n % 5) / 5,
    }))
    const frame = { width: 960, height: 560, margin: 48 }
    const points = layout(200, links, frame)
    expect(layout(200, links, frame)).toEqual(points)
    const gaps = points.flatMap((one, n) =>
      points.slice(n + 1).map(other => Math.hypot(one.x - other.x, one.y - other.y)),
    )
    expect(Math.min(...gaps)).toBeGreaterThan(15)
    for (const { x, y } of points) {
      expect(x >= frame.margin - 1e-6 && x <= frame.width - frame.margin + 1e-6).toBe(true)
      expect(y >= frame.margin - 1e-6 && y <= frame.height - frame.margin + 1e-6).toBe(true)
    }
    // Nodes stay about where they were when one is added.
    const more = layout(201, [...links, { from: 200, to: 3, weight: 1 }], frame, points)
    const moved = points.map((point, n) => Math.hypot(point.x - more[n]!.x, point.y - more[n]!.y)).sort((a, b) => a - b)
    expect(moved[100]).toBeLessThan(60)

    const before = process.cpuUsage()
    layout(200, links, frame)
    const { user } = process.cpuUsage(before)
    console.log(`200 nodes are laid out in ${(user / 1000).toFixed(0)} ms of CPU time`)
    expect(user).toBeLessThan(500_000)

    const db = new Sqlite(host.home.kernel.project.database)
    db.transaction(() => {
      const row = db.prepare<[string], object>('SELECT * FROM agents WHERE agent_id = ?').get(ids.ann!)!
      const copy = db.prepare(`INSERT INTO agents (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
      const write = db.prepare(
        `INSERT INTO a2a_messages (message_id, type, from_agent, to_agent, subject, body, thread_id, priority, expects_reply, metadata, created_at)
         VALUES (?, 'request', ?, ?, '', 'hello', ?, 4, 1, '{}', ?)`,
      )
      for (let n = 0; n < 230; n++) {
        copy.run(
          Object.values(row).map(value => (value === ids.ann ? `many-${n}` : value === 'ann' ? `many ${n}` : value)),
        )
        write.run(
          `msg-many${n}`,
          `many-${n}`,
          n < 3 ? ids.ann : `many-${Math.floor(n / 3)}`,
          `msg-many${n}`,
          Date.now(),
        )
      }
    })()
    db.close()
    await person.at('#/events')
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    await person.at('#/society')
    await expect.poll(() => nodes().count(), PATIENT).toBe(200)
    await page.getByText(/\d+ more agents not shown/).waitFor()
    // Names that would overlap are shown on focus only.
    const [late, written] = [page.locator('.graph .late'), page.locator('.graph .names text')]
    expect((await late.count()) + (await written.count())).toBe(200)
    expect(await written.count()).toBeGreaterThan(2)
    const names: Box[] = await written.evaluateAll(all => all.map(each => each.getBoundingClientRect().toJSON()))
    const covers = (a: Box, b: Box) =>
      a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom
    expect(names.filter((name, n) => names.slice(n + 1).some(other => covers(name, other)))).toEqual([])
    // The table is drawn when it is in view, and its buttons keep their width.
    expect(
      (await page
        .getByRole('button', { name: /^Show the latest messages/ })
        .first()
        .boundingBox())!.width,
    ).toBeGreaterThan(40)
  })
})
