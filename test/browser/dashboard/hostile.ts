import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApprovalSummary } from '#safety/approvals/contract'
import { asksForGoal } from '../../spec/core/models/model-host.ts'
import { type ModelServerRequest, text, toolCall, until } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, PATIENCE_MS, visitor } from './open-dashboard.ts'

/** Would freeze the service and leave a mark if any of it were treated as markup; begins with deceptive characters. */
const hostile = (where: string) =>
  `\u202egnp.exe\u200b\u2066\u{e0041}\u3164"><img src=x onerror="window.owned='${where}';fetch('/daemon/pause',{method:'POST'})"><script>window.owned=1</script>` +
  `<a href="javascript:window.owned=2">${where}</a><iframe srcdoc="<script>parent.owned=3</script>"></iframe>` +
  `{{window.owned=4}} of ${where}`

/** The part of it that fits into a name. */
const NAME = hostile('name').slice(0, 64)
/** Name without a place for a line break. */
const WIDE = 'W'.repeat(64)

/** Finds attributes with characters that deceive the eye or a screen reader. */
const DECEIVING = `[...document.querySelectorAll('*')].flatMap(each => [...each.attributes])
  .filter(({ name, value }) => name !== 'href' && /[\u202a-\u202e\u2066-\u2069\u200b\u{e0041}\u3164]/u.test(value))
  .map(({ name, value }) => name + ': ' + value)`

describe.skipIf(!hasChromium)('hostile text on the dashboard', () => {
  let browser: Browser
  let host: OpenDashboard

  beforeAll(async () => {
    ;[browser, host] = await Promise.all([
      theBrowser(),
      openDashboard({
        script: says,
        config: { daemon: { heartbeat: 0.2 }, approval: { enabled: true, require_for: ['file_write'] } },
        files: {
          'profiles/worker.yaml': `name: ${JSON.stringify(NAME)}\nrole: ${JSON.stringify(hostile('role'))}\nmax_steps: 6\n`,
          'profiles/wide.yaml': `name: ${WIDE}\nrole: is broad\nmax_steps: 6\n`,
        },
        plugins: { 'broken.ts': `throw new Error(${JSON.stringify(hostile('plugin'))})\n` },
      }),
    ])
  })
  afterAll(async () => {
    await host?.close()
  })

  /** Replies of a model that was taken over: all of its text and calls are hostile. */
  function says(request: ModelServerRequest) {
    const messages = request.body.messages
    if (asksForGoal(request)) return text(JSON.stringify({ goal: hostile('objective'), reasoning: hostile('reason') }))
    const done = messages.filter(({ role }) => role === 'tool').length
    if (messages.some(({ content }) => content?.includes('a task'))) return text(hostile('answer'))
    if (done === 0) return toolCall('memory_set', { key: 'k', value: hostile('memory') })
    if (done === 1) return toolCall('list_dir', { path: hostile('path') })
    return toolCall('file_write', { path: 'a.txt', content: hostile('argument'), [hostile('key')]: 1 })
  }

  it('is shown as text everywhere: nothing runs or is requested, and deceptive characters are visible', async () => {
    const id = await host.spawn()
    await host.invoke('agents.nudge', { id, message: hostile('nudge') })
    await host.invoke('messages.send', { id, body: hostile('body'), subject: hostile('subject') })
    // Messages are cleaned when they are sent; the page must not rely on that.
    const db = new Sqlite(host.home.kernel.project.database)
    db.prepare('UPDATE a2a_messages SET body = ?, subject = ?').run(hostile('body'), hostile('subject'))
    db.close()
    const task = { id, instruction: `a task: ${hostile('instruction')}`, session_key: `dashboard:${id}` }
    const { session_id } = await host.invoke<{ session_id: string }>('tasks.run', task)
    await until(async () => (await host.invoke<ApprovalSummary[]>('approvals.queue')).length > 0)
    const [asked] = await host.invoke<ApprovalSummary[]>('approvals.queue')
    const [goal] = await host.invoke<{ goal_id: string }[]>('goals.list', { id })
    const [run] = await host.invoke<{ run_id: string; kind: string }[]>('runs.list')
    await host.invoke('approvals.grant', { tool_name: 'list_dir', arguments: { path: hostile('grant') }, uses: 3 })

    const person = await visitor(browser, host)
    const page = await person.open()
    const places: Record<string, string[]> = {
      '': ['objective'],
      approvals: ['argument'],
      [`approvals/item/${asked!.approval_id}`]: ['argument'],
      'approvals/rules': ['grant'],
      [`agents/${id}`]: ['role', 'objective', 'path'],
      [`agents/${id}/goals/${goal!.goal_id}`]: ['objective', 'reason', 'path'],
      [`agents/${id}/messages`]: ['body', 'subject'],
      [`agents/${id}/memory`]: ['memory'],
      [`agents/${id}/chat`]: ['instruction', 'answer'],
      sessions: ['instruction'],
      [`sessions/${session_id}`]: ['instruction', 'answer'],
      [`runs/${run!.run_id}`]: [],
      plugins: ['plugin'],
      events: ['path'],
      society: [],
    }
    const unseen: string[] = []
    for (const [hash, words] of Object.entries(places)) {
      await person.at(`#/${hash}`)
      await page.locator('main > *').first().waitFor()
      await expect.poll(() => page.locator('.skeleton').count(), { timeout: PATIENCE_MS }).toBe(0)
      for (const word of words) {
        const there = page.locator('main', { hasText: `window.owned='${word}'` })
        await there.waitFor({ timeout: PATIENCE_MS }).catch(() => unseen.push(`#/${hash} ${word}`))
      }
      const shown = await page.locator('body').innerText()
      expect(shown, hash).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u{e0041}\u3164]/u)
      if (words.length > 0 && hash !== 'events') expect(shown, hash).toContain('\\u{202e}')
      expect(await page.evaluate(DECEIVING), hash).toEqual([])
      expect(await page.evaluate('window.owned'), hash).toBeUndefined()
      expect(await page.locator('main :is(img, iframe, script, [onerror], a[href^="javascript:"])').count(), hash).toBe(
        0,
      )
    }
    expect(unseen).toEqual([])
    expect(person.changes).toEqual([])
    expect(await host.invoke('daemon.status')).toMatchObject({ frozen: false })
    await person.leave()
  })

  it('moves nothing else out of place, however long a name is', async () => {
    const id = await host.spawn('wide')
    const person = await visitor(browser, host)
    const page = await person.open()
    const beyond = (selector: string) =>
      page.locator(selector).evaluate(box => Math.max(0, box.scrollWidth - box.clientWidth))
    await page.getByRole('link', { name: WIDE }).waitFor()
    expect(await beyond('.scroll')).toBe(0)
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 900 })
      await person.at(`#/agents/${id}`)
      await page.getByRole('button', { name: 'Kill…' }).click()
      await page.getByRole('button', { name: 'Kill agent' }).waitFor()
      expect(await beyond('dialog'), `${width}`).toBe(0)
      await page.keyboard.press('Escape')
      await page.locator('.steps').first().waitFor()
      expect(await beyond('html'), `${width}`).toBe(0)
      await person.at('#/society/patterns')
      await page.getByText('Start a pattern').click()
      await page.getByRole('checkbox', { name: WIDE }).waitFor()
      expect(await beyond('html'), `${width}`).toBe(0)
      for (const place of ['approvals', 'events', 'spend']) {
        await person.at(`#/${place}`)
        await page
          .getByRole('link', { name: `(${WIDE})` })
          .first()
          .waitFor()
        expect(await beyond('html'), `${place} ${width}`).toBe(0)
      }
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    await person.leave()
  })
})
