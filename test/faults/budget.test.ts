import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { keyedRandom } from '#lib/keyed-random'
import type { BudgetStatus } from '#safety/budget/contract'
import { project } from '../cli/project.ts'
import {
  type ModelServer,
  modelServer,
  RunningSvc,
  svc,
  type TempDir,
  tempDir,
  text,
  toolCall,
  until,
} from '../support/index.ts'
import { trialCount } from '../support/vitest/trial-count.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SPENDER = fileURLToPath(new URL('budget-spender.ts', import.meta.url))
const KILLS = trialCount(12, 3)
const UP = /^Logs: /m
const SEED = Number(process.env.SVC_TEST_SEED ?? 11)

/** Agents that always find something to do, and never the same. */
function busyModel() {
  let n = 0
  return async ({ prompt }: { prompt: string }) => {
    n++
    // So that a kill finds some calls under way.
    await new Promise(resolve => setTimeout(resolve, 5 + (n % 7) * 10))
    if (prompt.includes('"goal":'))
      return text(JSON.stringify({ goal: `Do ${n} and ${n * 7} and ${n * 13} of number ${n}` }))
    if (n % 3 > 0) return toolCall('file_write', { path: `${n}.txt`, content: String(n) })
    return toolCall('finish_goal', { summary: `did ${n}`, evidence: [] })
  }
}

async function spending(daemon: string) {
  const server = await modelServer({ script: busyModel() })
  onTestFinished(() => server.close())
  const config = `daemon:\n  heartbeat: 0.1\n  min_rest: 0\n${daemon}\n`
  const profile = 'name: worker\nrole: works\nmax_tokens: 300\n'
  const dir = await project({ '.svc/config.yaml': config, 'profiles/worker.yaml': profile })
  onTestFinished(() => dir[Symbol.asyncDispose]())
  return { server, dir, options: { cwd: dir.path, env: envOf(server) } }
}

const envOf = (server: ModelServer) => ({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'm' })

async function budgetOf(dir: TempDir, ...words: string[]): Promise<BudgetStatus> {
  const { stdout } = await svc(['budget', ...words, '--json'], { cwd: dir.path })
  return JSON.parse(stdout)
}

/** Until every agent waits for money. */
async function allWait(dir: TempDir): Promise<void> {
  for (;;) {
    const { stdout } = await svc(['status', '--json'], { cwd: dir.path })
    if ((JSON.parse(stdout) as { status: string }[]).every(({ status }) => status === 'waiting')) return
  }
}

const tokensCharged = ({ bill }: ModelServer) =>
  bill.reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + output_tokens, 0)

it(`a daemon that is killed while it spends (seed ${SEED}) never forgets what the model charged`, async () => {
  const { server, dir, options } = await spending('  budget_tokens: 50000000\n  budget_persist: true')
  const random = keyedRandom(SEED)
  let least = 0
  for (let kill = 0; kill < KILLS; kill++) {
    await using daemon = new RunningSvc(['start', '-p', 'worker'], options)
    const asked = server.requests.length
    await daemon.says(UP)
    await until(() => server.requests.length >= asked + 3)
    await new Promise(resolve => setTimeout(resolve, random.number('kill', kill) * 200))
    await daemon.end('SIGKILL')
    const billed = tokensCharged(server)
    const { spent, reserved } = await budgetOf(dir)
    expect(spent.tokens, 'the ledger never goes down').toBeGreaterThanOrEqual(least)
    expect(spent.tokens + reserved.tokens, `kill ${kill}`).toBeGreaterThanOrEqual(billed)
    least = spent.tokens
  }
  await using last = new RunningSvc(['start'], options)
  await last.says(UP)
  const asked = server.requests.length
  await until(() => server.requests.length >= asked + 3)
  expect(await last.end('SIGTERM')).toBe(0)
  const { spent, reserved } = await budgetOf(dir)
  expect(reserved).toEqual({ usd: 0, tokens: 0 })
  expect(spent.tokens).toBeGreaterThanOrEqual(tokensCharged(server))
  expect(JSON.parse(await readFile(join(dir.path, '.svc/budget.json'), 'utf8'))).toMatchObject({
    spent_tokens: spent.tokens,
  })
}, 120_000)

