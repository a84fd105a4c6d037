import { readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { asksForGoal } from '../../spec/core/models/model-host.ts'
import { type TempDir, tempDir, text, toolCall, until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf } from './axe.ts'
import { type OpenDashboard, openDashboard, shot, type Visitor, visitor } from './open-dashboard.ts'

const LINES = Array.from({ length: 12 }, (_, n) => `line ${n + 1}\n`)

describe.skipIf(!hasChromium)('what an agent changed in a folder of the operator', () => {
  let browser: Browser
  let given: TempDir
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  let id: string

  const read = () => readFile(join(given.path, 'tides.md'), 'utf8')
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  beforeAll(async () => {
    given = await tempDir({ 'tides.md': LINES.join('') })
    const steps = [
      toolCall('file_edit', { path: 'tides.md', old_text: 'line 2\n', new_text: 'line two\n' }),
      toolCall('file_write', { path: 'new.md', content: '<b>fresh</b>\n' }),
    ]
    const script = (request: Parameters<typeof asksForGoal>[0]) =>
      asksForGoal(request)
        ? text('{"goal": null}')
        : (steps.shift() ?? toolCall('finish_goal', { summary: 'Edited.', evidence: 'checked' }))
    ;[browser, host] = await Promise.all([
      theBrowser(),
      openDashboard({ script, env: { PATH: process.env.PATH ?? '' } }),
    ])
    const spawned = { preset: 'worker', name: 'gardener', workspace: await realpath(given.path) }
    id = (await host.invoke<AgentDetail>('agents.spawn', spawned)).agent_id
    person = await visitor(browser, host)
    page = await person.open(`#/agents/${id}/changes`)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
    await given?.[Symbol.asyncDispose]()
  })

  it('appears once the goal ends, and links from the goal to each line', async () => {
    await page.getByText('No changes yet.').waitFor()
    const { goal_id } = await host.invoke<{ goal_id: string }>('goals.add', { id, objective: 'Edit the tides.' })
    await page.getByRole('row', { name: /Edit the tides.*2 files/ }).waitFor()
    await page.screenshot({ path: shot('folder-changes') })
    expect(await faultsOf(page)).toEqual([])
    page = await person.at(`#/agents/${id}/goals/${goal_id}`)
    await page.getByRole('link', { name: /^2 changed files in/ }).click()
    const files = page.locator('main li')
    await files.filter({ hasText: 'tides.md' }).getByText('+1 −1').waitFor()
    await files.filter({ hasText: 'new.md' }).getByText('added').waitFor()
    const patch = page.getByRole('group', { name: 'Changes line by line' })
    expect(await patch.locator('.new').allTextContents()).toEqual(['added: <b>fresh</b>', 'added: line two'])
    await page.screenshot({ path: shot('folder-change'), fullPage: true })
    expect(await faultsOf(page)).toEqual([])
  })

  it('can be undone and redone, beside later changes of the operator', async () => {
    await writeFile(join(given.path, 'tides.md'), (await read()).replace('line 11', 'line eleven'))
    await button('Undo').click()
    await button('Redo').waitFor()
    expect(await read()).toBe(LINES.join('').replace('line 11', 'line eleven'))
    await button('Redo').click()
    await button('Undo').waitFor()
    await until(async () => (await read()).includes('line two'))
  })

  it('stays as it is when the same lines changed since, and the page says where', async () => {
    const own = (await read()).replace('line two', 'line 2, mine')
    await writeFile(join(given.path, 'tides.md'), own)
    await button('Undo').click()
    await page.getByText(/No file was changed: these lines.*tides\.md/).waitFor()
    await page.screenshot({ path: shot('folder-change-conflict') })
    expect(await read()).toBe(own)
  })
})
