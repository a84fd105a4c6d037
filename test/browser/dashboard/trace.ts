import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Runs, type Trace } from '#observability/runs/contract'
import { appendEvent, Store } from '#platform/store/contract'
import { hasChromium, theBrowser } from '../browser.ts'
import { type OpenDashboard, openDashboard, shot, type Visitor, visitor } from './open-dashboard.ts'

const STEPS = 10_000
const TOOLS = ['file_read', 'file_edit', 'web_search']

describe.skipIf(!hasChromium)('the trace of a run with twenty thousand spans', () => {
  let browser: Browser
  let host: OpenDashboard
  let person: Visitor
  let run_id: string

  beforeAll(async () => {
    ;[browser, host] = await Promise.all([theBrowser(), openDashboard({ roles: ['server'] })])
    const agent_id = await host.spawn()
    const { kernel } = host.home
    run_id = await kernel.use(Runs).begin('daemon')
    const goal = { agent_id, goal_id: 'goal-1' }
    for (let step = 1; step <= STEPS; step += 250) {
      const effects = Array.from({ length: 250 }, (_, n) => [
        appendEvent({
          type: 'model_called',
          agent_id,
          run_id,
          data: {
            ...goal,
            call_id: `call-${step + n}`,
            kind: 'pursuit',
            model: 'sim:small',
            step: step + n,
            cost_usd: 0,
            input_tokens: 10,
            output_tokens: 5,
            duration_ms: 3,
            attempts: 1,
            estimated: false,
            failed: false,
          },
        }),
        appendEvent({
          type: 'tool_result',
          agent_id,
          run_id,
          data: {
            ...goal,
            tool: TOOLS[(step + n) % 3],
            ok: true,
            call_id: `tool-${step + n}`,
            step: step + n,
            arguments: {},
            output: 'done',
            duration_ms: 2,
          },
        }),
      ]).flat()
      await kernel.use(Store).apply(effects)
    }
    await kernel.use(Runs).end(run_id, 'stopped')
    person = await visitor(browser, host)
  })
  afterAll(async () => {
    await person?.leave()
    await host?.close()
  })

  it('shows the newest steps first with the total, names each step’s tool, and pages back to the oldest', async () => {
    const page = await person.open(`#/runs/${run_id}`)
    await page.locator('.figure', { hasText: 'Goals completed' }).getByText('0 abandoned').waitFor()
    const part = page.getByRole('region', { name: 'Part of the run' })
    await part.getByText(/^1,000 of 20,000 steps: .* newest first/).waitFor()
    await page.getByRole('button', { name: /in goal-1/ }).click()
    const steps = page.locator('.waterfall .label', { hasText: /^step \d+: / })
    const first = async () => (await steps.first().innerText()).replace(/ · .*/, '')
    expect(await first()).toBe(`step ${STEPS}: ${TOOLS[STEPS % 3]}`)
    expect(await steps.count()).toBe(500)
    await page.screenshot({ path: shot('trace') })
    await part.getByRole('button', { name: 'Older' }).click()
    await expect.poll(first).toBe(`step ${STEPS - 500}: ${TOOLS[(STEPS - 500) % 3]}`)
    await part.getByRole('button', { name: 'Newer' }).click()
    await expect.poll(first).toBe(`step ${STEPS}: ${TOOLS[STEPS % 3]}`)
    await part.getByRole('button', { name: 'Oldest' }).click()
    await expect.poll(first).toBe(`step 500: ${TOOLS[500 % 3]}`)
    expect(await part.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true)
    await part.getByRole('button', { name: 'Newest' }).click()
    await expect.poll(first).toBe(`step ${STEPS}: ${TOOLS[STEPS % 3]}`)
    person.rest()
  })

  it('is returned whole in parts from its end, with each step once', async () => {
    const seen: string[] = []
    const look = ({ kind, span_id, children }: Trace['root']) => {
      if (kind === 'tool') seen.push(span_id)
      children.forEach(look)
    }
    for (let before: number | null | undefined; before !== null; ) {
      const input = { run_id, limit: 1_000, newest: true, ...(before === undefined ? {} : { before }) }
      const trace: Trace = await host.invoke('runs.trace', input)
      look(trace.root)
      before = trace.next_before
    }
    expect(seen.length).toBe(STEPS)
    expect(new Set(seen).size).toBe(STEPS)
  })
})
