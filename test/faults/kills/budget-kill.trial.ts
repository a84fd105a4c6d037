import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { keyedRandom } from '#lib/keyed-random'
import { modelServer, RunningSvc, tempDir, text, until } from '../../support/index.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'
import { budgetOf, envOf, spending, tokensCharged } from '../spending.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SPENDER = fileURLToPath(new URL('budget-spender.ts', import.meta.url))
const KILLS = trialCount(12, 3)
const UP = /^Logs: /m
const SEED = Number(process.env.SVC_TEST_SEED ?? 11)

it(`a daemon that is killed while it spends (seed ${SEED}) never loses what the model charged`, async () => {
  const { server, dir, options } = await spending('  budget_tokens: 50000000\n  budget_persist: true')
  const random = keyedRandom(SEED)
  let least = 0
  for (let kill = 0; kill < KILLS; kill++) {
    await using daemon = new RunningSvc(['start', '-p', 'worker'], options)
    const asked = server.requests.length
    await daemon.waitForOutput(UP)
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
  await last.waitForOutput(UP)
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

it('several processes on one database spend no more than the limit, even when one of them is killed', async () => {
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