it('several processes on one database spend no more than the limit, also when one of them is killed', async () => {
  const limit = 20_000
  const served = await modelServer({
    async script({ n }) {
      await new Promise(resolve => setTimeout(resolve, (n * 37) % 40))
      return text('x'.repeat(n % 400))
    },
  })
  onTestFinished(() => served.close())
  const config = `daemon:\n  budget_tokens: ${limit}\n  budget_reserve_tokens_generation: 0\n`
  await using dir = await tempDir({ '.svc/config.yaml': config })
  const words = ['--conditions=svc-source', '--import', 'tsx', SPENDER, dir.path]
  const spenders = [1, 2, 3, 4].map(seed => {
    const env = { PATH: process.env.PATH, ...envOf(served) }
    return spawn(process.execPath, [...words, String(seed)], { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] })
  })
  const ended = spenders.map(spender => once(spender, 'close').then(([code, signal]) => code ?? signal))
  onTestFinished(() => spenders.forEach(spender => void spender.kill('SIGKILL')))
  await served.request(60)
  spenders[0]!.kill('SIGKILL')
  expect(await Promise.all(ended)).toEqual(['SIGKILL', 0, 0, 0])
  const { spent, reserved } = await budgetOf(dir)
  expect(spent.tokens + reserved.tokens).toBeLessThanOrEqual(limit)
  expect(spent.tokens + reserved.tokens).toBeGreaterThanOrEqual(tokensCharged(served))
  expect(tokensCharged(served), 'the limit was what ended it').toBeGreaterThan(limit * 0.8)
}, 120_000)

it('the daemon stays up when its budget is used up, and goes on when any process resets it', async () => {
  const { server, dir, options } = await spending('  budget_tokens: 20000')
  await using daemon = new RunningSvc(['start', '-p', 'worker'], options)
  await daemon.says(UP)
  await until(() => server.requests.length >= 3)
  await allWait(dir)
  const before = await budgetOf(dir)
  expect(before.spent.tokens).toBe(tokensCharged(server))
  expect(before.spent.tokens).toBeLessThanOrEqual(20_000)
  expect(before.remaining.tokens).toBeLessThan(10_000)
  expect(before).toMatchObject({ tight: true, exceeded: false })
  expect(before.message).toMatch(
    /^tight: [\d,]+ of 20,000 tokens are spent; the [\d,]+ tokens left are less than a call/,
  )
  const asked = server.requests.length

  // A server beside it answers nothing about the budget over HTTP, and does not begin a new window.
  await using web = new RunningSvc(['serve', '--port', '0'], options)
  const [, url] = await web.says(/(http:\/\/127\.0\.0\.1:\d+)/)
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

it('a daemon in the server answers about the budget over HTTP', async () => {
  const { options } = await spending('  budget_usd: 3')
  await using web = new RunningSvc(['serve', '--with-daemon', '--port', '0'], options)
  const [, url] = await web.says(/(http:\/\/127\.0\.0\.1:\d+)/)
  await web.says(UP)
  const read = await fetch(`${url}/budget`)
  expect([read.status, await read.json()]).toMatchObject([
    200,
    { limits: { usd: 3, tokens: null }, remaining: { usd: 3, tokens: null }, exceeded: false, mode: 'reserve' },
  ])
  expect(await (await fetch(`${url}/daemon`)).json()).toMatchObject({ budget: '$0.00 of $3.00 are spent.' })
  const reset = await fetch(`${url}/budget/reset`, { method: 'POST' })
  expect([reset.status, await reset.json()]).toMatchObject([200, { spent: { usd: 0, tokens: 0 } }])
  expect(await web.end('SIGTERM')).toBe(0)
})
