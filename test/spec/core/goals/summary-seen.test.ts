import { expect, it } from 'vitest'
import type { Context as AgentContext } from '#core/goals/views/context-window'
import { Operations } from '#kernel'
import metrics from '#observability/metrics/index'
import { Runs } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import { text, together, toolCall, until } from '../../../support/index.ts'
import { replayOf, runOf, testHostWithRecordings } from '../../observability/recordings-host.ts'
import { spans, trace } from '../../observability/runs-host.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal } from '../models/model-host.ts'
import { asksForSummary, reading, summary, waitForSummary } from './summary-host.ts'

it('traces, goals.context, metrics and spending show how full the window was and how it was shortened', async () => {
  await using home = await reading({ files: 130, wanted: [1] }, { builtins: [runs, metrics] })
  const run_id = await home.kernel.use(Runs).begin('daemon')
  await waitForSummary(home)
  const found = spans((await trace(home, run_id)).root).filter(({ kind }) => kind === 'decision')
  const written = found.filter(({ attributes }) => attributes.decision_type === 'summary')
  expect(written).toHaveLength(1)
  expect(written[0]!.cost_usd).toBeGreaterThan(0)
  const steps = found.filter(({ attributes }) => attributes.decision_type === 'goal_pursuit')
  const contexts = steps.map(({ attributes }) => attributes.context as Record<string, number | string>)
  expect(contexts[0]).toEqual({
    window: 12_000,
    ratio: expect.any(Number),
    system: expect.any(Number),
    tools: expect.any(Number),
    messages: expect.any(Number),
    answer: 1_000,
  })
  expect(new Set(contexts.map(({ room_made }) => room_made))).toEqual(new Set([undefined, 'cleared', 'summary']))
  const shown = home.kernel.points.find(Operations, 'runs.trace')!.render!((await trace(home, run_id)) as never)
  expect(shown).toMatch(/\(summary\)/)
  expect(shown).toMatch(
    /\d+ % of 12,000 \(system \d+, tools \d+, messages \d+, answer 8\); older turns replaced by a summary/,
  )

  const context = (await home.kernel.invoke('goals.context', { id: home.id })) as AgentContext
  expect(context).toMatchObject({ window: 12_000, digested: 0 })
  expect(context.summarized).toBeGreaterThan(50)
  expect(context.last_room_made).toMatchObject({ model: 'openai:scripted', at: expect.any(String) })
  const said = home.kernel.points.find(Operations, 'goals.context')!.render!(context as never)
  expect(said).toMatch(/\d+ messages were replaced by a summary/)
  expect(said).toMatch(/The last event about it: shortened by .*, for openai:scripted, at 20/)

  const scraped = (await home.kernel.invoke('metrics.get')) as string
  for (const way of ['cleared', 'summary'])
    expect(scraped).toMatch(new RegExp(`svc_context_compactions_total\\{model="openai:scripted",how="${way}"\\} [1-9]`))
  for (const section of ['system', 'tools', 'messages', 'answer'])
    expect(scraped).toMatch(
      new RegExp(`svc_context_tokens_total\\{model="openai:scripted",section="${section}"\\} \\d`),
    )
  expect(scraped).toMatch(/svc_context_window_tokens_total\{model="openai:scripted"\} \d+000/)

  const spending = JSON.stringify(await home.kernel.invoke('budget.spending', { by: 'kind' }))
  expect(spending).toContain('summary')
})

it('a run with a summary replays with the same events and without model calls', async () => {
  let n = 0
  const thoughts = (step: number) => `Thought ${step}. ${'I look at it from all sides. '.repeat(60)}`
  await using home = await testHostWithRecordings(
    request => {
      if (asksForGoal(request)) return goalAnswer(n > 0 ? '' : 'Think for a while about it')
      if (asksForSummary(request)) return summary('Thought about it.')
      n++
      return n > 24 ? finish('Thought enough.') : together(text(thoughts(n)), toolCall('look', { to: `n${n}` }))
    },
    {},
    {
      files: {
        'models.yaml': 'models: { "openai:scripted": { context_window: 16000 } }\n',
        'profiles/worker.yaml': 'name: worker\nrole: thinks\nmax_steps: 6\nmax_tokens: 500\n',
      },
    },
  )
  const { agent_id } = await home.ask('POST', '/agents', { preset: 'worker' })
  await home.start()
  await until(async () => (await home.ask('GET', `/agents/${agent_id}/goals`))[0]?.status === 'completed')
  await home.stop()
  expect(home.server.requests.filter(asksForSummary).length).toBeGreaterThan(0)
  const asked = home.server.requests.length
  const verdict = await replayOf(home, await runOf(home))
  expect(verdict, JSON.stringify(verdict)).toMatchObject({ same: true, divergence: null, notes: [] })
  expect(verdict.replayed_hash).toBe(verdict.hash)
  expect(home.server.requests.length).toBe(asked)
})
