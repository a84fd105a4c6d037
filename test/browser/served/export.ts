import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import sessions from '#core/sessions/index'
import type { TaskResponse } from '#core/tasks/contract'
import tasks from '#core/tasks/index'
import exporting from '#observability/export/index'
import { Runs } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import approvals from '#safety/approvals/index'
import a2a from '#society/a2a/index'
import { asksForGoal, spawn, testHostWithModel } from '../../spec/core/models/model-host.ts'
import { text, together, toolCall, until } from '../../support/index.ts'
import { hasChromium, theBrowser } from '../browser.ts'

const CALL = "document.title='owned';alert(1)"
/** Strings that have made pages execute what they should only display. */
const PAYLOADS = [
  `<script>${CALL}</script>`,
  `</script><script>${CALL}</script>`,
  `</style><script>${CALL}</script>`,
  `</title><script>${CALL}</script>`,
  `</textarea><script>${CALL}</script>`,
  `</pre></details><script>${CALL}</script>`,
  `--><script>${CALL}</script><!--`,
  `]]><script>${CALL}</script>`,
  `<img src=x onerror="${CALL}">`,
  `"><img src=x onerror="${CALL}">`,
  `'><img src=x onerror='alert(2)'>`,
  '`><img src=x onerror=`alert(3)`>',
  `<svg onload="${CALL}">`,
  `<svg/onload=alert(4)>`,
  `<svg><script>alert(5)</script></svg>`,
  `<svg><a xlink:href="javascript:alert(6)"><text>x</text></a></svg>`,
  `<math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(7)>`,
  `<iframe src="javascript:alert(8)"></iframe>`,
  `<iframe srcdoc="<script>alert(9)</script>"></iframe>`,
  `<object data="data:text/html,<script>alert(10)</script>"></object>`,
  `<embed src="http://evil.test/x.swf">`,
  `<a href="javascript:alert(11)">click</a>`,
  `javascript:alert(12)`,
  `[click](javascript:alert(13))`,
  `<form action="http://evil.test/"><button>go</button></form>`,
  `<input autofocus onfocus="alert(14)">`,
  `<details open ontoggle="alert(15)">`,
  `" onmouseover="alert(16)" x="`,
  `' onfocus='alert(17)' autofocus x='`,
  `<body onload=alert(18)>`,
  `<video><source onerror="alert(19)"></video>`,
  `<link rel=stylesheet href="http://evil.test/x.css">`,
  `<style>@import "http://evil.test/y.css"; body{display:none}</style>`,
  `<meta http-equiv=refresh content="0;url=http://evil.test/">`,
  `<base href="http://evil.test/">`,
  `<img src="http://evil.test/pixel.gif">`,
  `{{constructor.constructor('alert(20)')()}}`,
  `\${alert(21)}`,
  `&lt;script&gt;alert(22)&lt;/script&gt;&#x3c;img src=x onerror=alert(23)&#x3e;`,
  `<scr\0ipt>alert(24)</scr\0ipt>\u2028alert(25)`,
]
const ALL = PAYLOADS.join('\n')
const CANARY = 'canary-7f31c9-value'

interface OpenExport {
  page: Page
  /** Dialogs, requests, console messages and errors of the page. */
  did: string[]
}

