import { execFileSync } from 'node:child_process'
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentDetail, AgentSummary } from '#core/agents/contract'
import { type TempDir, tempDir, until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { faultsOf } from './axe.ts'
import { type OpenDashboard, openDashboard, shot, type Visitor, visitor } from './open-dashboard.ts'

describe.skipIf(!hasChromium)('an agent in a git worktree of a repository', () => {
  let browser: Browser
  let given: TempDir
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  let id: string
  let repository: string
  let papers: string

  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repository, '-c', 'user.name=ada', '-c', 'user.email=ada@example.com', ...args])
  const agent = () => host.invoke<AgentDetail>('agents.get', { id })
  /** Changes a file as the agent does. */
  const change = async (file: string, content: string) => {
    const { folders } = await agent()
    await writeFile(join(folders.find(({ purpose }) => purpose === 'worktree')!.path, file), content)
  }
  const read = (file: string) => readFile(join(repository, file), 'utf8')
  const button = (name: string | RegExp) => page.getByRole('button', { name })

  beforeAll(async () => {
    given = await tempDir({ 'site/page.md': 'one\ntwo\n', 'papers/tides.md': 'High at six.\n', 'notes/a.md': 'a\n' })
    const root = await realpath(given.path)
    ;[repository, papers] = [join(root, 'site'), join(root, 'papers')]
    git('init', '-q', '--initial-branch=main')
    git('add', '--all')
    git('commit', '-q', '-m', 'Begin')
    // No daemon runs: only the test changes files.
    ;[browser, host] = await Promise.all([
      theBrowser(),
      openDashboard({ roles: ['server'], env: { PATH: process.env.PATH ?? '' } }),
    ])
    person = await visitor(browser, host)
    page = await person.open('#/')
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
    await given?.[Symbol.asyncDispose]()
  })

  it('is spawned from the dialog with further folders, each read-only or read-write', async () => {
    const notes = join(await realpath(given.path), 'notes')
    await button('Spawn an agent').first().click()
    await page.getByRole('combobox', { name: /^Preset/ }).selectOption('worker')
    await page.getByRole('textbox', { name: /^Workspace/ }).fill(repository)
    await page.getByRole('textbox', { name: /^Name/ }).fill('gardener')
    await page.getByRole('textbox', { name: /^First goal/ }).fill('Weed the page.')
    await page.getByRole('combobox', { name: /^Git worktree/ }).selectOption('agent')
    const further = page.getByRole('textbox', { name: /^Further folders/ })
    await further.fill('/no/such/folder')
    await button(/^Spawn$/).click()
    await page.getByText(/\/no\/such\/folder/).waitFor()
    await further.fill(`${papers}\n\n  ${notes}:rw  `)
    await page.screenshot({ path: shot('spawn-folders') })
    await button(/^Spawn$/).click()
    await page.getByRole('heading', { level: 1, name: 'gardener' }).waitFor()
    const [spawned] = await host.invoke<AgentSummary[]>('agents.list')
    expect(spawned).toMatchObject({ name: 'gardener', goal: 'Weed the page.' })
    id = spawned!.agent_id
    const { folders } = await agent()
    expect(folders).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: papers, access: 'read-only' }),
        expect.objectContaining({ path: notes, access: 'read-write' }),
        expect.objectContaining({ purpose: 'worktree', access: 'read-write' }),
      ]),
    )
    await page.getByText(papers).first().waitFor()
  })

  it('shows its changes line by line', async () => {
    page = await person.at(`#/agents/${id}/worktree`)
    await page.getByText('Nothing has changed.').waitFor()
    expect(await button(/^Merge into/).count()).toBe(0)
    await change('page.md', 'one\nzwei\n')
    await change('new.md', '<b>fresh</b>\n')
    await page.reload()
    const files = page.locator('main li')
    await files.filter({ hasText: 'page.md' }).getByText('+1 −1').waitFor()
    await files.filter({ hasText: 'new.md' }).getByText('added').waitFor()
    const patch = page.getByRole('group', { name: 'Changes line by line' })
    await patch.getByText('@@ -1,2 +1,2 @@').waitFor()
    expect(await patch.locator('.gone').allTextContents()).toEqual(['removed: two'])
    expect(await patch.locator('.new').allTextContents()).toEqual(['added: <b>fresh</b>', 'added: zwei'])
    await page.screenshot({ path: shot('changes'), fullPage: true })
    expect(await faultsOf(page)).toEqual([])
  })

  it('has its changes merged into the repository once the operator accepts them', async () => {
    await button(/^Merge into/).click()
    await page.getByText('Nothing has changed.').waitFor()
    expect([await read('page.md'), await read('new.md')]).toEqual(['one\nzwei\n', '<b>fresh</b>\n'])
    await page.screenshot({ path: shot('changes-accepted') })
  })

  it('loses its changes when the operator discards them, and leaves the repository as it was', async () => {
    await change('page.md', 'nonsense\n')
    await page.reload()
    await page.locator('main li').filter({ hasText: 'page.md' }).waitFor()
    await button(/^Discard…$/).click()
    await page.getByRole('dialog').getByText('its changes are lost').waitFor()
    await button(/^Discard$/).click()
    await page.getByText('Nothing has changed.').waitFor()
    expect(await read('page.md')).toBe('one\nzwei\n')
    const { folders } = await agent()
    const worktree = folders.find(({ purpose }) => purpose === 'worktree')!.path
    await until(async () => (await readFile(join(worktree, 'page.md'), 'utf8')) === 'one\nzwei\n')
  })
})
