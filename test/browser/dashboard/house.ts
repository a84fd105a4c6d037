import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { AgentDetail } from '../../../builtins/agents/contract.ts'
import { BUILTINS } from '../../../builtins/index.ts'
import { Rest } from '../../../builtins/rest/contract.ts'
import {
  type House,
  type HouseOptions,
  house,
  type ModelServer,
  modelServer,
  type Script,
} from '../../support/index.ts'
import { launch } from '../browser.ts'

const WORKER = 'name: worker\nrole: does what the script says\nmax_steps: 6\n'
const CONFIG = { daemon: { heartbeat: 0.2 }, model: { sim_delay: 0.05 } }

/** A house with all rooms, a heartbeat and an address, as an operator has it before the eyes. */
export interface Lit {
  home: House
  url: string
  model: ModelServer | undefined
  invoke<T>(operation: string, input?: object): Promise<T>
  spawn(preset?: string): Promise<string>
  close(): Promise<void>
}

export interface LitOptions extends HouseOptions {
  /** What the model says; without one it is the simulated one. */
  script?: Script
  port?: number
}

export async function lit({ script, port = 0, config, ...options }: LitOptions = {}): Promise<Lit> {
  const model = script && (await modelServer({ script }))
  const env = model && { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const home = await house({
    roles: ['server', 'daemon'],
    clock: 'system',
    // A project that exists keeps the configuration that it has.
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

let running: Promise<Browser> | undefined

/** The one browser of a test file: it reaches nothing but this machine. */
export function theBrowser(): Promise<Browser> {
  running ??= launch('--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1')
  return running
}

export async function closeBrowser(): Promise<void> {
  await (await running)?.close()
}

/** Far more than anything needs: what comes is waited for, however busy the machine. */
export const PATIENCE_MS = 60_000

export interface Look {
  width?: number
  height?: number
  scheme?: 'light' | 'dark'
}

/** A person's browser: its pages share what tabs share, and whatever goes wrong in them is written down. */
export class Visitor {
  readonly context: BrowserContext
  /** Errors of scripts, and what the Content-Security-Policy refused. */
  readonly problems: string[] = []
  /** Requests to anywhere else. */
  readonly outside: string[] = []
  /** Whatever was asked that changes something. */
  readonly changes: string[] = []
  readonly #url: string

  constructor(context: BrowserContext, url: string) {
    this.context = context
    this.#url = url
    context.on('page', page => this.#watch(page))
    context.on('request', request => {
      const { protocol, origin, pathname } = new URL(request.url())
      if (/^(https?|wss?):$/.test(protocol) && origin !== new URL(url).origin) this.outside.push(request.url())
      if (request.method() !== 'GET') this.changes.push(`${request.method()} ${pathname}`)
    })
  }

  #watch(page: Page): void {
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('pageerror', error => this.problems.push(error.message))
    page.on('dialog', dialog => {
      this.problems.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('console', message => {
      if (/Content.Security.Policy|Refused to/i.test(message.text())) this.problems.push(message.text())
    })
  }

  /** A new tab at a place of the dashboard. */
  async open(hash = '#/'): Promise<Page> {
    const page = await this.context.newPage()
    await page.goto(`${this.#url}/${hash}`)
    return page
  }

  /** Closes all tabs. Nothing went wrong in them, and nobody else was asked for anything. */
  async rest(): Promise<void> {
    await Promise.all(this.context.pages().map(page => page.close()))
    const [problems, outside] = [this.problems, this.outside].map(each => each.splice(0))
    this.changes.length = 0
    expect(problems).toEqual([])
    expect(outside).toEqual([])
  }

  /** Ends the visit. */
  async leave(): Promise<void> {
    await this.rest()
    await this.context.close()
  }
}

export async function visitor(browser: Browser, { url }: Pick<Lit, 'url'>, look: Look = {}): Promise<Visitor> {
  const { width = 1280, height = 900, scheme = 'light' } = look
  return new Visitor(await browser.newContext({ viewport: { width, height }, colorScheme: scheme }), url)
}
