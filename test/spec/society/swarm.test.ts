import { describe, expect, it } from 'vitest'
import { endGoal, insertGoal } from '#core/goals/repository'
import type { MemoryRecord } from '#core/memory/contract'
import memory from '#core/memory/index'
import { definePlugin } from '#kernel'
import { Freeze } from '#platform/daemon/contract'
import { appendEvent, Store } from '#platform/store/contract'
import type { Delegation } from '#society/delegation/contract'
import delegation from '#society/delegation/index'
import type { Specialization, SwarmReport } from '#society/swarm/contract'
import swarm from '#society/swarm/index'
import delegationTools from '#tools/toolkits/delegation/index'
import { writeDirectly } from '../../support/direct-access.ts'
import { runHeartbeat, type Script, type TestHostOptions, toolCall, until } from '../../support/index.ts'
import { goalsOf, spawn } from '../core/models/model-host.ts'
import { asksForGoal, goalOf, isOf, NOTHING, testHostWithMail } from './mail-host.ts'

type Home = Awaited<ReturnType<typeof openHost>>

const ACTIVE = { config: { swarm: { policy: 'active' }, daemon: { heartbeat: 30 } } }
const openHost = (options: TestHostOptions = {}, script: Script = () => NOTHING) =>
  testHostWithMail(script, {
    ...options,
    builtins: [delegation, delegationTools, memory, swarm, ...(options.builtins ?? [])],
  })

let made = 0
/** Ends goals of an agent with the given outcomes, as a pursuit would. */
async function endGoals(
  { kernel, clock }: Home,
  agent_id: string,
  objective: string,
  how: string,
  result = 'so it was',
) {
  const store = kernel.use(Store)
  for (const each of how) {
    const goal_id = `goal-${++made}`
    const status = each === '+' ? 'completed' : 'abandoned'
    const goal = {
      goal_id,
      agent_id,
      objective,
      priority: 4,
      origin: 'operator',
      reasoning: null,
      parent_goal_id: null,
    }
    await store.apply([insertGoal({ ...goal, place: 0 })])
    clock.jump(2_000)
    const event = appendEvent({ type: `goal_${status}`, agent_id, data: { agent_id, goal_id } })
    await store.apply([endGoal({ goal_id, status, result, unconfirmed: false }), event])
  }
}
const specialization = ({ kernel }: Home, id: string) =>
  kernel.invoke('agents.specialization', { id }) as Promise<Specialization>
const reports = ({ kernel }: Home) => kernel.invoke('swarm.reports', {}) as Promise<SwarmReport[]>
const beaten = ({ kernel }: Home, n: number) => kernel.hooks.emit('beat', { beat: n })
const status = async ({ kernel }: Home) =>
  (await kernel.invoke('swarm.show', {})) as { in_force: SwarmReport['effects']; acts: boolean }
const memoriesOf = ({ kernel }: Home, id: string) => kernel.invoke('memory.list', { id }) as Promise<MemoryRecord[]>

describe("an agent's specialization", () => {
  it('is derived from the words of its finished goals', async () => {
    await using home = await openHost()
    const ann = await spawn(home, 'ann')
    const goals = [
      ['Fix the bug in the parser', 'coding'],
      ['Research the history of sheep', 'research'],
      ['Draft an essay about wool', 'writing'],
      ['Calculate how many sheep there are', 'analysis'],
      ['Review the code and the tests of the parser: report findings', 'review'],
      ['Answer the message of bob', 'communication'],
      ['Plan and schedule the week', 'planning'],
      ['Install and configure the backup', 'operations'],
      ['Earn money with a job', 'economy'],
      ['Do it', 'general'],
    ] as const
    for (const [objective] of goals) await endGoals(home, ann, objective, '+')
    const { types } = await specialization(home, ann)
    expect(types.map(({ task_type }) => task_type).sort()).toEqual(goals.map(([, type]) => type).sort())
  })

  it('has a success rate and mean duration for each task type, strengths and a score', async () => {
    await using home = await openHost()
    const ann = await spawn(home, 'ann')
    await endGoals(home, ann, 'Fix the bug', '++++')
    await endGoals(home, ann, 'Draft an essay', '+---')
    expect(await specialization(home, ann)).toEqual({
      agent_id: ann,
      goals: 8,
      strengths: ['coding'],
      // Four times the variance of 1 and 0.25.
      score: 0.5625,
      types: [
        { task_type: 'coding', goals: 4, completed: 4, rate: 1, mean_duration_ms: 2_000 },
        { task_type: 'writing', goals: 4, completed: 1, rate: 0.25, mean_duration_ms: 2_000 },
      ],
    })
  })

  it('counts goals that ended while the module was not loaded, each once, and only the last 200', async () => {
    await using first = await testHostWithMail(() => NOTHING)
    const ann = await spawn(first, 'ann')
    await endGoals(first, ann, 'Fix the bug', '+-')
    await first.kernel.close()
    await using home = await openHost({ root: first.root, seed: first.seed + 1 })
    await Promise.all([beaten(home, 1), beaten(home, 2), specialization(home, ann)])
    expect(await specialization(home, ann)).toMatchObject({ goals: 2, types: [{ rate: 0.5 }] })
    await endGoals(home, ann, 'Draft an essay', '+'.repeat(199))
    expect(await specialization(home, ann)).toMatchObject({ goals: 200, types: [{}, { task_type: 'coding', rate: 0 }] })
  })

  it('ranks the agents for a task, best first', async () => {
    await using home = await openHost()
    const [ann, bob, cleo] = [await spawn(home, 'ann'), await spawn(home, 'bob'), await spawn(home, 'cleo')]
    await endGoals(home, ann, 'Fix the bug', '++++++++++')
    await endGoals(home, bob, 'Fix the bug', '---')
    const route = (await home.kernel.invoke('swarm.route', { task: 'Fix another bug' })) as object[]
    expect(route).toMatchObject([
      { agent_id: ann, task_type: 'coding', score: 1, goals: 10 },
      { agent_id: cleo, score: 0.5, goals: 0 },
      { agent_id: bob, score: 0.3, goals: 3 },
    ])
  })
})

