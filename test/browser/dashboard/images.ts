import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { text, until } from '../../support/index.ts'
import { pngOf } from '../../support/png.ts'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, shot, type Visitor, visitor } from './open-dashboard.ts'

const picture = { name: 'sketch.png', mimeType: 'image/png', buffer: pngOf(160, 90, [40, 90, 200]) }
const URL_OF_PICTURE = `data:image/png;base64,${picture.buffer.toString('base64')}`

/** Returns a script that drops or pastes a file as a person does: `kind` is the event, the file is the picture. */
const giving = (kind: 'drop' | 'paste') => `(() => {
  const bytes = Uint8Array.from(atob('${picture.buffer.toString('base64')}'), letter => letter.charCodeAt(0))
  const data = new DataTransfer()
  data.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }))
  const event = '${kind}' === 'drop'
    ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
    : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
  document.querySelector('textarea').dispatchEvent(event)
})()`

describe.skipIf(!hasChromium)('images on the dashboard', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let page: Page
  let id: string

  beforeAll(async () => {
    const script = ({ prompt }: { prompt: string }) =>
      text(prompt.includes('"goal":') ? '{"goal": null}' : 'A blue field.')
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ script })])
    person = await visitor(browser, host)
    id = await host.spawn()
    page = await person.open(`#/agents/${id}/chat`)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })

  const thumbs = () => page.locator('.attachments img')
  const isShown = (image: string) =>
    until(() => page.evaluate<boolean>(`document.querySelector('${image}')?.naturalWidth === 160`))

  it('can be attached, dropped, pasted and removed in the chat, and are shown there once sent', async () => {
    await page.getByLabel('Attach image').setInputFiles([picture])
    await page.evaluate(giving('drop'))
    await page.evaluate(giving('paste'))
    await until(async () => (await thumbs().count()) === 3)
    await page.getByRole('button', { name: 'Remove dropped.png' }).first().click()
    await page.getByRole('button', { name: 'Remove dropped.png' }).click()
    await page.getByLabel('Attach image').setInputFiles([{ ...picture, name: 'plan.gif', mimeType: 'image/gif' }])
    await page.getByText('"plan.gif" is not a PNG, JPEG or WebP image.').waitFor()
    expect(await thumbs().count()).toBe(1)
    await page.getByLabel('Instruction').fill('What is this?')
    await page.getByLabel('Instruction').press('Enter')
    await page.getByText('A blue field.').waitFor()
    await isShown('.by-user .pictures img')
    expect(await thumbs().count()).toBe(0)
    expect(await page.getByText('is not a PNG, JPEG or WebP image.').count()).toBe(0)
    const asked = host.model!.requests.find(({ prompt }) => prompt.includes('What is this?'))!
    expect(asked.body.messages.at(-1)!.images).toEqual([URL_OF_PICTURE])
    await page.reload()
    await isShown('.by-user .pictures img')
    await page.screenshot({ path: shot('chat-image') })
    await page.getByText('A blue field.').waitFor()
    person.rest()
  })

  it('reach the model when attached to a nudge', async () => {
    await person.at(`#/agents/${id}`)
    await page.getByLabel('Attach image').setInputFiles([picture])
    await page.getByRole('textbox', { name: 'Nudge' }).fill('Build this')
    await page.screenshot({ path: shot('nudge-image') })
    await page.getByRole('button', { name: 'Nudge' }).click()
    await until(() => host.model!.requests.some(({ prompt }) => prompt.includes('Build this')))
    const asked = host.model!.requests.find(({ prompt }) => prompt.includes('Build this'))!
    expect(asked.body.messages.at(-1)!.images).toEqual([URL_OF_PICTURE])
    expect(await thumbs().count()).toBe(0)
    person.rest()
  })

  it('are shown in the transcript of a session', async () => {
    const [session] = await host.invoke<{ session_id: string }[]>('sessions.list', { agent_id: id })
    await person.at(`#/sessions/${session!.session_id}`)
    await isShown('.said .pictures img')
    await page.getByRole('heading', { level: 1 }).locator('..').getByRole('link', { name: id }).waitFor()
    await page.screenshot({ path: shot('transcript-image') })
    person.rest()
  })

  it('stand there beside what svc added, which is shown as a note', async () => {
    const [session] = await host.invoke<{ session_id: string }[]>('sessions.list', { agent_id: id })
    await host.invoke('goals.add', { id, objective: 'Draw the sea in blue' })
    await host.invoke('tasks.run', { id, instruction: 'And now?', session_id: session!.session_id })
    const note = page.locator('.said .by-system', { hasText: 'Draw the sea in blue' })
    await note.getByText('Note', { exact: true }).waitFor()
    expect(await page.locator('.said .by-user', { hasText: 'Draw the sea' }).count()).toBe(0)
    person.rest()
  })
})
