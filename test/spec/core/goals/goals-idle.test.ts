import { describe, expect, it } from 'vitest'
import type { NextRun } from '#core/agents/contract'
import { definePlugin, z } from '#kernel'
import daemon from '#platform/daemon/index'
import { SchedulerToken } from '#platform/heartbeat/contract'
import approvals from '#safety/approvals/index'
import { type ToolCall, tool } from '#tools/toolkits/contract'
import {
  fault,
  type ModelServerRequest,
  runHeartbeat,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../../../support/index.ts'
import { finish, goalAnswer, recordingTools, waitForPendingCall } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

const nothing = () => goalAnswer('')
type Home = Awaited<ReturnType<typeof testHostWithModel>>

/** Counts the heartbeats until the model is asked again, up to a maximum. */
async function heartbeatsUntilRequest(home: Home, most: number): Promise<number> {
  const before = home.server.requests.length
  for (let n = 1; n <= most; n++) {
    await runHeartbeat(home)
    if (home.server.requests.length > before) return n
  }
  return Number.POSITIVE_INFINITY
}

async function idle(options: Parameters<typeof testHostWithModel>[1] = {}) {
  const home = await testHostWithModel(nothing, options)
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  await waitUntilIdle(home)
  return Object.assign(home, { id })
}

describe('an idle agent whose model found nothing to do', () => {
  it('is asked again after twice as many heartbeats each time, while its cycles go on', async () => {
    await using home = await idle()
    let cycles = 0
    home.kernel.hooks.on('cycle_end', () => void cycles++)
    const waits: number[] = []
    for (let n = 0; n < 4; n++) waits.push(await heartbeatsUntilRequest(home, 40))
    expect(waits).toEqual([2, 4, 8, 16])
    expect(cycles).toBe(30)
  })

  it('waits no longer than idle_backoff_limit', async () => {
    await using home = await idle({ config: { daemon: { idle_backoff_limit: 30 } } })
    for (let n = 0; n < 3; n++) await heartbeatsUntilRequest(home, 10)
    expect(await heartbeatsUntilRequest(home, 10)).toBe(3)
  })

  it('is asked at every heartbeat with idle_backoff: false', async () => {
    await using home = await idle({ config: { daemon: { idle_backoff: false } } })
    for (let n = 0; n < 3; n++) expect(await heartbeatsUntilRequest(home, 2)).toBe(1)
  })

  it.each([
    ['a nudge', (home: Home, id: string) => home.kernel.invoke('agents.nudge', { id, message: 'look alive' })],
    ['another role', (home: Home, id: string) => home.kernel.invoke('agents.update', { id, role: 'something else' })],
    ['a wake', (home: Home) => home.kernel.use(SchedulerToken).wake(undefined, 'test')],
    ['its profile', (home: Home) => home.write({ 'profiles/worker.yaml': 'name: worker\nrole: a new role\n' })],
    ['the configuration', (home: Home) => home.kernel.config.patch({ daemon: { tool_timeout: 7 } })],
  ])('is asked again at once after a change: %s', async (_, change) => {
    await using home = await idle()
    for (let n = 0; n < 3; n++) await heartbeatsUntilRequest(home, 20)
    await change(home, home.id)
    expect(await heartbeatsUntilRequest(home, 2)).toBeLessThanOrEqual(2)
  })

  it('reports through agents.why that it found nothing to do', async () => {
    await using home = await idle()
    const why = (await home.kernel.invoke('agents.why', { id: home.id })) as NextRun
    expect(why.reason).toMatch(/found nothing to do/)
    expect(Date.parse(String(why.at)) - home.clock.ms()).toBe(20_000)
  })

  it('reports its reason through agents.why also with idle_backoff: false, and reads it when it is asked again', async () => {
    await using home = await testHostWithModel(() => text('{"goal": null, "reasoning": "I wait for\\nthe rain."}'), {
      config: { daemon: { idle_backoff: false } },
    })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await waitUntilIdle(home)
    const why = (await home.kernel.invoke('agents.why', { id })) as NextRun
    expect(why.reason).toContain('found nothing to do ("I wait for the rain.")')
    expect(home.server.requests.at(-1)!.prompt).not.toContain('When you were last asked')
    await home.kernel.invoke('agents.nudge', { id, message: 'it rains' })
    await runHeartbeat(home)
    expect(home.server.requests.at(-1)!.prompt).toContain(
      '\n\nWhen you were last asked, you chose no goal: I wait for the rain.\n\n',
    )
  })

  it.each([
    ['abandons', toolCall('finish_goal', { reached: false, summary: 'I have no sources.' })],
    ['only talks about', text('I will now think about the next step.')],
  ])(
    'rests longer and longer while it %s the goals that it chose, unless it gets a message or other settings',
    async (_, giveUp) => {
      let goals = 0
      await using home = await testHostWithModel(
        request => (asksForGoal(request) ? goalAnswer(`Investigate the history of place ${++goals}`) : giveUp),
        { config: {} },
      )
      const id = await spawn(home)
      home.kernel.heartbeat.start()
      await until(async () => ((await goalsOf(home, id))[0]?.status ?? 'active') !== 'active')
      const heartbeatsUntilGoal = async (most: number) => {
        const before = goals
        for (let n = 1; n <= most; n++) {
          await runHeartbeat(home)
          await waitUntilIdle(home)
          if (goals > before) return n
        }
        return Number.POSITIVE_INFINITY
      }
      const waits: number[] = []
      for (let n = 0; n < 5; n++) waits.push(await heartbeatsUntilGoal(20))
      expect(waits).toEqual([1, 1, 3, 5, 9])
      await runHeartbeat(home)
      const why = (await home.kernel.invoke('agents.why', { id })) as NextRun
      expect(why.reason).toContain(
        'It rests, because the last 6 goals that it chose were abandoned, or ended without a tool call.',
      )
      expect(why.at).not.toBeNull()
      await home.kernel.config.patch({ daemon: { tool_timeout: 7 } })
      expect(await heartbeatsUntilGoal(2)).toBe(1)
      await runHeartbeat(home)
      await home.kernel.invoke('agents.nudge', { id, message: 'There are sources now.' })
      expect(await heartbeatsUntilGoal(2)).toBe(1)
      const asked = home.server.requests.filter(asksForGoal)
      expect(asked[3]!.prompt).toContain('Your last goals led to nothing: choose one that you can reach for certain')
      expect(asked[2]!.prompt).not.toContain('Your last goals led to nothing')
    },
  )

  it('starts its backoff again after it had something to do', async () => {
    await using home = await idle()
    for (let n = 0; n < 2; n++) await heartbeatsUntilRequest(home, 20)
    home.server.enqueue(goalAnswer('Water all of the plants'), finish())
    await home.kernel.invoke('agents.nudge', { id: home.id, message: 'the plants!' })
    await runHeartbeat(home)
    await until(async () => (await goalsOf(home, home.id))[0]?.status === 'completed')
    await waitUntilIdle(home)
    expect(await heartbeatsUntilRequest(home, 3)).toBe(1)
    expect(await heartbeatsUntilRequest(home, 5)).toBe(2)
  })
})

describe('loop detection', () => {
  it('ends the cycle at the third identical call with the same result, and gives the model the reason', async () => {
    const { plugin } = recordingTools()
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : toolCall('list_dir', {})),
      { builtins: [plugin] },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    expect(home.server.requests).toHaveLength(1 + 3)
    expect(await detail(home, id)).toMatchObject({
      error: expect.stringMatching(/same calls three times in a row.*list_dir/),
    })
    const [goal] = await goalsOf(home, id)
    expect((await detail(home, id)).error).toContain(
      `It tries again later; to help it: svc nudge ${id} "…", or to end the goal: svc goals abandon ${goal!.goal_id}`,
    )
    const first = await detail(home, id)
    expect(Date.parse(String(first.next.at)) - home.clock.ms()).toBe(20_000)
    const failed = until(home, 'cycle_end', ({ result }) => result === 'error')
    await home.clock.advance(20_000)
    await failed
    // The model has already read the reason, so a single repetition is enough.
    expect(home.server.requests).toHaveLength(1 + 3 + 1)
    expect(home.server.requests.at(-1)?.body.messages.at(-2)?.content).toMatch(
      /same results at least three times in a row/,
    )
    expect(home.server.requests.at(-1)?.body.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('Do not make them now.'),
    })
    expect(Date.parse(String((await detail(home, id)).next.at)) - home.clock.ms()).toBe(40_000)
    expect((await goalsOf(home, id))[0]?.status).toBe('active')
  })

  it.each([
    ['abandons a goal that the agent chose', 'abandoned'],
    ['keeps a goal that others gave', 'active'],
  ])('%s after five such cycles in a row', async (_, status) => {
    const { plugin } = recordingTools()
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : toolCall('list_dir', {})),
      { builtins: [plugin] },
    )
    const id = await spawn(home)
    if (status === 'active') await home.kernel.invoke('goals.add', { id, objective: 'Look for the keys' })
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    for (const rest of [20_000, 40_000, 80_000, 160_000]) {
      const ended = until(home, 'cycle_end', ({ result }) => result === 'error' || result === 'abandoned')
      await home.clock.advance(rest)
      await ended
    }
    await waitUntilIdle(home)
    const goal = (await goalsOf(home, id)).at(-1)!
    expect(goal.status).toBe(status)
    const reason = 'Given up after 5 attempts without progress: it made the same calls again and again: list_dir.'
    expect(goal.result).toBe(status === 'abandoned' ? reason : null)
  })

  it('ends a cycle of calls that bring the same results three times, also over several cycles of the agent', async () => {
    const { plugin } = recordingTools()
    const turns = [toolCall('list_dir', {}), toolCall('file_read', { path: 'none.md' }), toolCall('list_dir', {})]
    let n = 0
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : turns[n++ % turns.length]),
      { builtins: [plugin] },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    const failed = until(home, 'cycle_end', ({ result }) => result === 'error')
    await runHeartbeat(home)
    await failed
    expect(home.server.requests).toHaveLength(1 + 9)
    expect((await detail(home, id)).error).toMatch(
      /same calls three times in a row.*list_dir, file_read|file_read, list_dir/,
    )
  })

  it('does not stop calls that wait in turn with others', async () => {
    const { plugin } = recordingTools()
    const turns = [toolCall('list_dir', { wait_seconds: 9 }), toolCall('file_read', { path: 'none.md' })]
    let n = 0
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : turns[n++ % turns.length]),
      { builtins: [plugin] },
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    const again = until(home, 'goal_max_steps')
    await runHeartbeat(home)
    await again
    expect(home.server.requests).toHaveLength(1 + 10)
  })

  it('does not stop calls whose results differ', async () => {
    const { plugin } = recordingTools()
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : toolCall('look', {})),
      { builtins: [plugin] },
    )
    await spawn(home)
    home.kernel.heartbeat.start()
    expect(await until(home, 'goal_max_steps')).toMatchObject({ steps_done: 5 })
  })

  it.each([
    ['the same call', toolCall('list_dir', {})],
    ['nothing', text(' \n ')],
  ])('leaves a loop of %s that has used up its steps to max_steps_policy', async (_, answer) => {
    const { plugin } = recordingTools()
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Look until something is seen') : answer),
      {
        builtins: [plugin],
        config: { daemon: { max_steps_policy: 'abandon' } },
        files: { 'profiles/worker.yaml': 'name: worker\nrole: looks\nmax_steps: 3\n' },
      },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_abandoned')
    await waitUntilIdle(home)
    expect(await goalsOf(home, id)).toMatchObject([{ status: 'abandoned', result: 'Not finished within 3 steps.' }])
    expect((await detail(home, id)).error).toBeNull()
  })

  it('ends the cycle at the third empty answer', async () => {
    await using home = await testHostWithModel(request =>
      asksForGoal(request) ? goalAnswer('Say something at last') : text(' \n '),
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end', ({ result }) => result === 'error')
    expect(home.server.requests).toHaveLength(1 + 3)
    expect((await goalsOf(home, id))[0]?.status).toBe('active')
  })
})

