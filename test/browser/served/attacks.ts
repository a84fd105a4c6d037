import { readFile } from 'node:fs/promises'
import type { Browser, Frame, Page } from 'playwright-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Store } from '#platform/store/contract'
import { entriesOf, type OpenApiDocument } from '../../interfaces/rest/document.ts'
import { startServer } from '../../interfaces/start-server.ts'
import { httpServer } from '../../support/model/http.ts'
import { hasChromium, theBrowser, UNSEEN } from '../browser.ts'

type Served = Awaited<ReturnType<typeof startServer>>
/** One request to try against the server under attack. */
interface Target {
  method: string
  path: string
  body: string | undefined
}

interface Attack {
  url: string
  targets: Target[]
  /**
   * Whether the page has another origin, and so also tries the kinds of requests meant for that (such as `no-cors`).
   */
  cross?: boolean
}

const HOSTILE = await readFile(new URL('./hostile.js', import.meta.url), 'utf8')

/** Runs an attack in the page. Returns one line for each attempt. */
function runAttack(page: Page | Frame, how: 'attack' | 'embed', what: Attack): Promise<string[]> {
  return page.evaluate(`(() => { ${HOSTILE}\nreturn hostile.${how}(${JSON.stringify(what)}) })()`)
}

describe.skipIf(!hasChromium)('attacks from the operator’s browser while no key is set', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await theBrowser()
  })

  /** Starts a server with an agent; returns it with its whole state and a request for each of its operations. */
  async function victim() {
    const home = await startServer()
    const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'worker' })) as { agent_id: string }
    const document: OpenApiDocument = (await home.ask('/openapi.json')).json
    const targets = entriesOf(document).map(({ method, path, requestBody }): Target => {
      const example = requestBody?.content['application/json']?.example
      return {
        method: method.toUpperCase(),
        path: path.replace('{id}', agent_id).replace(/\{\w+\}/g, 'x-1'),
        body: requestBody && JSON.stringify({ ...example, ...(example?.agent_id ? { agent_id } : {}) }),
      }
    })
    expect(targets.filter(({ method }) => method !== 'GET').length).toBeGreaterThan(8)
    return { home, agent_id, targets, before: await stateOf(home) }
  }

  /** Opens a page of the attacker, on another host name. */
  async function evilPage(html = '<title>evil</title>'): Promise<Page> {
    const evil = await httpServer((_, answer) => answer.setHeader('content-type', 'text/html').end(html))
    onTestFinished(evil.close)
    const page = await newPage()
    await page.goto(evil.url.replace('127.0.0.1', 'evil.test'))
    return page
  }

  async function newPage(): Promise<Page> {
    const context = await browser.newContext(UNSEEN)
    onTestFinished(() => context.close())
    return context.newPage()
  }

  it('a page of another origin reads nothing and changes nothing by any request', { timeout: 120_000 }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage()
    const outcome = await runAttack(page, 'attack', { url: home.url, targets, cross: true })
    expect(outcome.length).toBeGreaterThan(targets.length * 3)
    expect(outcome.filter(each => !/→ (failed|opaque 0 )$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('a page of another origin reads nothing and changes nothing by forms, scripts, images, streams and sockets', {
    timeout: 120_000,
  }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage('<title>evil</title><body></body>')
    const outcome = await runAttack(page, 'embed', { url: home.url, targets })
    expect(outcome.filter(each => !/→ failed$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('a sandboxed frame reads nothing and changes nothing', { timeout: 120_000 }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage('<iframe sandbox="allow-scripts allow-forms" srcdoc="<title>sandbox</title>"></iframe>')
    const frame = page.frames().find(each => each !== page.mainFrame())!
    expect(await frame.evaluate('origin')).toBe('null')
    const outcome = await runAttack(frame, 'attack', { url: home.url, targets, cross: true })
    expect(outcome.filter(each => !/→ (failed|opaque 0 )$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('a page cannot frame any page of the server to have its buttons clicked', async () => {
    const { home } = await victim()
    const paths = ['/', '/docs', '/redoc', '/agents']
    const page = await evilPage(paths.map(path => `<iframe src="${home.url}${path}"></iframe>`).join(''))
    await page.waitForLoadState('load')
    const frames = page.frames().filter(each => each !== page.mainFrame())
    expect(frames.map(each => each.url().startsWith(home.url))).toEqual(paths.map(() => false))
  })

  it('a page whose name is rebound to this machine (DNS rebinding) reads nothing and changes nothing', {
    timeout: 120_000,
  }, async () => {
    const { home, targets, before } = await victim()
    const url = `http://rebind.test:${home.port}`
    const page = await newPage()
    // Loads the page as from before the rebinding; its requests then reach this server, as from the same origin.
    await page.route(`${url}/attack`, route =>
      route.fulfill({ contentType: 'text/html', body: '<title>rebound</title>' }),
    )
    await page.goto(`${url}/attack`)
    await page.unroute(`${url}/attack`)
    const shells = ['/', '/docs', '/redoc', '/healthz'].map(path => ({ method: 'GET', path, body: undefined }))
    const outcome = await runAttack(page, 'attack', { url, targets: [...targets, ...shells] })
    expect(outcome.length).toBeGreaterThan(targets.length * 2)
    expect(outcome.filter(each => !/→ basic 403 \{.*"code":"forbidden_host"/.test(each))).toEqual([])
    expect(await stateOf(home)).toEqual(before)
  })
})

/** Number of requests refused because of their origin; shows that the attack reached the server. */
function refusals({ log }: Served): number {
  return log.filter(({ code }) => code === 'forbidden_origin').length
}

function posts(targets: readonly Target[]): number {
  return targets.filter(({ method }) => method === 'POST').length
}

/** Returns every row of the database, and the configuration file. */
async function stateOf({ kernel }: Served): Promise<unknown> {
  const store = kernel.use(Store)
  const tables = await store.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
  const rows = await Promise.all(
    tables.map(async ({ name }) => [name, await store.all(`SELECT * FROM "${name}"`)] as const),
  )
  return { ...Object.fromEntries(rows), config: await readFile(kernel.project.config, 'utf8') }
}
