import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentSummary } from '../../builtins/agents/contract.ts'
import { RunningSvc, svc, type TempDir, tempDir } from '../support/index.ts'
import { hasChromium, launch, requestsOf } from './browser.ts'

describe.skipIf(!hasChromium)('the dashboard in a browser', () => {
  let dir: TempDir
  let server: RunningSvc
  let browser: Browser
  let url: string

  beforeAll(async () => {
    dir = await tempDir()
    await svc(['init', '--quiet'], { cwd: dir.path })
    await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0.1\n' })
    server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder,writer'], { cwd: dir.path })
    url = String((await server.says(/(http:\/\/127\.0\.0\.1:\d+)\/$/m))[1])
    browser = await launch('--host-resolver-rules=MAP evil.test 127.0.0.1, MAP rebind.test 127.0.0.1')
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await server?.end('SIGTERM')
    await dir?.[Symbol.asyncDispose]()
  })

  const agents = async () => (await fetch(`${url}/agents`).then(answer => answer.json())) as AgentSummary[]

  it('shows the agents and their goals as they change, and says that the model is simulated', async () => {
    const page = await browser.newPage()
    await page.goto(url)
    await page.getByText('simulated, not an AI model').waitFor()
    await page.locator('tbody tr', { hasText: 'coder' }).click()
    const goals = page.getByText(/completed · \d+ steps/)
    await goals.first().waitFor()
    const before = await goals.count()
    await expect.poll(() => goals.count(), { timeout: 15_000 }).toBeGreaterThan(before)
    await page.close()
  })

  it('pauses, resumes and nudges', async () => {
    const page = await browser.newPage()
    await page.goto(url)
    await page.locator('tbody tr', { hasText: 'writer' }).click()
    await page.getByRole('button', { name: 'Pause' }).click()
    await expect.poll(async () => (await agents()).find(agent => agent.name === 'writer')?.status).toBe('paused')
    await page.getByRole('button', { name: 'Resume' }).click()
    await expect.poll(async () => (await agents()).find(agent => agent.name === 'writer')?.status).not.toBe('paused')
    await page.getByLabel('Tell it something').fill('write of lanterns, please')
    await page.getByRole('button', { name: 'Nudge' }).click()
    await page
      .getByText(/lanterns/)
      .first()
      .waitFor({ timeout: 15_000 })
    await page.close()
  })

  it('treats what agents and people wrote as text, and asks nobody else for anything', async () => {
    const hostile = `<img src=x onerror="fetch('/agents/*/pause',{method:'POST'})"><script>window.owned=1</script>`
    const [coder] = await agents()
    await fetch(`${url}/agents/${coder?.agent_id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ role: hostile }),
    })
    const page = await browser.newPage()
    const asked = requestsOf(page)
    await page.goto(url)
    await page.getByText('window.owned=1').first().waitFor()
    expect(await page.evaluate('window.owned')).toBeUndefined()
    expect(asked.filter(each => each.startsWith('POST'))).toEqual([])
    await page.close()
  })

  it('cannot be driven or read by a page of another site, nor by one whose name was rebound, nor framed', async () => {
    const attack = `<iframe src="${url}/"></iframe><script>
      const go = async () => {
        const told = []
        for (const [path, init] of [['/agents/*/pause', { method: 'POST' }], ['/agents/*/pause', { method: 'POST', mode: 'no-cors' }],
          ['/agents', {}], ['/agents', { method: 'POST', mode: 'no-cors', body: '{"preset":"coder"}' }]]) {
          told.push(await fetch('${url}' + path, init).then(async answer => answer.type === 'opaque' ? 'opaque' : answer.status + (await answer.text()).slice(0, 40), error => 'failed'))
        }
        document.title = JSON.stringify(told)
      }
      go()</script>`
    const evil = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(attack)).listen(
      0,
      '127.0.0.1',
    )
    await once(evil, 'listening')
    const { port } = evil.address() as AddressInfo
    const page = await browser.newPage()
    await page.goto(`http://evil.test:${port}/`)
    await page.waitForFunction("document.title.startsWith('[')")
    expect(JSON.parse(await page.title())).toEqual(['failed', 'failed', 'failed', 'failed'])
    const framed = page.frames().find(frame => frame !== page.mainFrame())
    expect(framed?.url().startsWith(url)).toBe(false)
    const rebound = await browser.newPage()
    const answer = await rebound.goto(`${url.replace('127.0.0.1', 'rebind.test')}/agents`)
    expect(answer?.status()).toBe(403)
    expect((await agents()).map(agent => agent.status)).not.toContain('paused')
    expect(await agents()).toHaveLength(2)
    await page.close()
    await rebound.close()
    evil.close()
  })
})
