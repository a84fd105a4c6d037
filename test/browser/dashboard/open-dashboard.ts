import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { Rest } from '#interfaces/rest/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import {
  type ModelServer,
  modelServer,
  type Script,
  type TestHost,
  type TestHostOptions,
  testHost,
} from '../../support/index.ts'
import { UNSEEN } from '../browser.ts'

const WORKER = 'name: worker\nrole: does what the script says\nmax_steps: 6\n'
const CONFIG = { daemon: { heartbeat: 0.2 }, model: { sim_delay: 0.05 } }

/** Test host with all modules, a heartbeat and an address, as an operator sees it. */
export interface OpenDashboard {
  home: TestHost
  url: string
  model: ModelServer | undefined
  invoke<T>(operation: string, input?: object): Promise<T>
  spawn(preset?: string): Promise<string>
  close(): Promise<void>
}

export interface DashboardOptions extends TestHostOptions {
  /** Replies of the model; without it the model is simulated. */
  script?: Script
  port?: number
}

export async function openDashboard({
  script,
  port = 0,
  config,
  ...options
}: DashboardOptions = {}): Promise<OpenDashboard> {
  const model = script && (await modelServer({ script }))
  const env = model && { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const home = await testHost({
    roles: ['server', 'daemon'],
    clock: 'system',
    // An existing project keeps its own configuration.
    ...(options.root === undefined ? { config: { ...CONFIG, ...(config as object) } } : {}),
    ...options,
    builtins: [...BUILTINS, ...(options.builtins ?? [])],
    files: { 'profiles/worker.yaml': WORKER, ...options.files },
    env: { ...env, ...options.env },
  })
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port })
  const invoke = <T>(operation: string, input: object = {}) => home.kernel.invoke(operation, input) as Promise<T>
  return {
    home,
    url,
    model,
    invoke,
    spawn: async (preset = 'worker') => (await invoke<AgentDetail>('agents.spawn', { preset })).agent_id,
    async close() {
      await home.close()
      await model?.close()
    },
  }
}

/** Time limit far above what anything needs, even on a busy machine, in milliseconds. */
export const PATIENCE_MS = 60_000

/** Tabs of one person at one server, and the errors in them. Browsers store data per server. */
export class Visitor {
  /** Errors of scripts, and what the Content-Security-Policy blocked. */
  readonly problems: string[] = []
  /** Requests to other origins. */
  readonly outside: string[] = []
  /** Requests that change something. */
  readonly changes: string[] = []
  readonly #url: string
  readonly #context: BrowserContext
  readonly #begin: string
  #tabs: Page[] = []

  constructor(context: BrowserContext, url: string, begin: string) {
    this.#context = context
    this.#url = url
    this.#begin = begin
  }

  #watch(page: Page): void {
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('pageerror', error => this.problems.push(error.message))
    page.on('dialog', dialog => {
      this.problems.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('popup', popup => this.problems.push(`popup ${popup.url()}`))
    page.on('request', request => {
      const { protocol, origin, pathname } = new URL(request.url())
      if (/^(https?|wss?):$/.test(protocol) && origin !== new URL(this.#url).origin) this.outside.push(request.url())
      if (request.method() !== 'GET') this.changes.push(`${request.method()} ${pathname}`)
    })
    page.on('console', message => {
      if (/Content.Security.Policy|Refused to/i.test(message.text())) this.problems.push(message.text())
    })
  }

  /** Opens a new tab at a place of the dashboard. */
  async open(hash = '#/'): Promise<Page> {
    const page = await this.#context.newPage()
    this.#watch(page)
    this.#tabs.push(page)
    if (this.#begin) await page.addInitScript(this.#begin)
    await page.goto(`${this.#url}/${hash}`)
    return page
  }

  /** Takes the open tab to a place of the dashboard, as a link does. */
  async at(hash: string): Promise<Page> {
    const page = this.#tabs.at(-1)
    if (!page) return this.open(hash)
    await page.evaluate(`new Promise(there => {
      const to = new URL(${JSON.stringify(hash)}, location.href)
      if (to.hash === location.hash) return there()
      addEventListener('hashchange', () => setTimeout(there), { once: true })
      location.hash = to.hash
    })`)
    return page
  }

  /** Expects that nothing went wrong in any tab, and that no other origin was requested. */
  rest(): void {
    const [problems, outside] = [this.problems, this.outside].map(each => each.splice(0))
    this.changes.length = 0
    expect(problems).toEqual([])
    expect(outside).toEqual([])
  }

  /** Ends the visit, whether or not anything went wrong in it. */
  async leave(): Promise<void> {
    await Promise.all(this.#tabs.splice(0).map(page => page.close()))
    this.rest()
  }
}

const VIEWPORT = { width: 1280, height: 900 }
const contexts = new WeakMap<Browser, Promise<BrowserContext>>()

/** One context for all servers: each has its own address, and a new context would have nothing compiled yet. */
async function contextOf(browser: Browser, url: string): Promise<BrowserContext> {
  const context = await browser.newContext({ ...UNSEEN, viewport: VIEWPORT, colorScheme: 'light' })
  // A tab that stays open keeps the process of all others alive: starting one takes longer than most tests in it.
  await (await context.newPage()).goto(`${url}/assets/icon.svg`)
  return context
}

/**
 * Returns a visitor of a test host.
 * @param begin a script that runs in each tab before the page's own
 */
export async function visitor(browser: Browser, { url }: Pick<OpenDashboard, 'url'>, begin = ''): Promise<Visitor> {
  const context = contexts.get(browser) ?? contextOf(browser, url)
  contexts.set(browser, context)
  return new Visitor(await context, url, begin)
}

/**
 * Returns the path of a screenshot for people to look at: below `SVC_TEST_SHOTS`, or in the system's folder of
 * temporary files.
 */
export const shot = (name: string) => join(process.env.SVC_TEST_SHOTS ?? tmpdir(), `svc-dashboard-${name}.png`)
