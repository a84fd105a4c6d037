import { describe, expect, it } from 'vitest'
import { definePlugin, z } from '#kernel'
import { DaemonStatusParts } from '#platform/daemon/contract'
import daemon from '#platform/daemon/index'
import { Store } from '#platform/store/contract'
import approvals from '#safety/approvals/index'
import { tool } from '#tools/toolkits/contract'
import { startServer } from '../../../interfaces/start-server.ts'
import {
  fault,
  runHeartbeat,
  type Script,
  type TempDir,
  type TestHostOptions,
  tempDir,
  toolCall,
  until,
  waitUntilIdle,
} from '../../../support/index.ts'
import {
  decide,
  finish,
  goalAnswer,
  pending,
  recordingTools,
  waitForCompletedGoal,
  waitForPendingCall,
} from '../../safety/approvals-host.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../models/model-host.ts'

type Home = Awaited<ReturnType<typeof testHostWithModel>>

let lives = 0

/** Starts the same project again; for the project, each call is a new process. */
async function life(dir: TempDir, script: Script, options: TestHostOptions = {}): Promise<Home> {
  const { plugin } = recordingTools()
  return testHostWithModel(script, {
    ...options,
    seed: ++lives,
    root: dir.path,
    builtins: [approvals, plugin, daemon, ...(options.builtins ?? [])],
  })
}

const endless: Script = request =>
  asksForGoal(request) ? goalAnswer('Write down all numbers there are') : toolCall('look', { n: request.n })
const never: Script = () => fault('hang')
/** Returns the goals that have a transcript. */
const transcripts = (home: Home) => home.kernel.use(Store).all('SELECT DISTINCT goal_id FROM pursuit_transcripts')

/** Runs until the agent has reached max_steps once, and returns its id. */
async function runUntilBegun(dir: TempDir, options: TestHostOptions = {}): Promise<string> {
  await using home = await life(dir, endless, options)
  const id = await spawn(home)
  await until(home, 'goal_max_steps')
  await waitUntilIdle(home)
  return id
}

