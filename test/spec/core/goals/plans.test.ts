import { describe, expect, it } from 'vitest'
import type { Goal } from '#core/goals/contract'
import { runHeartbeat, toolCall, until } from '../../../support/index.ts'
import { finish } from '../../safety/approvals-host.ts'
import { ask, asking, shown } from '../../safety/questions-host.ts'
import { goalsOf, rows, spawn } from '../models/model-host.ts'

const steps = (...statuses: string[]) =>
  statuses.map((status, n) => ({ step: ['Read the log', 'Write the report', 'Send it'][n], status }))
const plan = (...statuses: string[]) => toolCall('update_plan', { steps: steps(...statuses) })

describe('the plan of a goal', () => {
  it('is stored and reported with each change', async () => {
    await using home = await asking([
      plan('in_progress', 'pending', 'pending'),
      plan('done', 'in_progress', 'skipped'),
      ask('Whom is it sent to?'),
      finish(),
    ])
    const id = await home.begin()
    const { goal_id, question_id } = await home.asked()
    const goal = (await home.request(`/goals/${goal_id}`)).json as Goal
    expect(goal).toMatchObject({ plan: steps('done', 'in_progress', 'skipped'), question_id })
    const events = await rows<{ data: string }>(
      home,
      "SELECT data FROM events WHERE type = 'plan_updated' ORDER BY seq",
    )
    expect(events.map(({ data }) => JSON.parse(data))).toEqual([
      { agent_id: id, goal_id, steps: 3, done: 0, current: 'Read the log' },
      { agent_id: id, goal_id, steps: 3, done: 2, current: 'Write the report' },
    ])
    await home.answer(question_id, 'to Ann')
    await until(async () => ((await home.request(`/goals/${goal_id}`)).json as Goal).status === 'completed')
    expect(shown(home)[0]).toBe('The plan is written down: 0 of 3 steps are done.')
  })

  it('is rejected when two steps are in progress', async () => {
    await using home = await asking([plan('in_progress', 'in_progress'), ask('Whom is it sent to?'), finish()])
    await home.begin()
    const { goal_id } = await home.asked()
    expect(((await home.request(`/goals/${goal_id}`)).json as Goal).plan).toEqual([])
  })

  it('is shown to the agent again when the conversation no longer holds it', async () => {
    const looks = Array.from({ length: 6 }, (_, n) => toolCall('list_dir', { path: `${n}` }))
    await using home = await asking([plan('in_progress', 'pending'), ...looks, finish()], {
      config: { daemon: { pursuit_transcript_max_messages: 6 } },
      files: { 'profiles/worker.yaml': 'name: worker\nrole: does what the script says\nmax_steps: 20\n' },
    })
    const id = await home.begin()
    await until(async () => (await goalsOf(home, id)).some(({ status }) => status === 'completed'))
    const reminders = home.server.requests.map(({ body }) =>
      body.messages.filter(({ content }) => content?.startsWith('Your plan, as you wrote it down:\n[>] Read the log')),
    )
    expect(reminders.slice(0, 4).flat()).toEqual([])
    expect(reminders.at(-1)?.length).toBeGreaterThan(0)
  })
})

describe('a goal', () => {
  it('that waits for another goal begins when that one has ended, and is shown its result', async () => {
    await using home = await asking([finish('The numbers are 1 and 2'), finish('reported')])
    const [first, second] = [await spawn(home), await spawn(home)]
    const add = async (id: string, objective: string, more = {}) =>
      (await home.request(`/agents/${id}/goals`, { objective, ...more })).json as Goal
    const numbers = await add(first, 'Collect the numbers of today')
    const report = await add(second, 'Write the report of today', { after: [numbers.goal_id] })
    expect(report.after).toEqual([numbers.goal_id])
    home.kernel.heartbeat.start()
    const now = async ({ goal_id }: Goal) => (await home.request(`/goals/${goal_id}`)).json as Goal
    await until(async () => (await now(numbers)).status === 'completed')
    await runHeartbeat(home)
    await until(async () => (await now(report)).status === 'completed')
    const [, opening] = home.server.requests.filter(({ prompt }) => prompt.includes('Goal: '))
    expect(opening?.prompt).toContain('Goals that this goal waited for have ended:\n- [completed] Collect the numbers')
    expect(opening?.prompt).toContain('The numbers are 1 and 2')
    expect(await add(second, 'Write another report', { after: ['goal-none'] })).toMatchObject({
      code: 'goal_not_found',
    })
  })

  it('is abandoned when its deadline passes', async () => {
    await using home = await asking([ask('Whom is it sent to?'), finish()])
    const id = await spawn(home)
    const deadline = new Date(home.clock.ms() + 120_000).toISOString()
    const { json } = await home.request(`/agents/${id}/goals`, { objective: 'Write the report of today', deadline })
    expect(json.deadline).toBe(deadline)
    home.kernel.heartbeat.start()
    await home.asked()
    expect(home.server.requests[0]?.prompt).toContain(`It must be reached by ${deadline}`)
    while (home.clock.ms() < Date.parse(deadline)) await runHeartbeat(home)
    await runHeartbeat(home)
    const goal = async () => (await home.request(`/goals/${json.goal_id}`)).json as Goal
    await until(async () => (await goal()).status === 'abandoned')
    expect((await goal()).result).toBe('Its deadline passed before it was reached.')
    expect(await home.open()).toEqual([])
  })
})