describe('the reason why an agent does nothing', () => {
  const why = (home: Home, id: string) => home.kernel.invoke('agents.why', { id }) as Promise<NextRun>

  it('is a guard, a failure, a pending approval, a freeze or a pause', async () => {
    const { plugin } = recordingTools()
    let closed = true
    const office = definePlugin({
      name: 'office',
      setup: svc => void svc.guard('goal_generation', { name: 'office-hours', shouldProceed: () => !closed }),
    })
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Send word to Ann') : toolCall('send', { to: 'ann' })),
      {
        builtins: [approvals, plugin, daemon, office],
        config: { approval: { enabled: true }, daemon: { max_retries: 0 } },
      },
    )
    const guarded = until(home, 'cycle_end', ({ result }) => result === 'guarded')
    const id = await spawn(home)
    await guarded
    expect((await why(home, id)).reason).toBe('The guard "office-hours" skipped the work of its last cycle.')
    closed = false
    home.server.enqueue(fault('500'))
    const failed = until(home, 'cycle_end', ({ result }) => result === 'error')
    await home.clock.advance(10_000)
    await failed
    expect(await why(home, id)).toMatchObject({
      at: expect.any(String),
      reason: expect.stringMatching(/failed, so it waits before it tries again: The model/),
    })
    await home.clock.advance(20_000)
    const { approval_id } = await waitForPendingCall(home)
    expect((await why(home, id)).reason).toContain(approval_id)
    await home.kernel.invoke('daemon.pause', {})
    expect((await why(home, id)).reason).toMatch(/frozen since/)
    await home.kernel.invoke('daemon.resume', {})
    await home.kernel.invoke('agents.pause', { id })
    expect((await why(home, id)).reason).toMatch(/svc resume/)
    await home.kernel.heartbeat.stop()
  })

  it('is a guard that skips all phases, while it does', async () => {
    let closed = true
    const hours = definePlugin({
      name: 'hours',
      setup: svc => void svc.guard('*', { shouldProceed: () => !closed }, { name: 'working-hours' }),
    })
    await using home = await testHostWithModel(() => goalAnswer('Send word to Ann'), { builtins: [daemon, hours] })
    // The agent's first cycle may begin as soon as it is spawned.
    await home.kernel.invoke('daemon.pause', {})
    const id = await spawn(home)
    await runHeartbeat(home)
    await home.kernel.invoke('daemon.resume', {})
    expect((await why(home, id)).reason).not.toContain('guard')
    await runHeartbeat(home)
    expect((await why(home, id)).reason).toBe('The guard "working-hours" skipped the work of its last cycle.')
    closed = false
    await runHeartbeat(home)
    expect((await why(home, id)).reason).not.toContain('guard')
  })

  it('is its next heartbeat when nothing blocks it', async () => {
    await using home = await testHostWithModel(
      request => (asksForGoal(request) ? goalAnswer('Write it all down') : toolCall('look', { n: request.n })),
      {
        builtins: [recordingTools().plugin],
      },
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    await waitUntilIdle(home)
    expect(await why(home, id)).toMatchObject({
      at: new Date(home.clock.ms() + 10_000).toISOString(),
      reason: 'It waits for its next heartbeat.',
    })
  })

  it('names the tool that its cycle runs', async () => {
    const slow = definePlugin({
      name: 'slow',
      setup(svc) {
        const execute = (_: unknown, { signal }: ToolCall) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        const tools = [tool({ name: 'wait_long', description: 'Waits.', parameters: z.object({}), execute })]
        svc.toolkit({ name: 'slow', everyday: true, tools })
      },
    })
    const answer = (request: ModelServerRequest) =>
      asksForGoal(request) ? goalAnswer('Wait for the tide to turn') : toolCall('wait_long')
    await using home = await testHostWithModel(answer, { builtins: [slow] })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(async () => {
      await home.clock.advance(1_000)
      return (await why(home, id)).reason.includes('wait_long')
    })
    expect((await why(home, id)).reason).toMatch(/^Its cycle runs now: wait_long since 20[-\d]+T[:.\d]+Z\.$/)
  })

  it('is max_concurrent_agents when other agents use all slots', async () => {
    await using home = await testHostWithModel(() => fault('hang'), {
      config: { daemon: { max_concurrent_agents: 1 } },
    })
    const first = await spawn(home)
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.length === 1)
    const second = await spawn(home)
    expect((await why(home, first)).reason).toMatch(
      /^Its cycle runs now: it waits for openai:\S+ since 20[-\d]+T[:.\d]+Z\.$/,
    )
    expect((await why(home, second)).reason).toMatch(/max_concurrent_agents is 1/)
  })
})
