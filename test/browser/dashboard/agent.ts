import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AgentSummary } from '#core/agents/contract'
import type { CheckpointSummary } from '#core/checkpoints/contract'
import type { Goal } from '#core/goals/contract'
import { endGoal, insertGoal } from '#core/goals/repository'
import { Memory } from '#core/memory/contract'
import type { Alarm, Schedule } from '#platform/schedules/contract'
import { Store } from '#platform/store/contract'
import { bookSpend } from '#safety/budget/statements'
import { Questions } from '#safety/questions/contract'
import type { Citizen } from '#society/economy/contract'
import type { IdentityRecord } from '#society/identity/contract'
import { askQuestion, formOpinion, reviseWorldview } from '#society/identity/repository'
import { recordMoment, restoreLife } from '#society/suffering/repository'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf, waitUntilLoaded } from './axe.ts'
import { type OpenDashboard, openDashboard, PATIENCE_MS, type Visitor, visitor } from './open-dashboard.ts'

const PATIENT = { timeout: PATIENCE_MS }
const PROFILE = {
  'profiles/ann.yaml':
    'name: ann\nrole: does what ann does\nmax_steps: 6\nmax_total_cost_usd: 2\npersona:\n  happiness: 0.5\n',
}

/** Records the text that is drawn on a canvas. */
const DRAWN = `const { fillText } = CanvasRenderingContext2D.prototype
  globalThis.drawn = []
  CanvasRenderingContext2D.prototype.fillText = function (words, ...place) {
    drawn.push(words)
    fillText.call(this, words, ...place)
  }`
const DECIMALS = { maximumFractionDigits: 2 }
const HOSTILE = `<img src=x onerror="window.owned=1"> \u202egnp.exe`