describe('a restart of the daemon', () => {
  it('keeps a goal active with its transcript, and the agent continues it', async () => {
    await using dir = await tempDir()
    const id = await runUntilBegun(dir)
    await using home = await life(dir, () => finish('at last'))
    await runHeartbeat(home)
    await waitForCompletedGoal(Object.assign(home, { id }))
    const [goal, ...others] = await goalsOf(home, id)
    expect(others).toEqual([])
    expect(goal).toMatchObject({ result: 'at last', steps_completed: 6 })
    expect(home.server.requests[0]?.body.messages.filter(({ role }) => role === 'tool')).toHaveLength(5)
    expect(await transcripts(home)).toEqual([])
  })

  it('abandons goals when preserve_active_goals_on_restart is off', async () => {
    await using dir = await tempDir()
    const config = { daemon: { preserve_active_goals_on_restart: false } }
    const id = await runUntilBegun(dir, { config })
    await using home = await life(dir, never, { config })
    const goal = (await goalsOf(home, id))[0]
    expect(goal).toMatchObject({ status: 'abandoned', result: 'The daemon was restarted.' })
    expect(await transcripts(home)).toEqual([])
    expect((await detail(home, id)).goal).toBeNull()
  })

  it('abandons no goal when the process is refused as a second daemon', async () => {
    await using dir = await tempDir()
    const config = { daemon: { preserve_active_goals_on_restart: false } }
    await using home = await life(dir, endless, { config })
    const id = await spawn(home)
    await until(home, 'goal_max_steps')
    await expect(life(dir, never, { config })).rejects.toMatchObject({ code: 'daemon_running' })
    expect((await goalsOf(home, id))[0]?.status).toBe('active')
  })

  it('keeps a paused agent paused until it is resumed', async () => {
    await using dir = await tempDir()
    const id = await runUntilBegun(dir)
    {
      await using home = await life(dir, never)
      await home.kernel.invoke('agents.pause', { id })
    }
    await using home = await life(dir, () => finish())
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(home.server.requests).toEqual([])
    expect(await detail(home, id)).toMatchObject({ status: 'paused', next: { at: null, reason: /paused/ } as never })
    await home.kernel.invoke('agents.resume', { id })
    await waitForCompletedGoal(Object.assign(home, { id }))
  })

  const kept = [{ preserve_active_goals_on_restart: true }, { preserve_active_goals_on_restart: false }]
  it.each(kept)('keeps an agent waiting for its approval, and an approved call runs (%j)', async daemon => {
    await using dir = await tempDir()
    const config = { approval: { enabled: true }, daemon }
    const asks: Script = request =>
      asksForGoal(request) ? goalAnswer('Send word to Ann') : toolCall('send', { to: 'ann' })
    let id = ''
    let approval_id = ''
    {
      await using home = await life(dir, asks, { config })
      id = await spawn(home)
      approval_id = (await waitForPendingCall(home)).approval_id
    }
    await using home = await life(dir, () => finish(), { config })
    await runHeartbeat(home)
    expect(home.server.requests).toEqual([])
    expect(await detail(home, id)).toMatchObject({ status: 'waiting_approval', goal: 'Send word to Ann' })
    await decide(home, approval_id, { decision: 'approve' })
    await waitForCompletedGoal(Object.assign(home, { id }))
    expect(home.server.requests[0]?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: 'send ran 1' })
  })

  it('shows the model that the outcome of an interrupted tool call is unknown', async () => {
    await using dir = await tempDir()
    let started = 0
    const slow = tool({
      name: 'slow',
      description: 'Takes long.',
      parameters: z.object({}),
      execute: (_, { signal }) => {
        started++
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const builtins = [definePlugin({ name: 'slow', setup: svc => void svc.toolkit({ name: 'slow', tools: [slow] }) })]
    let id = ''
    {
      await using home = await life(
        dir,
        request => (asksForGoal(request) ? goalAnswer('Do the slow thing') : toolCall('slow', {})),
        { builtins },
      )
      id = await spawn(home)
      await until(() => started === 1)
    }
    await using home = await life(dir, () => finish(), { builtins })
    await runHeartbeat(home)
    await waitForCompletedGoal(Object.assign(home, { id }))
    expect(started).toBe(1)
    expect(home.server.requests[0]?.body.messages.at(-1)?.content).toMatch(/took effect is unknown/)
  })

  it('denies an approval that expired meanwhile at once', async () => {
    await using dir = await tempDir()
    const config = { approval: { enabled: true, timeout_cycles: 2 } }
    const asks: Script = request =>
      asksForGoal(request) ? goalAnswer('Send word to Ann') : toolCall('send', { to: 'ann' })
    let id = ''
    {
      await using home = await life(dir, asks, { config })
      id = await spawn(home)
      await waitForPendingCall(home)
    }
    await using home = await life(dir, () => finish(), { config })
    home.clock.jump(3_600_000)
    await runHeartbeat(home)
    await until(async () => (await pending(home)).length === 0)
    await waitForCompletedGoal(Object.assign(home, { id }))
  })

  it('does not run a call whose approval is pending when approvals are disabled', async () => {
    await using dir = await tempDir()
    const asks: Script = request =>
      asksForGoal(request) ? goalAnswer('Send word to Ann') : toolCall('send', { to: 'ann' })
    let id = ''
    {
      await using home = await life(dir, asks, { config: { approval: { enabled: true } } })
      id = await spawn(home)
      await waitForPendingCall(home)
    }
    await using home = await life(dir, never, { config: { approval: { enabled: false } } })
    await runHeartbeat(home)
    expect((await detail(home, id)).status).toBe('waiting_approval')
    expect(home.server.requests).toEqual([])
  })
})

describe('a goal', () => {
  it('is abandoned by its id, with all others of its agent, or with all goals', async () => {
    await using dir = await tempDir()
    await using home = await life(dir, request =>
      asksForGoal(request) ? goalAnswer('') : toolCall('look', { n: request.n }),
    )
    const ids = [await spawn(home), await spawn(home)]
    for (const id of ids) {
      for (const objective of ['Count the spoons', 'Count the forks'])
        await home.kernel.invoke('goals.add', { id, objective })
    }
    const [one, two] = ids as [string, string]
    const states = async (id: string) => (await goalsOf(home, id)).map(goal => goal.status)
    const [first] = await goalsOf(home, one)
    await home.kernel.invoke('goals.abandon_all', { goal_id: first?.goal_id })
    expect((await states(one)).sort()).toEqual(['abandoned', 'active'])
    await expect(home.kernel.invoke('goals.abandon_all', { goal_id: first?.goal_id })).rejects.toMatchObject({
      code: 'goal_ended',
    })
    await home.kernel.invoke('goals.abandon_all', { agent: one, reason: 'enough' })
    expect(await states(one)).toEqual(['abandoned', 'abandoned'])
    expect(await states(two)).toEqual(['active', 'active'])
    await home.kernel.invoke('goals.abandon_all', { all: true })
    expect(await states(two)).toEqual(['abandoned', 'abandoned'])
    await expect(home.kernel.invoke('goals.abandon_all', {})).rejects.toMatchObject({ code: 'name_a_goal' })
  })

  it('is pursued by priority, even in the middle of another one', async () => {
    await using dir = await tempDir()
    let release = () => {}
    await using home = await life(dir, async request => {
      if (asksForGoal(request)) return goalAnswer('')
      if (request.prompt.includes('Goal: Put out the fire')) return finish('it is out')
      await new Promise<void>(resolve => {
        release = resolve
      })
      return toolCall('look', { n: request.n })
    })
    const id = await spawn(home)
    await waitUntilIdle(home)
    await home.kernel.invoke('goals.add', { id, objective: 'Polish the silver' })
    await home.clock.advance(1_000)
    await until(() => home.server.requests.some(({ prompt }) => prompt.includes('Goal: Polish')))
    const urgent = (await home.kernel.invoke('goals.add', { id, objective: 'Put out the fire', priority: 9 })) as {
      goal_id: string
    }
    release()
    await until(
      async () => (await goalsOf(home, id)).find(goal => goal.goal_id === urgent.goal_id)?.status === 'completed',
    )
    const polish = (await goalsOf(home, id)).find(goal => goal.objective === 'Polish the silver')
    expect(polish).toMatchObject({ status: 'active', steps_completed: 1, origin: 'operator' })
    expect(await home.kernel.invoke('goals.update', { goal_id: polish?.goal_id, priority: 1 })).toMatchObject({
      priority: 1,
    })
    await expect(home.kernel.invoke('goals.update', { goal_id: urgent.goal_id, priority: 1 })).rejects.toMatchObject({
      status: 409,
    })
  })

  it('waits for its subgoals, reads their results, and cannot finish before them', async () => {
    await using dir = await tempDir()
    let divided = false
    await using home = await life(dir, request => {
      if (asksForGoal(request))
        return goalAnswer(request.prompt.includes('Recent goals') ? '' : 'Tidy up the whole house')
      if (request.prompt.includes('Goal: Tidy up the kitchen')) return finish('the kitchen shines')
      if (request.prompt.includes('Goal: Tidy up the cellar')) return finish('the cellar is empty')
      if (divided) return finish('all of it')
      divided = true
      return {
        ...toolCall('add_subgoals', { objectives: ['Tidy up the kitchen', 'Tidy up the cellar'] }),
        tool_calls: [
          ...toolCall('add_subgoals', { objectives: ['Tidy up the kitchen', 'Tidy up the cellar'] }).tool_calls,
          ...finish('too early').tool_calls,
        ],
      }
    })
    const id = await spawn(home)
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect((await goalsOf(home, id)).map(goal => goal.status)).toEqual(['completed', 'completed', 'completed'])
    const goals = (await goalsOf(home, id)).sort(
      (a, b) => Date.parse(String(a.completed_at)) - Date.parse(String(b.completed_at)),
    )
    const parent = goals.find(goal => goal.parent_goal_id === null)
    expect(parent?.result).toBe('all of it')
    const order = home.server.requests.map(({ prompt }) => /Goal: Tidy up the (\w+)/.exec(prompt)?.[1]).filter(Boolean)
    expect(order).toEqual(['whole', 'kitchen', 'cellar', 'whole'])
    const last = home.server.requests.findLast(request => !asksForGoal(request))
    expect(last?.prompt).toContain('Subgoals of this goal are still active (2)')
    expect(last?.prompt).toMatch(
      /Subgoals have ended:\n- \[completed\] Tidy up the kitchen: the kitchen shines\n- \[completed\]/,
    )
  })

  it('is abandoned together with its subgoals', async () => {
    await using dir = await tempDir()
    await using home = await life(dir, request => (asksForGoal(request) ? goalAnswer('') : fault('hang')))
    const id = await spawn(home)
    const add = async (objective: string, parent_goal_id?: string) =>
      ((await home.kernel.invoke('goals.add', { id, objective, parent_goal_id })) as { goal_id: string }).goal_id
    const top = await add('Build a house')
    const below = await add('Build a wall', top)
    const deepest = await add('Lay a brick', below)
    await expect(add('Bake a brick', deepest)).rejects.toMatchObject({ code: 'too_many_subgoals' })
    await home.kernel.invoke('goals.abandon', { goal_id: top })
    expect((await goalsOf(home, id)).map(goal => goal.status)).toEqual(['abandoned', 'abandoned', 'abandoned'])
    await expect(add('Paint the wall', below)).rejects.toMatchObject({ code: 'goal_ended' })
  })
})

describe('the notice above the status of all agents', () => {
  it('names some of the problems of modules, in characters that a header can have, and without secrets', async () => {
    const read = async () => ({
      problems: ['a server can\u2019t start:\n/home/ren\u00e9 sk-canary-1234567890', 'b', 'c', 'd', 'e'],
    })
    const ailing = definePlugin({ name: 'ailing', setup: svc => svc.add(DaemonStatusParts, { name: 'ailing', read }) })
    const home = await startServer({ builtins: [ailing], env: { SOME_API_KEY: 'sk-canary-1234567890' } })
    home.kernel.heartbeat.start()
    const { status, headers } = await home.ask('/status')
    expect(status).toBe(200)
    expect(headers['x-notice']).toBe('a server can?t start:?/home/ren? ***; b; c; 2 more problems: svc daemon')
  })
})