describe('swarm learning', () => {
  it('runs on every fifth heartbeat in one process only, and never while frozen', async () => {
    let frozen = true
    const freeze = definePlugin({
      name: 'frost',
      setup: svc => void svc.provide(Freeze, { isFrozen: async () => frozen, since: async () => (frozen ? 1 : null) }),
    })
    await using home = await openHost({ builtins: [freeze] })
    await beaten(home, 5)
    expect(await reports(home)).toEqual([])
    frozen = false
    await beaten(home, 10)
    expect(await reports(home)).toEqual([])
    const ann = await spawn(home, 'ann')
    await endGoals(home, ann, 'Fix the bug', '+')
    await using other = await openHost({ root: home.root, seed: home.seed + 1 })
    for (const n of [11, 12, 13, 14]) await beaten(home, n)
    await Promise.all([beaten(home, 15), beaten(other, 15), beaten(home, 15)])
    expect(await reports(home)).toMatchObject([
      { report_id: 'swr-15', beat: 15, policy: 'passive', agents: 1, figures: { success_rate: 1 }, effects: [] },
    ])
  })

  it('reports figures, changes, patterns and recommendations, and does not act by default', async () => {
    await using home = await openHost()
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    await endGoals(home, ann, 'Fix the bug', '++++')
    await endGoals(home, bob, 'Fix the bug', '++')
    await beaten(home, 5)
    await endGoals(home, bob, 'Draft an essay', '-----')
    await beaten(home, 10)
    const [second, first] = await reports(home)
    expect(first).toMatchObject({
      figures: { success_rate: 1, completed: 6, abandoned: 0, patterns: 1, mean_specialization: 0 },
      deltas: { success_rate: null, completed: 6 },
      patterns: [{ kind: 'shared_capability', task_type: 'coding', agents: [ann, bob].sort() }],
      recommendations: [],
    })
    expect(second).toMatchObject({
      figures: { success_rate: 0.5455, completed: 6, abandoned: 5, patterns: 2, mean_specialization: 0.5 },
      deltas: { success_rate: -0.4545, completed: 0, abandoned: 5 },
      recommendations: [
        { kind: 'routing', priority: 8, agent_id: bob },
        { kind: 'specialization', priority: 6, task_type: 'writing' },
      ],
      effects: [],
    })
    expect(await status(home)).toMatchObject({ acts: false, in_force: [] })
  })

  it('gives the same reports for the same seed and goals', async () => {
    const once = async () => {
      await using home = await openHost({ ...ACTIVE, seed: 7 })
      const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
      made = 0
      await endGoals(home, ann, 'Draft an essay', '+++')
      await endGoals(home, bob, 'Draft an essay', '-------------')
      await beaten(home, 5)
      return reports(home)
    }
    const first = await once()
    expect(first[0]!.effects.length).toBeGreaterThan(0)
    expect(await once()).toEqual(first)
  })
})