describe.skipIf(!hasChromium)("the dashboard's views of an agent", () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  let ann: string

  beforeAll(async () => {
    // The agents do only what the test makes them do.
    const config = { economy: { enabled: true, starting_balance: 500 }, suffering: { threshold_crisis: 0.95 } }
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ roles: ['server'], config, files: PROFILE })])
    ann = await host.spawn('ann')
    person = await visitor(browser, host)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })
  beforeEach(async () => {
    page = await person.at('#/')
  })
  afterEach(() => person.rest())

  const store = () => host.home.kernel.use(Store)
  const go = (view: string) => person.at(`#/agents/${ann}/${view}`)
  /** Returns the text alternative of a plot. */
  const plotCaption = (label: string) =>
    page.locator('figure.plot', { hasText: label }).locator('figcaption').innerText()

  it('show a message in place of each empty list', async () => {
    for (const [view, message] of [
      ['inner', 'No stressors.'],
      ['identity', 'No opinions yet.'],
      ['identity', 'The notepad is empty.'],
      ['schedules', 'No schedules.'],
      ['schedules', 'No alarms.'],
      ['checkpoints', 'No checkpoints yet.'],
      ['world', 'No life events yet.'],
    ] as const) {
      await go(view)
      await page.getByText(message).waitFor()
    }
  })

  it('overview: shows both cost limits beside the spend that counts against them', async () => {
    await person.at(`#/agents/${ann}`)
    const figures = page.locator('.figures')
    await figures.getByText('Total cost limit').waitFor()
    const shown = (await figures.innerText()).replaceAll('\n', ' ')
    expect(shown).toMatch(/Cost limit for goals none ?\$0\.00 spent Total cost limit \$2\.00 ?\$0\.00 spent/)
  })

  it('overview: names the workspace, marks a goal that is not confirmed, and leads to the form for a new one', async () => {
    const other = await host.spawn('worker')
    const goal = { goal_id: 'goal-unconfirmed', agent_id: other, objective: 'Count goats', reasoning: null }
    await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
    await store().apply([endGoal({ goal_id: goal.goal_id, status: 'completed', result: 'many', unconfirmed: true })])
    await person.at(`#/agents/${other}`)
    const row = page.getByRole('listitem').filter({ hasText: 'Count goats' })
    await row.getByText('not confirmed').waitFor()
    await page.getByText(`workspaces/${other}`).waitFor()
    await row.getByRole('link').click()
    await page
      .getByText('created now · ended now')
      .or(page.getByText(/created .* ago · ended .* ago/))
      .waitFor()
    await person.at(`#/agents/${other}`)
    await page.getByRole('link', { name: 'Add a goal' }).click()
    await page.getByLabel('Objective').fill('Count sheep')
    await page.getByRole('button', { name: 'Add goal' }).click()
    await page
      .getByRole('cell', { name: 'Count sheep' })
      .or(page.getByRole('link', { name: 'Count sheep' }))
      .waitFor()
  })

  it('overview: shows once why the agent does not go on', async () => {
    const error = 'The model gave no answer.'
    const stuck = { goal: 'Count cows', error, next: { at: null, reason: `Its last 4 cycles failed: ${error}` } }
    await page.route(`**/agents/${ann}`, async route => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, json: { ...(await answer.json()), ...stuck } })
    })
    await person.at(`#/agents/${ann}`)
    await page.reload()
    await page.locator('.trouble', { hasText: stuck.next.reason }).waitFor()
    expect(await page.locator('p.soft', { hasText: error }).count()).toBe(0)
    await page.unroute(`**/agents/${ann}`)
    await page.reload()
  })

  it('questions: are counted on every page and in the title, and answered on the overview', async () => {
    const goal = { goal_id: 'goal-asking', agent_id: ann, objective: 'Choose a colour', reasoning: null }
    await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
    const question = { call_id: 'call-asking', agent_id: ann, goal_id: goal.goal_id, question: '**Red** or blue?' }
    await host.home.kernel.use(Questions).ask({ ...question, options: ['red', 'blue'] })
    await go('memory')
    await page.getByTitle('1 to answer').waitFor()
    await expect.poll(() => page.title()).toBe(`(1) Memory · ${ann} · Agent · svc`)
    await person.at('#/')
    await page.getByText(`${ann} asks: **Red** or blue?`).waitFor()
    await go('overview')
    await page.getByRole('button', { name: 'blue' }).waitFor()
    expect(await page.locator('.request strong').textContent()).toBe('Red')
    // The question says what the goal waits for.
    expect(await page.getByText('svc questions').count()).toBe(0)
    await page.getByRole('button', { name: 'blue' }).click()
    await page.getByTitle('1 to answer').waitFor({ state: 'detached' })
    expect(await host.invoke('questions.list', { status: 'answered' })).toMatchObject([{ answer: 'blue' }])
    await host.invoke('goals.abandon', { goal_id: goal.goal_id })
  })

  it('questions: one that is answered elsewhere keeps its place, with the answer and what was typed', async () => {
    const goal = { goal_id: 'goal-raced', agent_id: ann, objective: 'Choose a shape', reasoning: null }
    await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
    const question = { agent_id: ann, goal_id: goal.goal_id, question: 'Round or square?', options: [] }
    const asked = await host.home.kernel.use(Questions).ask({ ...question, call_id: 'call-raced' })
    await go('overview')
    await page.getByLabel('Your answer').fill('square, with round corners')
    await host.invoke('questions.answer', { question_id: asked.question_id, answer: 'round' })
    const card = page.locator('.request', { hasText: 'Round or square?' })
    await card.locator('p', { hasText: /^answered .*: round$/ }).waitFor()
    expect(await card.locator('.held').innerText()).toBe('Not sent: square, with round corners')
    await go('memory')
    await go('overview')
    await page.getByRole('heading', { name: 'Nudge' }).waitFor()
    expect(await card.count()).toBe(0)
    await host.invoke('goals.abandon', { goal_id: goal.goal_id })
  })

  it('questions: the fleet lists the oldest ones, and all on demand', async () => {
    const goal = { goal_id: 'goal-curious', agent_id: ann, objective: 'Ask much', reasoning: null }
    await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
    for (let n = 1; n <= 7; n++) {
      const question = { agent_id: ann, goal_id: goal.goal_id, question: `Question ${n}?`, options: [] }
      await host.home.kernel.use(Questions).ask({ ...question, call_id: `call-curious-${n}` })
    }
    await person.at('#/')
    const answers = page.getByRole('link', { name: 'Answer', exact: true })
    const row = page.getByRole('listitem').filter({ hasText: '2 more questions to answer.' })
    await row.waitFor()
    expect(await answers.count()).toBe(5)
    await row.getByRole('button', { name: 'Show' }).click()
    await page.getByText('Question 7?').waitFor()
    expect(await answers.count()).toBe(7)
    await host.invoke('goals.abandon', { goal_id: goal.goal_id })
  })

  it('inner life: shows stressors and when they are resolved, load and persona over time, and a crisis', async () => {
    const persona = { risk_tolerance: 0.3, social_drive: 0.5, concentration: 0.4, autonomy_level: 0.5, happiness: 0.2 }
    const moment = { agent_id: ann, severities: { loneliness: 0.6 }, persona, base: { ...persona, happiness: 0.5 } }
    const record = (load: number, crisis: boolean, mood: string) =>
      store().apply([recordMoment({ ...moment, load, crisis, mood })])
    await record(0.2, false, 'content')
    await record(0.97, true, 'overwhelmed')
    const zero = { risk_tolerance: 0, social_drive: 0, concentration: 0, autonomy_level: 0, happiness: 0 }
    const inner = {
      waking_ms: 7_200_000,
      offsets: zero,
      crisis: true,
      outcomes: [],
      hours_without_goal: 0,
      hours_unheard: 0,
      stressors: [
        {
          stressor: 'repeated_failure',
          severity: 0.62,
          peak: 0.7,
          trend: 'rising' as const,
          since: Date.now() - 60_000,
        },
        { stressor: 'existential_threat', severity: 0.36, peak: 0.4, trend: 'easing' as const, since: Date.now() },
      ],
      refusals: 0,
      told: null,
    }
    await store().apply([restoreLife({ agent_id: ann, inner })])
    await go('inner')
    await page.getByText('The agent is in a crisis').waitFor()
    const weighs = page.getByRole('listitem').filter({ hasText: 'repeated failure' })
    expect(await weighs.innerText()).toMatch(/rising[\s\S]*Resolved when [\s\S]*62 %, peak 70 %/)
    expect(await plotCaption('Stress over time')).toMatch(
      /Load 97 %, prominent from 35 %, constrained from 55 %, dominant from 75 %, crisis from 95 %, In a crisis 97 %/,
    )
    expect(await plotCaption('Persona over time')).toMatch(/Happiness 20 %, Concentration 40 %/)
    expect(await page.locator('.plot canvas').count()).toBe(2)
    expect(await page.locator('.moods').innerText()).toMatch(/overwhelmed\s+in a crisis[\s\S]*content/)
    await page.getByRole('meter', { name: 'Happiness' }).waitFor()
  })

  it('identity: shows story, opinions, questions and journal as plain text, and the biography on demand', async () => {
    await store().apply([
      formOpinion({ agent_id: ann, domain: 'sheep', opinion: HOSTILE, note: 'sheep: now it knows' }),
      reviseWorldview({ agent_id: ann, worldview: 'Wool holds the world together.', note: 'wool' }),
      askQuestion({ agent_id: ann, question_id: 'q-1', question: 'Why do lambs jump?', note: 'lambs' }),
    ])
    await host.home.write({ [`.svc/journals/${ann}/notepad.md`]: '## Today\nSheared two.\n' })
    await go('identity')
    await page.getByText('Wool holds the world together.').waitFor()
    await page.getByText('Why do lambs jump?').waitFor()
    await page.getByText('Sheared two.').waitFor()
    await page.getByText('window.owned=1').first().waitFor()
    expect(await page.locator('main').innerText()).toContain('\\u{202e}')
    expect(await page.evaluate('window.owned')).toBeUndefined()
    // A journal is shown from its end, and says so also if each of its characters is one byte.
    expect(await page.getByText('Last part of').count()).toBe(0)
    const long = 'Counted the sheep.\n'.repeat(8_000)
    await host.home.write({ [`.svc/journals/${ann}/notepad.md`]: `## Today\nSheared two.\n${long}` })
    await page.reload()
    await page.getByText('Last part of 152K bytes').waitFor()
    await page.getByText('Biography').click()
    await page.getByText('## View of the world').waitFor()
    expect(person.changes).toEqual([])
  })

  it('memory: keeps the shown memories until a new search has found something', async () => {
    await host.home.kernel.use(Memory).of(ann).store('Sheep are round.', {})
    await go('memory')
    await page.getByText('Sheep are round.').waitFor()
    await page.evaluate(`globalThis.lost = 0
      new MutationObserver(changes => {
        for (const { removedNodes } of changes) lost += [...removedNodes].filter(each => each.matches?.('ul.list')).length
      }).observe(document.querySelector('main'), { childList: true, subtree: true })`)
    await page.getByLabel('Search memory').fill('sheep')
    await page.getByText(/% match/).waitFor()
    expect(await page.evaluate('lost')).toBe(0)

    // A stored value means little without its key.
    await host.home.kernel.use(Memory).of(ann).store('7', { kind: 'kv', key: 'lambs' })
    await go('memory')
    await page.getByRole('listitem').filter({ hasText: 'lambs' }).getByText('7', { exact: true }).waitFor()

    await page.getByText('Add a memory').click()
    await page.getByLabel('What the agent should remember').fill('Lambs are small.')
    await page.getByRole('button', { name: 'Add memory' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Lambs are small.' }).getByText('operator').waitFor()
  })

  it('goals: show what they cost', async () => {
    const { goal_id } = await host.invoke<Goal>('goals.add', { id: ann, objective: 'Count the cost' })
    const call = { kind: 'goal_pursuit', model: 'openai:gpt-5.4', priced: 'catalogue', estimated: false, attempts: 1 }
    const amount = { cost_micros: 21_600, input_tokens: 1_900, output_tokens: 100, duration_ms: 5, held: false }
    await store().apply([bookSpend({ call_id: 'call-cost', agent_id: ann, goal_id, ...call, ...amount })])
    await go('goals')
    await page
      .getByRole('row', { name: /Count the cost/ })
      .getByText('$0.022')
      .waitFor()
    await page.getByRole('link', { name: 'Count the cost' }).click()
    await page.getByText('$0.022 for 2K tokens').waitFor()
    await host.invoke('goals.abandon', { goal_id })
  })

  it('goals: a result is shown as Markdown, without HTML, images and other than web links', async () => {
    const result = [
      '# Sheep\n\nThere are **three** of `Ovis`: <img src=x onerror=alert(1)>',
      '- one\n- [ ] two\n  1. *black*',
      '| name | wool | kilograms |\n| --- | --- | --: |\n| Dolly | white | 45 |',
      'שלום 👩\u200d👦 a\u200db',
      '[the farm](https://farm.example/sheep) and [this](javascript:alert(1)) and ![map](https://farm.example/map.png)',
      '```js\n# **no heading**\n```\n',
    ].join('\n\n')
    const goal = { goal_id: 'goal-markdown', agent_id: ann, objective: 'Count the flock', reasoning: null }
    await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
    await store().apply([endGoal({ goal_id: goal.goal_id, status: 'completed', result, unconfirmed: false })])
    await go(`goals/${goal.goal_id}`)
    const shown = page.locator('.words').filter({ hasText: 'There are' })
    const styleOf = (selector: string, property: string) =>
      shown
        .locator(selector)
        .evaluate(
          (each, name) => each.ownerDocument.defaultView?.getComputedStyle(each).getPropertyValue(name),
          property,
        )
    await shown.waitFor()
    expect(await shown.locator('strong').allTextContents()).toEqual(['Sheep', 'three'])
    expect(await shown.locator('code').allTextContents()).toEqual(['Ovis'])
    expect(await shown.locator('ul > li').allTextContents()).toEqual(['one', '☐ twoblack'])
    expect(await shown.locator('ol em').textContent()).toBe('black')
    expect(await shown.locator('td').allTextContents()).toEqual(['Dolly', 'white', '45'])
    expect(await styleOf('td.end', 'text-align')).toBe('end')
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await styleOf('th.end', 'display')).toBe('table-cell')
    await page.setViewportSize({ width: 1280, height: 720 })
    expect(await styleOf('p[dir]:has-text("שלום")', 'direction')).toBe('rtl')
    const links = shown.locator('a').evaluateAll(all => all.map(link => link.getAttribute('href')))
    expect(await links).toEqual(['https://farm.example/sheep', 'https://farm.example/map.png'])
    const text = await shown.textContent()
    expect(text).toContain('<img src=x onerror=alert(1)>')
    expect(text).toContain('👩\u200d👦 a\\u{200d}b')
    expect(text).toContain('the farm (https://farm.example/sheep) and [this](javascript:alert(1)) and map (')
    expect(await shown.locator('img').count()).toBe(0)
    await page.getByText('# **no heading**').waitFor()
  })

  it('goals: the criteria of one are changed, and those that stay keep what the form does not show', async () => {
    const acceptance = [{ file: 'sheep.md' }, { rubric: 'It names each sheep.', model: 'sim' }]
    const { goal_id } = await host.invoke<Goal>('goals.add', { id: ann, objective: 'Name the sheep', acceptance })
    await go(`goals/${goal_id}`)
    await page.getByRole('button', { name: 'Change criteria…' }).click()
    await page.getByLabel('Files that must exist').fill('flock.md\n\nsheep.md')
    await page.getByLabel('I must accept the result').check()
    await page.getByRole('button', { name: 'Change criteria', exact: true }).click()
    await page.getByText('Criteria changed.').waitFor()
    await page.getByText('flock.md').waitFor()
    const goal = await host.invoke<Goal>('goals.get', { goal_id })
    expect(goal.acceptance.map(({ met, problem, ...criterion }) => criterion)).toEqual([
      { file: 'flock.md' },
      { file: 'sheep.md' },
      acceptance[1],
      { operator: true },
    ])
    await host.invoke('goals.abandon', { goal_id })
  })

  it('goals: one is abandoned after a confirmation, and the focus goes to the content', async () => {
    const { goal_id } = await host.invoke<Goal>('goals.add', { id: ann, objective: 'Count the sheep' })
    const goal = () => host.invoke<Goal>('goals.get', { goal_id })
    await go(`goals/${goal_id}`)
    await page.getByRole('button', { name: 'Abandon…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Abandon…')
    expect((await goal()).status).toBe('active')
    await page.getByRole('button', { name: 'Abandon…' }).click()
    await page.getByRole('button', { name: 'Abandon goal' }).click()
    await page.getByText('Goal abandoned.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    expect((await goal()).status).toBe('abandoned')
  })

  it('goals: a long list keeps its place while one goal is shown, and the focus on the button at its end', async () => {
    const other = await host.spawn('ann')
    for (let n = 0; n < 60; n++) {
      const goal = { agent_id: other, goal_id: `goal-long${n}`, objective: `Count sheep ${n}`, reasoning: null }
      await store().apply([insertGoal({ ...goal, origin: 'operator', priority: 5, place: 0, parent_goal_id: null })])
      await store().apply([endGoal({ goal_id: goal.goal_id, status: 'completed', result: '', unconfirmed: false })])
    }
    await person.at(`#/agents/${other}/goals`)
    const row = page.getByRole('link', { name: 'Count sheep 30' })
    await row.waitFor()
    const scrollPosition = () => page.evaluate<number>('scrollY')
    await row.scrollIntoViewIfNeeded()
    await page.evaluate('scrollTo(0, 1_000)')
    await row.click()
    await page.getByText('No tool calls yet.').waitFor()
    expect(await scrollPosition()).toBe(0)
    await page.goBack()
    await row.waitFor()
    await expect.poll(scrollPosition).toBe(1_000)
    await page.getByRole('link', { name: 'Memory', exact: true }).click()
    await page.getByText('No memories yet.').waitFor()

    await person.at(`#/agents/${other}/goals`)
    const next = page.getByRole('button', { name: 'Next page' })
    await next.focus()
    await page.keyboard.press('Enter')
    await page.getByText('51–60').waitFor()
    expect(await next.isDisabled()).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByText('51–60').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Next page')
    await host.invoke('agents.delete', { id: other })
  })

  it('messages: a draft for one agent does not become one for another', async () => {
    const other = await host.spawn('ann')
    // Both pages are loaded, so that going from one to the other shows no loading in between.
    await person.at(`#/agents/${other}/messages`)
    await page.getByText('No messages yet.').waitFor()
    await go('messages')
    await page.getByRole('code').getByText(ann, { exact: true }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('For ann alone')
    await person.at(`#/agents/${other}/messages`)
    await page.getByRole('code').getByText(other, { exact: true }).waitFor()
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('')
    await host.invoke('agents.delete', { id: other })
  })

  it('world: shows the current balance, its plot, the state, and movements that balance', async () => {
    for (let beat = 1; beat <= 12; beat++) await host.home.kernel.hooks.emit('beat', { beat })
    await go('world')
    await page.getByText('Balance over time').first().waitFor()
    // Life events may still change the balance meanwhile.
    const balanceNow = async () =>
      (await host.invoke<Citizen>('economy.citizen', { id: ann })).balance.toLocaleString('en', DECIMALS)
    const shown = async () => (await page.locator('.figures').innerText()).includes(await balanceNow())
    await expect.poll(shown, PATIENT).toBe(true)
    await expect
      .poll(async () => (await plotCaption('Balance over time')).includes(`Balance ${await balanceNow()}`), PATIENT)
      .toBe(true)
    await page.getByText('ledger balanced').waitFor()
    await page.getByRole('meter', { name: 'health' }).waitFor()
    expect(await page.getByRole('table', { name: 'Transactions' }).getByRole('row').count()).toBeGreaterThan(1)
  })

  it('world: plots a balance that has changed once within its minute, with marks at whole numbers', async () => {
    const config = { economy: { enabled: true, starting_balance: 6 } }
    const young = await openDashboard({ roles: ['server'], config, files: PROFILE })
    const id = await young.spawn('ann')
    const other = await visitor(browser, young, DRAWN)
    const shown = await other.open(`#/agents/${id}/world`)
    await shown.locator('.plot canvas').waitFor()
    const drawn = await shown.evaluate<string[]>('globalThis.drawn')
    expect(drawn).toEqual(expect.arrayContaining(['0', '5', '10', expect.stringMatching(/^\d\d:\d\d/)]))
    expect(drawn.join()).not.toContain('2.5')
    await other.leave()
    await young.close()
  })

  it('world: says so if the economy is not enabled', async () => {
    const config = { economy: { enabled: false } }
    const poor = await openDashboard({ roles: ['server'], config, files: PROFILE })
    const id = await poor.spawn('ann')
    const other = await visitor(browser, poor)
    await (await other.open(`#/agents/${id}/world`)).getByText('The economy is not enabled in this project.').waitFor()
    await other.leave()
    await poor.close()
  })

  it('schedules and alarms: can be added and removed, schedules also disabled, and errors are shown in place', async () => {
    const schedules = () => host.invoke<Schedule[]>('schedules.list', { id: ann })
    const alarms = () => host.invoke<Alarm[]>('alarms.list', { id: ann })
    await go('schedules')
    await page.getByText('Recurring goal').click()
    await page.getByLabel('Objective of each run').fill('Count the sheep')
    await page.getByLabel('Cron expression').fill('99 9 * * *')
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.locator('.trouble').waitFor()
    expect(await schedules()).toEqual([])
    await page.getByLabel('Cron expression').fill('0 9 * * 1-5')
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    const row = page.getByRole('row', { name: /Count the sheep/ })
    await row.waitFor()
    expect(await row.innerText()).toContain('0 9 * * 1-5')
    await page.getByLabel('Repeat').selectOption('every')
    await page.getByLabel('Objective of each run').fill('Look at the gate')
    await page.getByRole('spinbutton', { name: 'Minutes' }).fill('90')
    await page.getByRole('button', { name: 'Schedule', exact: true }).click()
    await page.getByRole('row', { name: /Look at the gate.*every 1 h 30 min/ }).waitFor()
    await row.getByRole('button', { name: 'Disable' }).click()
    await row.getByText('disabled').waitFor()
    expect((await schedules())[0]).toMatchObject({ cron: '0 9 * * 1-5', enabled: false })
    await row.getByRole('button', { name: 'Enable Count the sheep', exact: true }).click()
    await row.getByRole('button', { name: 'Remove… Count the sheep', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(await schedules()).toHaveLength(2)
    await row.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await schedules()).toMatchObject([{ every: 5_400 }])
    // The focused button is gone, so the focus is at the content, not at the top of the page.
    expect(await page.evaluate('document.activeElement.id')).toBe('main')

    await page.getByText('Set an alarm').click()
    await page.getByLabel('Message', { exact: true }).fill('The shearers come')
    await page.locator('input[type="datetime-local"]').fill('2020-01-31T18:00')
    await page.getByRole('button', { name: 'Set alarm', exact: true }).click()
    await page.getByText('Jan 31, 2020, 18:00:00 has passed').waitFor()
    await page.locator('input[type="datetime-local"]').fill('2040-01-31T18:00')
    await page.getByRole('button', { name: 'Set alarm', exact: true }).click()
    const alarm = page.getByRole('row', { name: /The shearers come/ })
    await alarm.waitFor()
    const local = await page.evaluate<string>("new Date('2040-01-31T18:00').toISOString()")
    expect(await alarms()).toMatchObject([{ at: local, created_by: 'operator' }])
    await alarm.getByRole('button', { name: 'Cancel' }).click()
    await alarm.waitFor({ state: 'detached' })
    expect(await alarms()).toEqual([])
  })

  it('checkpoints: creates one, shows the changes since, restores it after a confirmation, and deletes it', async () => {
    const opinions = async () => (await host.invoke<IdentityRecord>('identity.get', { id: ann })).opinions
    await go('checkpoints')
    await page.getByLabel('Label', { exact: true }).fill('before the fair')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const row = page.getByRole('row', { name: /before the fair/ })
    await row.waitFor()
    await store().apply([formOpinion({ agent_id: ann, domain: 'fairs', opinion: 'Too loud.', note: 'fairs' })])
    await go('tools')
    await page.getByRole('table', { name: 'Tools' }).waitFor()
    await go('checkpoints')
    await page.locator('details.part', { hasText: 'identity' }).waitFor()
    await page.locator('.changes ins', { hasText: 'Too loud.' }).first().waitFor()
    expect((await opinions()).map(({ domain }) => domain)).toContain('fairs')

    await row.getByRole('button', { name: 'Restore…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('del', { hasText: 'Too loud.' }).first().waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect((await opinions()).map(({ domain }) => domain)).toContain('fairs')
    await row.getByRole('button', { name: 'Restore…' }).click()
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText('Restored.').waitFor()
    expect((await opinions()).map(({ domain }) => domain)).toEqual(['sheep'])
    // The state before the restore is kept too, and each checkpoint can be deleted.
    await expect.poll(() => page.getByRole('table').getByRole('row').count(), PATIENT).toBe(3)
    await row.getByRole('button', { name: 'Delete… before the fair', exact: true }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await host.invoke<CheckpointSummary[]>('checkpoints.list', { id: ann })).toHaveLength(2)
    await row.getByRole('button', { name: 'Delete…' }).click()
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    expect(await host.invoke<CheckpointSummary[]>('checkpoints.list', { id: ann })).toHaveLength(1)
  })

  it('checkpoints: downloads the whole agent as a file, from which another agent is imported', async () => {
    await go('checkpoints')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the agent' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('ann.svcagent')
    const file = { name: 'ann.svcagent', mimeType: 'application/json', buffer: await readFile(await download.path()) }
    await page.getByRole('button', { name: 'Import an agent…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Bundle').setInputFiles({ ...file, buffer: Buffer.from('<svg/>') })
    await dialog.getByRole('button', { name: 'Import' }).click()
    await dialog.getByText('it is not JSON').waitFor()
    await dialog.getByLabel('Bundle').setInputFiles(file)
    await dialog.getByRole('button', { name: 'Import' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1, name: 'ann' }).waitFor()
    const made = new URL(page.url()).hash.split('/').at(-1)!
    expect(made).not.toBe(ann)
    expect((await host.invoke<AgentSummary[]>('agents.list')).map(({ agent_id }) => agent_id)).toContain(made)
  })

  it('have no faults that axe finds, and are no wider than their window', { timeout: 240_000 }, async () => {
    for (const view of ['inner', 'identity', 'world', 'schedules', 'checkpoints']) {
      await go(view)
      await waitUntilLoaded(page)
      await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
      expect(await faultsOf(page), view).toEqual([])
    }
  })
})
