import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startServer } from '../../interfaces/start-server.ts'
import { hasChromium, theBrowser, UNSEEN } from '../browser.ts'

const KEY = 'open sesame, please'

describe.skipIf(!hasChromium)('the API explorers in a browser with the network off', { timeout: 180_000 }, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await theBrowser()
  })

  /** Opens a page that can reach only this machine; requests to other hosts are recorded in `outside`. */
  async function offline(): Promise<{ page: Page; outside: string[]; problems: string[] }> {
    const context = await browser.newContext(UNSEEN)
    onTestFinished(() => context.close())
    const outside: string[] = []
    const problems: string[] = []
    // No other host name resolves.
    context.on('request', request => {
      const { hostname, protocol } = new URL(request.url())
      if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1') outside.push(request.url())
    })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    page.on('pageerror', error => problems.push(error.message))
    page.on('console', message => {
      if (message.type() === 'error') problems.push(message.text())
    })
    return { page, outside, problems }
  }

  it('Swagger UI shows every operation, and sends no request to another host', async () => {
    const { url, ask } = await startServer()
    const { json } = await ask('/openapi.json')
    const count = Object.values(json.paths).flatMap(methods => Object.keys(methods as object)).length
    const { page, outside, problems } = await offline()
    await page.goto(`${url}/docs`)
    await page.locator('.opblock').first().waitFor()
    expect(await page.locator('.opblock').count()).toBe(count)
    await page.getByText('Spawn an agent from a preset').click()
    await page.getByText('agent_not_found').or(page.getByText('too_many_attempts')).first().waitFor()
    expect(outside).toEqual([])
    expect(problems).toEqual([])
  })

  it('Swagger UI tries out an operation with a key and for a user', async () => {
    const { url, ask, kernel } = await startServer({ env: { SVC_API_KEY: KEY } })
    const { page, outside } = await offline()
    // Serves this operation only: the page redraws all operations with each letter typed.
    const { json } = await ask('/openapi.json')
    const paths = { '/agents': json.paths['/agents'] }
    await page.route('**/openapi.json', route => route.fulfill({ json: { ...json, paths } }))
    await page.goto(`${url}/docs`)
    const operation = page.locator('.opblock', { hasText: 'Spawn an agent from a preset' })
    await operation.locator('.opblock-summary').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByPlaceholder('X-Svc-User').fill('alice')
    await operation.locator('textarea.body-param__text').fill('{"preset":"worker"}')
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.locator('.live-responses-table', { hasText: 'unauthorized' }).waitFor()
    expect(await kernel.invoke('agents.list')).toEqual([])

    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.locator('.auth-container input').fill(KEY)
    await page.locator('.auth-btn-wrapper button', { hasText: 'Authorize' }).click()
    await page.locator('.auth-btn-wrapper button', { hasText: 'Close' }).click()
    const asked = page.waitForRequest(request => request.method() === 'POST')
    await operation.getByRole('button', { name: 'Execute' }).click()
    const headers = (await asked).headers()
    expect([headers['x-svc-key'], headers['x-svc-user']]).toEqual([KEY, 'alice'])
    await expect.poll(() => kernel.invoke('agents.list')).toHaveLength(1)
    expect(outside).toEqual([])
    expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(KEY)
  })

  it('ReDoc shows every operation, and sends no request to another host', async () => {
    const { url, ask } = await startServer()
    const { json } = await ask('/openapi.json')
    const ids = Object.values(json.paths).flatMap(methods =>
      Object.values(methods as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
    )
    const { page, outside, problems } = await offline()
    await page.goto(`${url}/redoc`)
    await page.locator('[data-section-id]').first().waitFor()
    await expect
      .poll(
        async () => {
          const shown = await page.locator('[id^="operation/"]').evaluateAll(all => all.map(({ id }) => id))
          return ids.filter(id => !shown.some(each => each.endsWith(`operation/${id}`)))
        },
        { timeout: 60_000 },
      )
      .toEqual([])
    await page.getByPlaceholder('Search...').fill('nudge')
    await page
      .locator('[role=menuitem]', { hasText: 'nudge' })
      .or(page.getByText('Send an agent a nudge'))
      .first()
      .waitFor()
    expect(outside).toEqual([])
    expect(problems).toEqual([])
  })
})