describe('an active policy', () => {
  /** Gives ann a good record in writing, and bob a bad one. */
  const unequal = async (home: Home) => {
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    await endGoals(home, ann, 'Draft an essay', '+++', 'I began with an outline.')
    await endGoals(home, bob, 'Draft an essay', '-'.repeat(12))
    await beaten(home, 5)
    return { ann, bob }
  }

  it('adds memories, hints, rests and routes, and shows them in swarm.show', async () => {
    await using home = await openHost(ACTIVE)
    const { ann, bob } = await unequal(home)
    const { in_force } = await status(home)
    expect(in_force.map(({ kind, agent_id, topic }) => [kind, agent_id, topic])).toEqual([
      ['memory', bob, expect.stringMatching(/^writing goal-/)],
      ['hint', bob, 'routing'],
      ['rest', bob, 'routing'],
      ['route', ann, 'writing'],
    ])
    expect((await memoriesOf(home, bob))[0]).toMatchObject({
      thought: expect.stringContaining('I began with an outline.'),
      metadata: { kind: 'swarm', report_id: 'swr-5' },
    })
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.some(request => isOf(request, 'bob')))
    const prompts = (name: string) => home.server.requests.filter(request => isOf(request, name)).map(r => r.prompt)
    expect(prompts('bob')[0]).toContain('Lately you abandoned more goals than you completed')
    expect(prompts('ann').join()).not.toContain('Lately you abandoned more goals')
    // A second report on the same figures has no effects.
    await beaten(home, 10)
    expect((await reports(home))[0]!.effects).toEqual([])
    expect(await memoriesOf(home, bob)).toHaveLength(1)
  })

  it('is undone by reverting its report, and does not come back while its reason lasts', async () => {
    await using home = await openHost(ACTIVE)
    const { bob } = await unequal(home)
    const reverted = (await home.kernel.invoke('swarm.revert', { report_id: 'swr-5' })) as SwarmReport
    expect(reverted.reverted_at).not.toBeNull()
    expect(new Set(reverted.effects.map(effect => effect.status))).toEqual(new Set(['reverted']))
    expect(await memoriesOf(home, bob)).toEqual([])
    expect((await status(home)).in_force).toEqual([])
    const again = (await home.kernel.invoke('swarm.revert', { report_id: 'swr-5' })) as SwarmReport
    expect(again).toEqual(reverted)
    await beaten(home, 10)
    expect((await status(home)).in_force).toEqual([])
    // Bob improves for a while: a reverted effect may come back when he fails again.
    await endGoals(home, bob, 'Draft an essay', '+'.repeat(20))
    await beaten(home, 15)
    await endGoals(home, bob, 'Draft an essay', '-'.repeat(30))
    await beaten(home, 20)
    expect((await status(home)).in_force.map(({ kind }) => kind)).toContain('hint')
    await expect(home.kernel.invoke('swarm.revert', { report_id: 'swr-1' })).rejects.toMatchObject({ status: 404 })
  })

  it('ends its effects, except memories, when their reason is gone', async () => {
    await using home = await openHost(ACTIVE)
    const { bob } = await unequal(home)
    await endGoals(home, bob, 'Draft an essay', '+'.repeat(30))
    await beaten(home, 10)
    expect((await status(home)).in_force.map(({ kind }) => kind)).toEqual(['memory'])
  })

  it('completes an interrupted effect once after a restart', async () => {
    await using home = await openHost(ACTIVE)
    const { bob } = await unequal(home)
    await home.kernel.close()
    // As if the process had died after storing the memory and before recording that.
    await writeDirectly(home.root, "UPDATE swarm_effects SET status = 'planned' WHERE kind = 'memory'")
    await using later = await openHost({ ...ACTIVE, root: home.root, seed: home.seed + 1 })
    await beaten(later, 6)
    expect(await memoriesOf(later, bob)).toHaveLength(1)
    const taught = (await status(later)).in_force.filter(({ kind }) => kind === 'memory')
    expect(taught).toMatchObject([{ status: 'in_force' }])
  })

  it('can be provided by a plugin', async () => {
    await using home = await openHost({
      config: { swarm: { policy: 'cheerful' } },
      plugins: {
        'cheerful.ts': `import { definePlugin, SwarmPolicies } from 'svc'
          export default definePlugin({ name: 'cheerful', setup(svc) {
            svc.add(SwarmPolicies, { name: 'cheerful', act: ({ specializations }) =>
              specializations.map(({ agent_id }) => ({ kind: 'hint', agent_id, topic: 'cheer', text: 'You do well.' })) })
          } })`,
      },
    })
    const ann = await spawn(home, 'ann')
    await endGoals(home, ann, 'Draft an essay', '+')
    await beaten(home, 5)
    expect((await status(home)).in_force).toMatchObject([{ kind: 'hint', agent_id: ann, text: 'You do well.' }])
  })
})

