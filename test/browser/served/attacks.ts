import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Frame, Page } from 'playwright-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Store } from '#platform/store/contract'
import { entriesOf, type OpenApiDocument } from '../../interfaces/rest/document.ts'
import { startServer } from '../../interfaces/start-server.ts'
import { hasChromium, theBrowser, UNSEEN } from '../browser.ts'

type Served = Awaited<ReturnType<typeof startServer>>
/** One thing to ask of the server under attack. */
interface Target {
  method: string
  path: string
  body: string | undefined
}

interface Attack {
  url: string
  targets: Target[]
  /** Whether the page is of another origin, which has manners of asking that one of the same has no need for. */
  cross?: boolean
}

const HOSTILE = await readFile(new URL('./hostile.js', import.meta.url), 'utf8')

/** What the page says of each thing that it tried. */
function runAttack(page: Page | Frame, how: 'attack' | 'embed', what: Attack): Promise<string[]> {
  return page.evaluate(`(() => { ${HOSTILE}\nreturn hostile.${how}(${JSON.stringify(what)}) })()`)
}

describe.skipIf(!hasChromium)('a page in the operator’s browser, while no key is set,', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await theBrowser()
  })

  /** A server with an agent, its whole state as it is now, and everything that can be asked of it. */
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

  /** A page of the attacker's, on another name. */
  async function evilPage(html = '<title>evil</title>'): Promise<Page> {
    const evil = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(html))
    evil.listen(0, '127.0.0.1')
    await once(evil, 'listening')
    onTestFinished(() => void evil.close())
    const page = await newPage()
    await page.goto(`http://evil.test:${(evil.address() as AddressInfo).port}/`)
    return page
  }

  async function newPage(): Promise<Page> {
    const context = await browser.newContext(UNSEEN)
    onTestFinished(() => context.close())
    return context.newPage()
  }

  it('of another name reads nothing and changes nothing by any request', { timeout: 120_000 }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage()
    const outcome = await runAttack(page, 'attack', { url: home.url, targets, cross: true })
    expect(outcome.length).toBeGreaterThan(targets.length * 3)
    expect(outcome.filter(each => !/→ (failed|opaque 0 )$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('of another name reads nothing and changes nothing by forms, scripts, pictures, streams and sockets', {
    timeout: 120_000,
  }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage('<title>evil</title><body></body>')
    const outcome = await runAttack(page, 'embed', { url: home.url, targets })
    expect(outcome.filter(each => !/→ failed$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('in a sandboxed frame reads nothing and changes nothing', { timeout: 120_000 }, async () => {
    const { home, targets, before } = await victim()
    const page = await evilPage('<iframe sandbox="allow-scripts allow-forms" srcdoc="<title>sandbox</title>"></iframe>')
    const frame = page.frames().find(each => each !== page.mainFrame())!
    expect(await frame.evaluate('origin')).toBe('null')
    const outcome = await runAttack(frame, 'attack', { url: home.url, targets, cross: true })
    expect(outcome.filter(each => !/→ (failed|opaque 0 )$/.test(each))).toEqual([])
    expect(refusals(home)).toBeGreaterThan(posts(targets))
    expect(await stateOf(home)).toEqual(before)
  })

  it('cannot frame any page of the server, to have its buttons clicked', async () => {
    const { home } = await victim()
    const paths = ['/', '/docs', '/redoc', '/agents']
    const page = await evilPage(paths.map(path => `<iframe src="${home.url}${path}"></iframe>`).join(''))
    await page.waitForLoadState('load')
    const frames = page.frames().filter(each => each !== page.mainFrame())
    expect(frames.map(each => each.url().startsWith(home.url))).toEqual(paths.map(() => false))
  })

  it('whose name was rebound to this machine reads nothing and changes nothing', { timeout: 120_000 }, async () => {
    const { home, targets, before } = await victim()
    const url = `http://rebind.test:${home.port}`
    const page = await newPage()
    // The document came before the name changed its address; what it asks for now comes here, as of the same origin.
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

/** How often the server refused a page, for coming from elsewhere: the attack did reach it. */
function refusals({ log }: Served): number {
  return log.filter(({ code }) => code === 'forbidden_origin').length
}

function posts(targets: readonly Target[]): number {
  return targets.filter(({ method }) => method === 'POST').length
}

/** Every row of the database, and the configuration file. */
async function stateOf({ kernel }: Served): Promise<unknown> {
  const store = kernel.use(Store)
  const tables = await store.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
  const rows = await Promise.all(
    tables.map(async ({ name }) => [name, await store.all(`SELECT * FROM "${name}"`)] as const),
  )
  return { ...Object.fromEntries(rows), config: await readFile(kernel.project.config, 'utf8') }
}
