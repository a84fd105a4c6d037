import { describe, expect, it } from 'vitest'
import type { AgentDetail } from '#core/agents/contract'
import { goalsCalls, goalsTranscript } from '#core/goals/views/story'
import memory from '#core/memory/index'
import { type Answer, runHeartbeat, toolCall, until, waitUntilIdle } from '../../../support/index.ts'
import { finish, goalAnswer, recordingTools, results } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, testHostWithModel } from '../models/model-host.ts'

/** Opens a host whose agents give these answers while they pursue goals, then finish each. */
async function open(answers: Answer[] = [], options: Parameters<typeof testHostWithModel>[1] = {}) {
  const left = [...answers]
  const home = await testHostWithModel(
    request => (asksForGoal(request) ? goalAnswer('Sweep the yard, as was asked') : (left.shift() ?? finish('done'))),
    options,
  )
  const spawnWith = async (goal?: string) =>
    ((await home.kernel.invoke('agents.spawn', { preset: 'worker', ...(goal && { goal }) })) as AgentDetail).agent_id
  const openings = () =>
    home.server.requests
      .filter(request => !asksForGoal(request))
      .map(({ body }) => body.messages.filter(({ role }) => role === 'user'))
      .filter(messages => messages.length === 1)
      .map(([message]) => String(message?.content))
  return Object.assign(home, { spawnWith, openings })
}

async function pursue(home: Awaited<ReturnType<typeof open>>, id: string, objective: string): Promise<void> {
  const { goal_id } = (await home.kernel.invoke('goals.add', { id, objective })) as { goal_id: string }
  for (let n = 0; n < 10; n++) {
    await runHeartbeat(home)
    if ((await goalsOf(home, id)).some(goal => goal.goal_id === goal_id && goal.status !== 'active')) return
  }
  throw new Error(`the goal did not end: ${objective}`)
}

describe('an agent that is spawned with a goal', () => {
  it('pursues it before it chooses any other', async () => {
    await using home = await open()
    const id = await home.spawnWith('Count the sheep')
    expect(await detail(home, id)).toMatchObject({ goal: 'Count the sheep' })
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(asksForGoal(home.server.requests[0]!)).toBe(false)
    expect(home.server.requests[0]!.prompt).toContain('Goal: Count the sheep')
  })
})

describe('an agent whose profile sets own_goals to false', () => {
  const files = { 'profiles/worker.yaml': 'name: worker\nrole: waits to be asked\nown_goals: false\n' }

  it('asks no model until the operator writes to it, and then chooses only what was asked for', async () => {
    await using home = await open([], { files })
    const id = await home.spawnWith()
    home.kernel.heartbeat.start()
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    expect(home.server.requests).toEqual([])
    await home.kernel.invoke('agents.nudge', { id, message: 'Sweep the yard' })
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(home.server.requests[0]!.prompt).toMatch(
      /Messages from the operator:\n- Sweep the yard\n[\s\S]*choose only a goal that one of these messages asks for[\s\S]*only the last three messages are shown again\./,
    )
    expect(home.server.requests.filter(asksForGoal)).toHaveLength(1)
    expect(await goalsOf(home, id)).toMatchObject([{ objective: 'Sweep the yard, as was asked', status: 'completed' }])
  })
})

