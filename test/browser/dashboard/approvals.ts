import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Approval, ApprovalSummary } from '#safety/approvals/contract'
import { asksForGoal } from '../../spec/core/models/model-host.ts'
import { finish, goalAnswer, recordingTools } from '../../spec/safety/approvals-host.ts'
import { fault, type ModelServerRequest, type Reply, text, toolCall, until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, shot, type Visitor, visitor } from './open-dashboard.ts'

const AGENTS = 14
const LONG = `${'all is well\n'.repeat(800)}and then everything is deleted`
/** An answer that lists shorten. */
const TALE = 'The lighthouse stood at the end of the road. '.repeat(40)

/** An answer with blocks of code. */
const CODE = 'Look:\n```ts\nif (a)\n  <b>go</b>()\n```\n```sh\ncut off'

/** Replies to a task that is started again: the last one ends when the test allows it. */
let goOn = () => {}
const begunAgain: Reply[] = [
  { kind: 'breakage', mode: 'cleancut', text: 'Once upon a rhyme' },
  fault('500'),
  text('It was a quiet night at sea.', { until: new Promise<void>(resolve => (goOn = resolve)) }),
]

/**
 * Returns the model's reply: each agent has one goal, for which it sends a message and finishes; a task follows its
 * instruction.
 */
function says(request: ModelServerRequest) {
  const { messages } = request.body
  const last = messages.at(-1)
  if (asksForGoal(request)) return goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Send word to Ann')
  // What the agent knows follows the instruction.
  const [asked = ''] = (messages.findLast(({ role }) => role === 'user')?.content ?? '').split('\n\n[State when')
  const instruction = asked.split('\n\n').at(-1) ?? ''
  const isPursuit = request.body.tools?.some(each => each.function.name === 'finish_goal')
  if (last?.role === 'tool') return isPursuit ? finish(`It said: ${last.content}`) : text(`So: ${last.content}`)
  if (instruction.includes('stall')) return fault('stall', 'Once upon a time there was a lighthouse. '.repeat(8))
  if (instruction.includes('begin again')) return begunAgain.shift()
  if (instruction.includes('fail')) return fault('rst')
  if (instruction.includes('greet')) return text('Hello, dear reader. '.repeat(4))
  if (instruction.includes('go on')) return text(TALE)
  if (instruction.includes('show code')) return text(CODE)
  if (instruction.includes('remember')) return toolCall('memory_set', { key: 'ann', value: 'is on holiday' })
  return toolCall('send', { to: 'ann', text: request.prompt.includes('Role: a long-winded one') ? LONG : 'hello\nAnn' })
}

