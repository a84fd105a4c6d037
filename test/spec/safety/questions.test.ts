import { describe, expect, it } from 'vitest'
import file from '#tools/toolkits/file/index'
import { runHeartbeat, text, together, toolCall, until } from '../../support/index.ts'
import { detail, goalsOf } from '../core/models/model-host.ts'
import { finish, steppedIn } from './approvals-host.ts'
import { ask, asking, shown } from './questions-host.ts'

const QUESTION = 'Which branch is released?'

describe('ask_operator', () => {
  it('parks the goal without model calls until the operator answers; the answer is the result of the call', async () => {
    await using home = await asking([ask(QUESTION, { options: ['main', 'stable'] }), finish()])
    const id = await home.begin()
    const asked = await home.asked()
    expect(asked).toMatchObject({ agent_id: id, question: QUESTION, options: ['main', 'stable'], status: 'open' })
    const before = home.server.requests.length
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(home.server.requests).toHaveLength(before)
    expect(await detail(home, id)).toMatchObject({
      status: 'waiting',
      next: { reason: expect.stringContaining(`waits for your answer to ${asked.question_id}`) },
    })
    expect(await home.kernel.invoke('agents.fleet')).toMatchObject({
      agents: [
        { status: 'waiting', held: expect.stringContaining(asked.question_id), waits_for: 'answer', stuck: false },
      ],
      summary: { stuck: 0, reasons: [] },
    })
    const { status, json } = await home.answer(asked.question_id, '2', { 'x-svc-user': 'ann' })
    expect({ status, json }).toMatchObject({ status: 200, json: { answer: 'stable', answered_by: 'ann' } })
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(shown(home)).toEqual(['The operator answered: stable'])
    expect(steppedIn(home.server)).toBe(2)
    expect(await home.open()).toEqual([])
  })

  it('is named to a model that asks the operator in its text', async () => {
    await using home = await asking([text('Main or stable?'), ask(QUESTION), finish('on main')])
    const id = await home.begin()
    await home.answer((await home.asked()).question_id, 'main')
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(home.server.requests.some(({ prompt }) => prompt.includes('call ask_operator.'))).toBe(true)
    expect((await goalsOf(home, id))[0]?.result).toBe('on main')
  })

  it('is answered before its goal is finished, also by a call of the same turn', async () => {
    await using home = await asking([together(ask(QUESTION), finish('too early')), finish('on main')])
    const id = await home.begin()
    await home.answer((await home.asked()).question_id, 'main')
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect((await goalsOf(home, id))[0]?.result).toBe('on main')
    expect(shown(home)).toEqual(['The operator answered: main', expect.stringContaining('Read the answer')])
  })

  it('keeps calls after it from running before the agent reads the answer', async () => {
    const list = toolCall('list_dir')
    await using home = await asking([together(ask(QUESTION), list), finish()], { builtins: [file] })
    const id = await home.begin()
    await home.answer((await home.asked()).question_id, 'none')
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(shown(home)).toEqual([
      'The operator answered: none',
      expect.stringMatching(/^Error: not run: while it waited/),
    ])
  })

  it('leaves the agent free to work on other goals', async () => {
    await using home = await asking([ask(QUESTION), finish('the other'), finish('the first')])
    const id = await home.begin()
    const asked = await home.asked()
    await home.request(`/agents/${id}/goals`, { objective: 'Count the files of the project' })
    await home.clock.advance(1_000)
    const statuses = async () =>
      Object.fromEntries((await goalsOf(home, id)).map(goal => [goal.origin, goal.status] as const))
    await until(async () => (await statuses()).operator === 'completed')
    expect(await statuses()).toEqual({ operator: 'completed', generated: 'active' })
    await home.answer(asked.question_id, 'main')
    await until(async () => (await statuses()).generated === 'completed')
  })

  it('accepts one answer, from a person, and only an option if free text is not allowed', async () => {
    await using home = await asking([ask(QUESTION, { options: ['main', 'stable'], free_text: false }), finish()])
    const id = await home.begin()
    const { question_id } = await home.asked()
    expect(await home.answer(question_id, 'next')).toMatchObject({
      status: 422,
      json: { code: 'not_an_option', detail: expect.stringContaining('1. main; 2. stable') },
    })
    expect(await home.answer(question_id, 'main', { 'x-svc-user': id })).toMatchObject({ status: 403 })
    const answers = await Promise.all([home.answer(question_id, 'main'), home.answer(question_id, 'stable')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await home.answer(question_id, 'main')).json.detail).toMatch(/answered already/)
    expect((await home.answer('q-none', 'main')).status).toBe(404)
  })

  it('continues with its default when no answer comes in time', async () => {
    await using home = await asking([ask(QUESTION, { default: 'main', default_after_minutes: 2 }), finish()])
    const id = await home.begin()
    const { question_id } = await home.asked()
    await home.clock.advance(100_000)
    expect(await home.open()).toHaveLength(1)
    for (let n = 0; n < 3; n++) await home.clock.advance(20_000)
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(shown(home)).toEqual(['No one answered in time, so your default applies: main'])
    expect((await home.request(`/questions/${question_id}`)).json).toMatchObject({ answer: 'main', answered_by: null })
  })

  it('expires with its goal', async () => {
    await using home = await asking([ask(QUESTION), finish()])
    await home.begin()
    const { question_id, goal_id } = await home.asked()
    await home.request(`/goals/${goal_id}/abandon`, {})
    expect(await home.open()).toEqual([])
    expect((await home.request('/questions?status=expired')).json).toMatchObject([{ question_id, status: 'expired' }])
    expect(await home.answer(question_id, 'main')).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('has ended') },
    })
  })

  it('waits for the answers to all questions of a turn, and does not finish the goal before', async () => {
    await using home = await asking([together(ask(QUESTION), ask('And who releases it?'), finish()), finish()])
    const id = await home.begin()
    await home.asked()
    const open = await home.open()
    const idOf = (text: string) => open.find(({ question }) => question === text)!.question_id
    await home.answer(idOf(QUESTION), 'main')
    for (let n = 0; n < 2; n++) await runHeartbeat(home)
    expect(steppedIn(home.server)).toBe(1)
    await home.answer(idOf('And who releases it?'), 'Ann')
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(shown(home)).toEqual([
      'The operator answered: main',
      'The operator answered: Ann',
      expect.stringContaining('the goal is not finished'),
    ])
  })

  it('returns an error for an invalid question and opens none', async () => {
    await using home = await asking([ask(QUESTION, { free_text: false }), toolCall('finish_goal', { summary: 'ok' })])
    const id = await home.begin()
    await until(async () => (await goalsOf(home, id))[0]?.status === 'completed')
    expect(shown(home)[0]).toMatch(/options: must contain at least one answer/)
    expect(await home.open()).toEqual([])
  })

  it('survives the end of its process: another process accepts the answer and continues', async () => {
    await using first = await asking([ask(QUESTION)])
    const id = await first.begin()
    const { question_id } = await first.asked()
    await using second = await asking([finish()], { root: first.root, clock: first.clock, seed: 7 })
    await first.kernel.heartbeat.stop()
    await second.answer(question_id, 'main')
    second.kernel.heartbeat.start()
    await second.clock.advance(1_000)
    await until(async () => (await goalsOf(second, id))[0]?.status === 'completed')
    expect(shown(second)).toEqual(['The operator answered: main'])
  })
})