describe('delegation to best_peer', () => {
  /** Cleo gives the essay to best_peer, and gets its result. */
  const giving = (outcomes: string[]): Script => {
    let asked = 0
    return request => {
      if (asksForGoal(request))
        return isOf(request, 'cleo') && (!asked++ || request.prompt.includes('another'))
          ? goalOf('Have the essay written')
          : NOTHING
      const result = request.body.messages.findLast(({ role }) => role === 'tool')?.content
      if (result && isOf(request, 'cleo')) outcomes.push(result)
      if (result || !isOf(request, 'cleo')) return toolCall('finish_goal', { summary: 'An essay about sheep.' })
      return toolCall('delegate_task', { agent_name: 'best_peer', objective: 'Draft an essay about sheep' })
    }
  }

  it('gives a task to the agent with the best record in such work, while the policy is active', async () => {
    const outcomes: string[] = []
    await using home = await openHost(ACTIVE, giving(outcomes))
    const [ann, bob, cleo] = [await spawn(home, 'ann'), await spawn(home, 'bob'), await spawn(home, 'cleo')]
    await endGoals(home, bob, 'Draft an essay', '+++')
    await endGoals(home, ann, 'Draft an essay', '+--')
    home.kernel.heartbeat.start()
    for (let n = 0; n < 6 && outcomes.length === 0; n++) await runHeartbeat(home)
    expect(outcomes[0]).toContain(`${bob} accepted the task`)
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    const [given] = (await home.kernel.invoke('delegations.list', { id: cleo })) as Delegation[]
    expect(given).toMatchObject({ to_agent: bob, status: 'completed', result: 'An essay about sheep.' })
    expect((await goalsOf(home, ann)).every(({ origin }) => origin !== 'delegated')).toBe(true)
  })

  it('gives a review to an agent whose role fits, and never to the one that did the work', async () => {
    const REVIEW = 'Review the tool for counting sheep: its code, tests and readme'
    const outcomes: string[] = []
    let asked = 0
    const files = {
      'profiles/abe.yaml': 'name: abe\nrole: writes programs\n',
      'profiles/zoe.yaml': 'name: zoe\nrole: Reviewer who reads closely\n',
    }
    await using home = await openHost({ ...ACTIVE, files }, request => {
      if (asksForGoal(request)) return isOf(request, 'cleo') && !asked++ ? goalOf('Have a tool written') : NOTHING
      if (!isOf(request, 'cleo')) return toolCall('finish_goal', { summary: 'Done.' })
      const results = request.body.messages.filter(({ role }) => role === 'tool')
      outcomes.splice(0, outcomes.length, ...results.map(({ content }) => content ?? ''))
      const to = ['zoe', 'best_peer', 'best_peer'][results.length]
      return to
        ? toolCall('delegate_task', {
            agent_name: to,
            objective: [COUNTER, REVIEW, `${REVIEW}, again`][results.length]!,
          })
        : toolCall('finish_goal', { summary: 'Done.' })
    })
    const COUNTER = 'Write the tool for counting sheep'
    const [abe, zoe, cleo] = [await spawn(home, 'abe'), await spawn(home, 'zoe'), await spawn(home, 'cleo')]
    const route = () => home.kernel.invoke('swarm.route', { task: REVIEW }) as Promise<{ agent_id: string }[]>
    expect((await route()).map(({ agent_id }) => agent_id)[0]).toBe(zoe)
    home.kernel.heartbeat.start()
    await until(() => outcomes.length >= 3)
    expect(outcomes.slice(0, 3)).toEqual([
      expect.stringContaining(`${zoe} accepted`),
      expect.stringContaining(`${abe} accepted`),
      expect.stringContaining('Name an agent.'),
    ])
    const tool = home.server.requests
      .flatMap(({ body }) => body.tools ?? [])
      .find(each => each.function.name === 'delegate_task')
    expect([cleo, JSON.stringify(tool)]).toEqual([cleo, expect.stringContaining('best_peer: the agent')])
  })

  it('finds no agent while the policy is passive', async () => {
    const outcomes: string[] = []
    await using home = await openHost({ config: { daemon: { heartbeat: 30 } } }, giving(outcomes))
    for (const name of ['ann', 'cleo']) await spawn(home, name)
    home.kernel.heartbeat.start()
    for (let n = 0; n < 6 && outcomes.length === 0; n++) await runHeartbeat(home)
    expect(outcomes[0]).toContain('the swarm policy is passive')
    // The tool names best_peer from when a policy acts.
    const tool = () =>
      home.server.requests
        .flatMap(({ body }) => body.tools ?? [])
        .findLast(each => each.function.name === 'delegate_task')
    expect(JSON.stringify(tool())).not.toContain('best_peer')
    await home.kernel.config.patch({ swarm: { policy: 'active' } })
    await home.kernel.hooks.emit('config_changed', { keys: await home.kernel.config.reload() })
    await home.kernel.invoke('agents.nudge', { id: 'cleo', message: 'Have another one written' })
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(JSON.stringify(tool())).toContain('best_peer')
  })
})