describe("the operator's goals", () => {
  const files = { 'profiles/worker.yaml': 'name: worker\nrole: works\nown_goals: false\n' }

  it('begin with the last three goals and their results, so that they can refer to them', async () => {
    await using home = await open(
      ['one', 'two', 'three', 'four'].map(n => finish(`Number ${n}\nis done`)),
      { files },
    )
    const id = await home.spawnWith()
    for (const n of ['one', 'two', 'three', 'four']) {
      await home.kernel.invoke('goals.add', { id, objective: `Write part ${n}` })
      await home.clock.advance(1)
    }
    home.kernel.heartbeat.start()
    await pursue(home, id, 'Good. Commit that')
    expect(home.openings()[0]).not.toContain('Your last goals')
    expect(home.openings().at(-1)).toContain(
      [
        'Goal: Good. Commit that\n\nYour last goals, newest first:',
        '- [completed] Write part four: Number four is done',
        '- [completed] Write part three: Number three is done',
        '- [completed] Write part two: Number two is done',
      ].join('\n'),
    )
    expect(home.openings().at(-1)).not.toContain('part one')
  })

  it('do not repeat a result that a memory holds', async () => {
    await using home = await open([finish('The kiln reached 1,240 degrees')], { builtins: [memory], files })
    const id = await home.spawnWith()
    home.kernel.heartbeat.start()
    await pursue(home, id, 'Fire the kiln to its highest temperature')
    await waitUntilIdle(home)
    await pursue(home, id, 'Describe the kiln at its highest temperature')
    const opening = home.openings().at(-1)!
    expect(opening).toContain('newest first:\n- [completed] Fire the kiln to its highest temperature\n')
    expect(opening.split('1,240 degrees')).toHaveLength(2)
  })

  it('show the result of a goal with a long objective', async () => {
    await using home = await open([finish('The kiln reached 1,240 degrees')], { builtins: [memory], files })
    const id = await home.spawnWith()
    home.kernel.heartbeat.start()
    await pursue(
      home,
      id,
      `Fire the kiln to its highest temperature. ${'The kiln has its highest temperature at noon. '.repeat(10)}`,
    )
    await waitUntilIdle(home)
    await pursue(home, id, 'Describe the kiln at its highest temperature')
    const opening = home.openings().at(-1)!
    expect(opening).toMatch(/\n- Completed: Fire the kiln .*… → The kiln reached 1,240 degrees \(\d{4}-\d\d-\d\d\)\n/)
    expect(opening.split('1,240 degrees')).toHaveLength(2)
  })
})

describe('the calls and the transcript of a goal', () => {
  it('show what was called', async () => {
    const { plugin } = recordingTools()
    await using home = await open([toolCall('look', { n: 7, text: 'behind\nthe shed' })], { builtins: [plugin] })
    const id = await home.spawnWith('Look at something')
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    await waitUntilIdle(home)
    const [goal] = await goalsOf(home, id)
    const { goal_id } = goal!
    const shown = async (operation: typeof goalsCalls | typeof goalsTranscript) =>
      String(operation.render?.((await home.kernel.invoke(operation.name, { goal_id })) as never))
    expect(await shown(goalsCalls)).toContain('✓ look {"n":7,"text":"behind\\nthe shed"}  look ran')
    expect(await shown(goalsTranscript)).toContain('assistant: → look {"n":7,"text":"behind\\nthe shed"}\n')
  })
})

describe('arguments that a tool does not know', () => {
  it.each([
    [
      'are named with the result',
      { n: 1, in_text: 'x' },
      /\n\[Ignored: in_text is no parameter of look; did you mean text\?\]$/,
    ],
    ['are named alone if none is like them', { n: 1, timeout: 5 }, /\n\[Ignored: timeout is no parameter of look\]$/],
  ])('%s', async (_, args, message) => {
    const { plugin } = recordingTools()
    await using home = await open([toolCall('look', args)], { builtins: [plugin] })
    await home.spawnWith('Look at something')
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(results(home.server)[0]).toMatch(message)
  })

  it('are named beside one that is missing, without the schema that the model has', async () => {
    await using home = await open([toolCall('file_read', { pathh: 'a.txt' })])
    await home.spawnWith('Look at something')
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(results(home.server)[0]).toBe(
      'Error: path: is missing; pathh is no parameter of file_read; did you mean path? The tool was not run.',
    )
  })

  it('may have the names of other frameworks, also inside of lists', async () => {
    await using home = await open([
      toolCall('file_write', { file_path: 'a.txt', file_text: 'one two' }),
      toolCall('file_edit', { file: 'a.txt', edits: [{ old_string: 'one', new: 'three' }] }),
      toolCall('file_edit', { path: 'a.txt', oldString: 'two', replace: 'four' }),
      toolCall('grep', { query: 'three', pattern: 'four', filename: 'a.txt' }),
    ])
    await home.spawnWith('Look at something')
    home.kernel.heartbeat.start()
    await until(home, 'goal_completed')
    expect(results(home.server)[3]).toMatch(/^1: three four\n\[Ignored: query is no parameter/)
    // The journal, approvals and the model itself have the tool's own names.
    expect(JSON.stringify(home.server.requests.at(-1)!.body.messages)).not.toMatch(/file_text|oldString/)
  })
})