describe.skipIf(!hasChromium)('the report of a run', () => {
  let browser: Browser
  let home: Awaited<ReturnType<typeof testHostWithModel>>
  let daemonRun: string
  let taskRun: string

  beforeAll(async () => {
    browser = await theBrowser()
    const steps = [
      toolCall('file_write', { path: 'bad.txt', content: ALL, api_key: 'sk-live-0123456789abcdefghij' }),
      toolCall('file_read', { path: 'bad.txt' }),
      toolCall('file_read', { path: PAYLOADS[0] }),
      toolCall(PAYLOADS[1]!, { [PAYLOADS[9]!]: 1 }),
      toolCall('finish_goal', { summary: ALL, evidence: PAYLOADS.slice(0, 5) }),
    ]
    let goals = 0
    home = await testHostWithModel(
      request => {
        if (asksForGoal(request)) {
          const goal = goals++ === 0 ? PAYLOADS.slice(0, 8).join(' ') : 'Count the ships in the harbour before noon'
          return text(JSON.stringify({ goal, reasoning: PAYLOADS.slice(16, 26).join(' ') }))
        }
        if (request.prompt.includes('One thing')) return text(`${ALL} and ${CANARY}`)
        const counts = request.prompt.includes('Count the ships in the harbour before noon')
        return (!counts && steps.shift()) || together(text(ALL), toolCall('list_dir', { path: '.' }))
      },
      {
        builtins: [runs, a2a, approvals, sessions, tasks, exporting],
        files: { 'profiles/worker.yaml': `name: worker\nrole: ${JSON.stringify(ALL.slice(0, 900))}\nmax_steps: 6\n` },
        env: { SOME_API_KEY: CANARY },
      },
    )
    const { kernel } = home
    daemonRun = await kernel.use(Runs).begin('daemon')
    const agent = await spawn(home)
    await kernel.invoke('messages.send', { id: agent, subject: PAYLOADS[8], body: `${ALL} password=${CANARY}` })
    await spawn(home)
    const all = [until(home, 'goal_completed'), until(home, 'tool_result', ({ tool }) => tool === 'list_dir')]
    kernel.heartbeat.start()
    await Promise.all(all)
    await kernel.heartbeat.stop()
    const asked = { id: agent, instruction: `One thing: ${ALL}` }
    expect(((await kernel.invoke('tasks.run', asked)) as TaskResponse).status).toBe('completed')
    const listed = (await kernel.invoke('runs.list', {})) as { run_id: string; kind: string }[]
    taskRun = listed.find(run => run.kind === 'task')!.run_id
  })
  afterAll(async () => {
    await home?.close()
  })

  async function openExport(run_id: string, look: { width?: number; dark?: boolean } = {}): Promise<OpenExport> {
    const file = join(home.root, `${run_id}.html`)
    await home.kernel.invoke('runs.write_export', { run_id, output: file, force: true })
    const page = await browser.newPage({
      viewport: { width: look.width ?? 1600, height: 900 },
      colorScheme: look.dark ? 'dark' : 'light',
    })
    const did: string[] = []
    page.on('dialog', dialog => {
      did.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', request => did.push(`${request.method()} ${request.url()}`))
    page.on('console', message => did.push(`console ${message.text()}`))
    page.on('pageerror', error => did.push(`error ${error.message}`))
    await page.goto(pathToFileURL(file).href)
    did.splice(0, 1)
    return { page, did }
  }

  it.each(['daemon', 'task'] as const)(
    'shows hostile text of a %s run as text: nothing is executed and nothing is requested',
    async kind => {
      const { page, did } = await openExport(kind === 'daemon' ? daemonRun : taskRun)
      await page.evaluate(`for (const e of document.querySelectorAll('details')) e.open = true`)
      await page.locator('body').click()
      await page.mouse.move(300, 300)
      const found = (await page.evaluate(`({
      text: document.body.textContent,
      title: document.title,
      elements: [...new Set([...document.querySelectorAll('*')].map(e => e.localName))],
      attributes: [...new Set([...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()))],
      links: [...document.querySelectorAll('[href],[src],[action]')].map(e => e.getAttribute('href') ?? 'other'),
    })`)) as { text: string; title: string; elements: string[]; attributes: string[]; links: string[] }
      expect(did).toEqual([])
      expect(found.title).not.toBe('owned')
      expect(found.links.filter(link => !/^#\w+$/.test(link))).toEqual([])
      expect(found.attributes.filter(name => /^on|^style$|^src|^xlink/.test(name))).toEqual([])
      for (const name of ['script', 'iframe', 'img', 'object', 'embed', 'form', 'input', 'link', 'base', 'video'])
        expect(found.elements).not.toContain(name)
      for (const payload of PAYLOADS) expect(found.text).toContain(payload.replace(/\0/g, '\ufffd'))
      await page.close()
    },
  )

  it('masks the values of secrets, and of fields named like secrets', async () => {
    for (const run_id of [daemonRun, taskRun]) {
      const page = await readFile(join(home.root, `${run_id}.html`), 'utf8')
      expect(page).not.toContain(CANARY)
      expect(page).not.toContain('sk-live-')
      expect(page).not.toContain('test-key')
      expect(page).toContain('***')
    }
    expect(await readFile(join(home.root, `${daemonRun}.html`), 'utf8')).toContain(
      '&quot;api_key&quot;: &quot;***&quot;',
    )
  })

  it('has every section, and each link leads to its section', async () => {
    const { page } = await openExport(daemonRun)
    const links = (await page.evaluate(
      `[...document.querySelectorAll('nav a')].map(a => [a.textContent, document.querySelector(a.hash) !== null])`,
    )) as [string, boolean][]
    expect(links.map(([name]) => name)).toEqual([
      'Summary',
      'Agents',
      'Timeline',
      'Cost',
      'Work',
      'Events',
      'Transcripts',
      'Messages',
      'Manifest',
    ])
    expect(links.every(([, there]) => there)).toBe(true)
    const tiles = await page.locator('.tiles').innerText()
    expect(tiles).toMatch(/Goals\s+1\s+completed of 2/)
    await page.locator('.steps summary', { hasText: 'file_read' }).first().click()
    expect(await page.locator('.steps details[open]').first().innerText()).toContain('bad.txt')
    await page.close()
  })

  it.each([
    { width: 400, dark: false },
    { width: 400, dark: true },
    { width: 1600, dark: true },
  ])('fits a viewport $width pixels wide, dark: $dark', async look => {
    const { page, did } = await openExport(daemonRun, look)
    const [scroll, background] = (await page.evaluate(
      `[document.documentElement.scrollWidth, getComputedStyle(document.documentElement).backgroundColor]`,
    )) as [number, string]
    expect(scroll).toBe(look.width)
    expect(background).toBe(look.dark ? 'rgb(20, 20, 18)' : 'rgb(248, 247, 244)')
    expect(did).toEqual([])
    await page.close()
  })

  it('is printed with its sections unfolded and without the navigation', async () => {
    const { page } = await openExport(daemonRun, { dark: true })
    await page.emulateMedia({ media: 'print' })
    const height = await page.evaluate(`document.querySelector('#manifest pre').getBoundingClientRect().height`)
    expect(height).toBeGreaterThan(100)
    expect(await page.locator('nav').isVisible()).toBe(false)
    await page.close()
  })

  it('uses the colours of the dashboard', async () => {
    const tokens = await readFile(new URL('../../../dashboard/styles/tokens.css', import.meta.url), 'utf8')
    const page = await readFile(join(home.root, `${daemonRun}.html`), 'utf8')
    const colours = [
      ...tokens.matchAll(/--(?:paper|card|raised|line|ink|soft|accent|good|warn|bad|info|violet): [^;]+;/g),
    ]
    expect(colours).toHaveLength(12)
    for (const [colour] of colours) expect(page).toContain(colour)
  })
})