describe.skipIf(!hasChromium)('approvals and tasks on the dashboard', () => {
  const { runs, plugin } = recordingTools()
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  const ids: string[] = []

  beforeAll(async () => {
    ;[browser, host] = await Promise.all([
      theBrowser(),
      openDashboard({
        script: says,
        builtins: [plugin],
        config: {
          daemon: { heartbeat: 0.2 },
          approval: { enabled: true, require_for: ['memory_set'] },
          model: { idle_timeout: 60 },
        },
        files: { 'profiles/windy.yaml': 'name: windy\nrole: a long-winded one\nmax_steps: 6\n' },
      }),
    ])
    for (let n = 0; n < AGENTS; n++) ids.push(await host.spawn(n === AGENTS - 1 ? 'windy' : 'worker'))
    await until(async () => (await queue()).length === AGENTS)
    person = await visitor(browser, host)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })
  beforeEach(async () => {
    page = await person.at('#/approvals')
    // Decided calls stay on the page where they were decided, and so does the pause after a decision.
    await page.reload()
  })
  afterEach(() => person.rest())

  const queue = () => host.invoke<ApprovalSummary[]>('approvals.queue')
  const show = (approval_id: string) => host.invoke<Approval>('approvals.show', { approval_id })
  const cardOf = (approval_id: string) => page.locator('.request', { hasText: approval_id })
  /** Waits until a card shows the decision on its call in place of the buttons. */
  const outcomeOf = async (card: Locator, decision: 'approved' | 'denied' = 'approved') => {
    await card.locator('.outcome', { hasText: decision }).waitFor()
    expect(await card.getByRole('button', { name: /Approve|Deny|Edit|Allow/ }).count()).toBe(0)
  }
  /** Returns the pending calls of goals, without the long one. */
  const waiting = async () => (await queue()).filter(each => each.arguments !== null && each.task_id === null)
  const oldest = async () => (await queue()).find(each => each.arguments !== null && each.task_id === null)!
  const lastPrompt = () => JSON.stringify(host.model!.requests.map(({ body }) => body.messages.at(-1)?.content))

  it('approves one of several calls: it runs with the shown arguments, and the others stay pending', async () => {
    const { approval_id, agent_id, args_sha256 } = await oldest()
    await page.getByTitle(`${AGENTS} pending`).waitFor()
    await expect.poll(() => page.title()).toBe(`(${AGENTS}) Approvals · svc`)
    const card = cardOf(approval_id)
    expect(await card.getByLabel('Arguments').innerText()).toMatch(/to\s+"ann"\s+text\s+hello\nAnn/)
    expect(await card.innerText()).toContain(args_sha256.slice(0, 16))
    expect(await card.getByRole('link', { name: /Send word/ }).getAttribute('href')).toMatch(
      `#/agents/${agent_id}/goals/goal-`,
    )
    await card.getByRole('button', { name: 'Approve', exact: true }).click()
    await outcomeOf(card)
    await until(() => runs.length === 1)
    expect(runs).toEqual([{ tool: 'send', args: { to: 'ann', text: 'hello\nAnn' } }])
    expect(await queue()).toHaveLength(AGENTS - 1)
    expect(await page.evaluate('document.activeElement?.className')).toBe('outcome')
    await page.getByRole('link', { name: 'History' }).click()
    await page.locator('tbody tr', { hasText: agent_id }).getByText('approved, ran').waitFor()
  })

  it('denies a call with a reason, which the agent reads', async () => {
    const before = runs.length
    const { approval_id } = await oldest()
    const card = cardOf(approval_id)
    await card.getByRole('button', { name: 'Deny…' }).click()
    await page.keyboard.type('Ann is on holiday')
    await card.getByRole('button', { name: 'Deny', exact: true }).click()
    await outcomeOf(card, 'denied')
    await until(() => lastPrompt().includes('Ann is on holiday'))
    expect(await show(approval_id)).toMatchObject({ status: 'denied', reason: 'Ann is on holiday' })
    expect(runs).toHaveLength(before)
    await person.at(`#/approvals/item/${approval_id}`)
    await page.getByText('Ann is on holiday').waitFor()
  })

  it('shows the decision on a call that someone else decided meanwhile', async () => {
    const { approval_id } = await oldest()
    await page.route(`**/approvals/${approval_id}`, async route => {
      if (route.request().method() === 'POST')
        await host.invoke('approvals.decide', { approval_id, decision: 'deny', reason: 'Ann is asleep' })
      await route.continue()
    })
    await cardOf(approval_id).getByRole('button', { name: 'Approve', exact: true }).click()
    await page.locator('.toasts').getByText(`Approval ${approval_id} was already denied`).waitFor()
    await outcomeOf(cardOf(approval_id), 'denied')
    await page.unroute(`**/approvals/${approval_id}`)
  })

  it('decides one call by two quick clicks: the second one is ignored, and no card moves', async () => {
    const [first, second] = await waiting()
    const cards = [first!, second!].map(({ approval_id }) => cardOf(approval_id))
    await cards[1]!.waitFor()
    const tops = () => Promise.all(cards.map(async card => (await card.boundingBox())!.y))
    const before = await tops()
    // Playwright's own click would wait on the clock that stands still below.
    const clickApprove = async (card: Locator) => {
      const { x, y, width, height } = (await card.getByRole('button', { name: 'Approve', exact: true }).boundingBox())!
      const point = [x + width / 2, y + height / 2] as const
      await page.mouse.click(...point)
      return point
    }
    // Both clicks are quick, however busy the machine is.
    await page.evaluate(() => {
      const now = performance.now()
      performance.now = () => now
    })
    const point = await clickApprove(cards[0]!)
    await outcomeOf(cards[0]!)
    // First with nothing left under the pointer, then on the next call itself.
    await page.mouse.click(...point)
    await clickApprove(cards[1]!)
    await page.locator('.toasts').getByText('Not decided').waitFor()
    await page.evaluate(() => Reflect.deleteProperty(performance, 'now'))
    expect(await tops()).toEqual(before)
    expect((await show(second!.approval_id)).status).toBe('pending')
    expect((await show(first!.approval_id)).resolved_by).not.toBeNull()
    await page.screenshot({ path: shot('decided'), fullPage: true })
    await page.getByRole('button', { name: 'Remove 1 decided call' }).click()
    await cards[0]!.waitFor({ state: 'detached' })
    await cards[1]!.waitFor()
  })

  it('keeps a half-typed reason, and all cards in place, while calls are decided elsewhere', async () => {
    const [first, second, third] = await waiting()
    const card = cardOf(second!.approval_id)
    await card.getByRole('button', { name: 'Deny…' }).click()
    await page.keyboard.type('Ann reads no')
    const top = (await cardOf(third!.approval_id).boundingBox())!.y
    await host.invoke('approvals.decide', { approval_id: first!.approval_id, decision: 'deny', reason: 'by Bea' })
    await outcomeOf(cardOf(first!.approval_id), 'denied')
    await page.keyboard.type(' mail')
    const field = card.getByRole('textbox')
    expect(await field.inputValue()).toBe('Ann reads no mail')
    expect((await cardOf(third!.approval_id).boundingBox())!.y).toBe(top)
    // Even if that very call is decided, the typed text stays readable, and the focus in the card.
    await host.invoke('approvals.decide', { approval_id: second!.approval_id, decision: 'deny', reason: 'by Bea' })
    await outcomeOf(card, 'denied')
    expect(await page.evaluate('document.activeElement?.className')).toBe('outcome')
    await card.getByText('Not sent: Ann reads no mail').waitFor()
    expect((await cardOf(third!.approval_id).boundingBox())!.y).toBe(top)
    await page.screenshot({ path: shot('reason'), fullPage: true })
  })

  it('disables the decision on a call while it is edited, by its own buttons and in bulk', async () => {
    const [first] = await waiting()
    const card = cardOf(first!.approval_id)
    await page.getByLabel(/^All \d+$/).check()
    await card.getByRole('button', { name: 'Edit and approve…' }).click()
    await card.getByLabel('Arguments (JSON)').waitFor()
    for (const name of ['Approve', 'Deny…', 'Allow similar calls…'])
      expect(await card.getByRole('button', { name, exact: true }).isDisabled(), name).toBe(true)
    expect(await card.getByRole('checkbox').isDisabled()).toBe(true)
    expect(await card.getByRole('checkbox').isChecked()).toBe(false)
    await page.getByText(`${(await queue()).length - 1} selected`).waitFor()
    await page.screenshot({ path: shot('editing'), fullPage: true })
    await card.getByRole('button', { name: 'Cancel' }).click()
    expect(await card.getByRole('button', { name: 'Approve', exact: true }).isDisabled()).toBe(false)
  })

  it('approves a call with edited arguments: shows the change, and the tool runs with it', async () => {
    const before = runs.length
    const { approval_id } = await oldest()
    const card = cardOf(approval_id)
    await card.getByRole('button', { name: 'Edit and approve…' }).click()
    const field = card.getByLabel('Arguments (JSON)')
    await field.fill('{ "to": "bea"')
    await card.getByText('This is not a JSON object.').waitFor()
    await field.fill(JSON.stringify((await show(approval_id)).arguments, null, 2).replace('"ann"', '"bea"'))
    const diff = card.getByLabel('Your changes')
    expect(await diff.locator('.gone').innerText()).toContain('"to": "ann"')
    expect(await diff.locator('.new').innerText()).toContain('"to": "bea"')
    await card.getByRole('button', { name: 'Approve as edited' }).click()
    await outcomeOf(card)
    await until(() => runs.length > before)
    expect(runs.at(-1)).toEqual({ tool: 'send', args: { to: 'bea', text: 'hello\nAnn' } })
    expect(await show(approval_id)).toMatchObject({ edited: true })
    await card.getByLabel('Arguments').getByText('"bea"').waitFor()
    expect(await card.locator('.outcome').innerText()).toMatch(/as edited .* by the operator/)
    await person.at(`#/approvals/item/${approval_id}`)
    await page.getByLabel('Changed arguments').getByText('"to": "bea"').waitFor()
  })

  it('shows the server’s message beside the edited arguments if the tool rejects them', async () => {
    const before = runs.length
    const card = cardOf((await oldest()).approval_id)
    await card.getByRole('button', { name: 'Edit and approve…' }).click()
    await card.getByLabel('Arguments (JSON)').fill('{ "to": 7 }')
    await card.getByRole('button', { name: 'Approve as edited' }).click()
    await card.getByRole('alert').getByText(/to\b/).first().waitFor()
    await card.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Edit and approve…')
    expect(runs).toHaveLength(before)
  })

  it('grants calls like this one from now on: this call runs, and the rule is listed and can be revoked', async () => {
    const before = runs.length
    const { approval_id, agent_id } = await oldest()
    const card = cardOf(approval_id)
    await card.getByRole('button', { name: 'Allow similar calls…' }).click()
    await card.locator('select:focus').waitFor()
    await card.getByRole('button', { name: 'Add rule and approve' }).click()
    await page.getByText('Rule added and call approved.').waitFor()
    await outcomeOf(card)
    await until(() => runs.length > before)
    expect(await host.invoke('approvals.rules')).toMatchObject([
      { agent_id, tool_name: 'send', arguments: { to: 'ann', text: 'hello\nAnn' }, uses: null, active: true },
    ])
    await page.getByRole('link', { name: 'Approval rules' }).click()
    const row = page.locator('tbody tr', { hasText: agent_id })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No rules. Every gated call needs approval.').waitFor()
    expect(await page.getByText('was already approved').count()).toBe(0)
    expect(await page.locator('.trouble').count()).toBe(0)
  })

  it('decides several calls at once, with one reason, and shows the outcome of each', async () => {
    const before = runs.length
    const [long, first, second, ...others] = (await queue()).sort((a, b) => b.args_chars - a.args_chars)
    const short = others.length + 2
    await page.getByLabel(`All ${short + 1}`, { exact: true }).check()
    // Calls with long arguments that were not shown cannot be approved.
    await page.getByText('1 call has long arguments').waitFor()
    expect(await page.getByRole('button', { name: `Approve ${short + 1}` }).isDisabled()).toBe(true)
    await cardOf(long!.approval_id).getByRole('checkbox').uncheck()
    // Someone else decides on one of them at the same moment.
    await page.route(`**/approvals/${first!.approval_id}`, async route => {
      if (route.request().method() === 'POST')
        await host.invoke('approvals.decide', { approval_id: first!.approval_id, decision: 'approve' })
      await route.continue()
    })
    await page.getByRole('button', { name: `Deny ${short}…` }).click()
    await page.keyboard.type('Ann reads no mail today')
    await page.getByRole('button', { name: `Deny ${short} calls` }).click()
    const outcomes = page.getByRole('status', { name: 'Outcomes' })
    await outcomes.getByRole('heading', { name: `${short - 1} calls decided, 1 failed` }).waitFor()
    expect(await outcomes.getByRole('listitem').count()).toBe(short)
    await outcomes.getByRole('listitem').filter({ hasText: first!.agent_id }).getByText('failed').waitFor()
    expect(await show(second!.approval_id)).toMatchObject({ status: 'denied', reason: 'Ann reads no mail today' })
    await until(() => runs.length === before + 1)
    await until(() => lastPrompt().includes('Ann reads no mail today'))
    await outcomes.getByRole('button', { name: 'Close' }).click()
    await cardOf(long!.approval_id).waitFor()
    expect(await queue()).toHaveLength(1)
  })

  it('allows the approval of long arguments only after all of them were shown', async () => {
    const before = runs.length
    const { approval_id, args_chars } = (await queue()).find(each => each.arguments === null)!
    const card = cardOf(approval_id)
    await card.getByText('Show all of them before you decide').waitFor()
    expect(await card.getByRole('button').allInnerTexts()).toEqual([
      `Show all ${args_chars.toLocaleString('en')} characters`,
      'Deny…',
    ])
    await card.getByRole('button', { name: 'Show all' }).click()
    const whole = card.getByLabel('Arguments')
    expect(await whole.evaluate(box => box === box.ownerDocument.activeElement)).toBe(true)
    expect(await whole.innerText()).toContain('and then everything is deleted')
    // All of it is visible: nothing is cut off at an edge, and line breaks are kept.
    const beyond = await whole.evaluate(box => [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth])
    expect(Math.max(...beyond)).toBeLessThanOrEqual(1)
    expect(await whole.evaluate(box => box.ownerDocument.defaultView?.getComputedStyle(box).whiteSpace)).toBe(
      'pre-wrap',
    )
    await card.getByRole('button', { name: 'Approve', exact: true }).click()
    await outcomeOf(card)
    await until(() => runs.length > before)
    expect(runs.at(-1)).toEqual({ tool: 'send', args: { to: 'ann', text: LONG } })
  })

  it('chat: shows the answer while it is written, can stop it, and keeps earlier messages', async () => {
    await person.at(`#/agents/${ids[0]}/chat`)
    const field = page.getByLabel('Instruction')
    const asked = host.model!.requests.length
    await page.setViewportSize({ width: 400, height: 500 })
    await field.fill('stall with a tale')
    await field.press('Enter')
    // The field is empty because it was sent, so it is not marked as missing.
    expect(await field.evaluate(box => box.matches(':user-invalid'))).toBe(false)
    await page.getByText(/(Once upon a time.*){8}/).waitFor()
    // The end of the text and the field are both in view.
    const below = async () => (await field.boundingBox())!.y + (await field.boundingBox())!.height - 500
    await expect.poll(below).toBeLessThanOrEqual(0)
    await page.setViewportSize({ width: 1280, height: 900 })
    // An unfinished answer is still there after leaving the page and coming back, and after a reload.
    const soFar = page.locator('.by-assistant', { hasText: /(Once upon a time.*){8}/ })
    await person.at('#/')
    await soFar.waitFor({ state: 'detached' })
    await person.at(`#/agents/${ids[0]}/chat`)
    await soFar.waitFor()
    await page.reload()
    await soFar.waitFor()
    expect(await soFar.count()).toBe(1)
    await page.screenshot({ path: shot('chat') })
    const tale = host.model!.requests.slice(asked).find(({ prompt }) => prompt.includes('stall with a tale'))
    await page.getByRole('button', { name: 'Stop' }).click()
    expect(await tale?.ended).toBe('dropped')
    await page
      .locator('.by-assistant', { hasText: 'Once upon a time' })
      .getByText('cancelled', { exact: true })
      .waitFor()
    await field.fill('greet me')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Hello, dear reader.').waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.reload()
    await page.getByText('Hello, dear reader.').waitFor()
    await page.getByText('Once upon a time').first().waitFor()
  })

  it('chat: shows all of a long answer, until it is one of the earlier ones', async () => {
    await person.at(`#/agents/${ids[4]}/chat`)
    const field = page.getByLabel('Instruction')
    await field.fill('go on and on')
    await field.press('Enter')
    const answer = page.locator('.by-assistant').first()
    await answer.getByText('completed').waitFor()
    expect(await answer.innerText()).toContain(TALE.trim())
    // Its end is announced, and not its text, which would be read anew with each word.
    await page.getByRole('status').filter({ hasText: 'Task completed' }).waitFor({ state: 'attached' })
    expect(await page.locator('.said [aria-live], [aria-live] .said').count()).toBe(0)
    await field.fill('greet me')
    await field.press('Enter')
    await page.locator('.by-assistant').nth(1).getByText('completed').waitFor()
    await field.fill('show code')
    await field.press('Enter')
    const code = page.locator('.by-assistant').nth(2)
    await code.getByText('completed').waitFor()
    expect(await code.getByLabel('Code').allInnerTexts()).toEqual(['if (a)\n  <b>go</b>()', 'cut off'])
    expect(await code.locator('.words > p').allInnerTexts()).toEqual(['Look:'])
    await page.reload()
    await answer.getByRole('button', { name: 'Show all' }).waitFor()
  })

  it('chat: shows only the new text of an answer that is started again', async () => {
    await person.at(`#/agents/${ids[3]}/chat`)
    const field = page.getByLabel('Instruction')
    await field.fill('begin again')
    await field.press('Enter')
    const answer = page.locator('.by-assistant')
    await answer.getByText('It w').waitFor()
    expect(await answer.innerText()).not.toContain('rhyme')
    goOn()
    await answer.getByText('It was a quiet night at sea.', { exact: true }).waitFor()
  })

  it('chat: puts a rejected instruction back into the field, with the reason', async () => {
    const long = 'x'.repeat(100_001)
    await person.at(`#/agents/${ids[0]}/chat`)
    const field = page.getByLabel('Instruction')
    await field.fill(long)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('alert').getByText('must be at most 100000 characters').first().waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    expect(await field.inputValue()).toBe(long)
  })

  it('chat: shows once why an answer failed, and empties the field for the next instruction', async () => {
    await person.at(`#/agents/${ids[2]}/chat`)
    const field = page.getByLabel('Instruction')
    await field.fill('fail now')
    await field.press('Enter')
    await page.locator('.by-assistant').getByText('failed').waitFor()
    expect(await page.getByText('gave no answer').count()).toBe(1)
    expect(await field.inputValue()).toBe('')
  })

  it('chat: goes on with a task once the tool call that it waits for is approved', async () => {
    await person.at(`#/agents/${ids[1]}/chat`)
    await page.getByLabel('Instruction').fill('remember that')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('A tool call needs your approval').waitFor()
    const call = page.locator('.request')
    await call.getByText('memory_set').waitFor()
    await call.getByText('is on holiday').first().waitFor()
    await call.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('So: Stored under').waitFor()
  })

  it('chat: goes on with the session of a terminal', async () => {
    await host.invoke('tasks.run', { id: ids[1], instruction: 'say hello', session_key: 'chat' })
    await person.at(`#/agents/${ids[1]}/chat`)
    await page.getByLabel('Session').selectOption({ label: 'chat: say hello' })
    await page.locator('.by-user').getByText('say hello').waitFor()
    await page.getByLabel('Instruction').fill('say more')
    await page.getByRole('button', { name: 'Send' }).click()
    await until(async () => {
      const tasks = await host.invoke<{ instruction: string; session_id: string }[]>('tasks.list', { id: ids[1] })
      const [more, first] = ['say more', 'say hello'].map(said => tasks.find(each => each.instruction === said))
      return more !== undefined && more.session_id === first?.session_id
    })
  })
})
