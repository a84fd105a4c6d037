import { expect, it } from 'vitest'
import { RunningSvc, type TempDir, until } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'
import { budgetOf, spending, tokensCharged } from './spending.ts'

const UP = /^Logs: /m

/** Waits until every agent waits for budget. */
async function allWait(dir: TempDir): Promise<void> {
  for (;;) {
    const { stdout } = await svc(['status', '--json'], { cwd: dir.path })
    if ((JSON.parse(stdout) as { status: string }[]).every(({ status }) => status === 'waiting')) return
  }
}

it('the daemon stays up when its budget is used up, and goes on when any process resets it', async () => {
  const { server, dir, options } = await spending('  budget_tokens: 20000')
  await using daemon = new RunningSvc(['start', '-p', 'worker'], options)
  await daemon.waitForOutput(UP)
  await until(() => server.requests.length >= 3)
  await allWait(dir)
  const before = await budgetOf(dir)
  expect(before.spent.tokens).toBe(tokensCharged(server))
  expect(before.spent.tokens).toBeLessThanOrEqual(20_000)
  expect(before.remaining.tokens).toBeLessThan(10_000)
  expect(before).toMatchObject({ tight: true, exceeded: false })
  expect(before.message).toMatch(/^Tight: [\d,]+ of 20,000 tokens spent; the [\d,]+ tokens left are less than a call/)
  const asked = server.requests.length

  // A server without a daemon does not serve the budget over HTTP, and does not begin a new window.
  await using web = new RunningSvc(['serve', '--port', '0'], options)
  const [, url] = await web.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
  for (const [method, path] of [
    ['GET', '/budget'],
    ['POST', '/budget/reset'],
  ] as const) {
    const answer = await fetch(`${url}${path}`, { method })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'daemon_not_running'])
  }
  expect((await budgetOf(dir)).spent).toEqual(before.spent)

  expect((await budgetOf(dir, 'reset')).spent.tokens).toBeLessThan(before.spent.tokens)
  await until(() => server.requests.length > asked)
  expect(await daemon.end('SIGTERM')).toBe(0)
}, 120_000)

it('a server with a daemon shows and resets the budget over HTTP', async () => {
  const { options } = await spending('  budget_usd: 3')
  await using web = new RunningSvc(['serve', '--with-daemon', '--port', '0'], options)
  const [, url] = await web.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
  await web.waitForOutput(UP)
  const read = await fetch(`${url}/budget`)
  expect([read.status, await read.json()]).toMatchObject([
    200,
    { limits: { usd: 3, tokens: null }, remaining: { usd: 3, tokens: null }, exceeded: false, mode: 'reserve' },
  ])
  expect(await (await fetch(`${url}/daemon`)).json()).toMatchObject({ budget: '$0.00 of $3.00 spent.' })
  const reset = await fetch(`${url}/budget/reset`, { method: 'POST' })
  expect([reset.status, await reset.json()]).toMatchObject([200, { spent: { usd: 0, tokens: 0 } }])
  expect(await web.end('SIGTERM')).toBe(0)
})
