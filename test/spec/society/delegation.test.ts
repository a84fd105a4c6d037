import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SubAgent } from '#core/sub-agents/contract'
import subAgents from '#core/sub-agents/index'
import { definePlugin } from '#kernel'
import sandbox from '#safety/sandbox/index'
import type { Delegation } from '#society/delegation/contract'
import delegation from '#society/delegation/index'
import delegationTools from '#tools/toolkits/delegation/index'
import {
  type Answer,
  type ModelServerRequest,
  runHeartbeat,
  type TestHostOptions,
  tempDir,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../../support/index.ts'
import { detail, goalsOf, spawn } from '../core/models/model-host.ts'
import { asksForGoal, goalOf, isOf, messages, NOTHING, send, testHostWithMail } from './mail-host.ts'

const COUNT = 'Count the sheep in the field'

/** Ann delegates once with these arguments, Bob does what `bob` returns, and then both finish. */
const delegating = (args: object, bob: () => Answer = () => toolCall('finish_goal', { summary: 'Seven sheep.' })) => {
  let asked = 0
  return (request: ModelServerRequest) => {
    if (asksForGoal(request))
      return isOf(request, 'ann') && !asked++ ? goalOf('Find out how many sheep there are') : NOTHING
    if (!isOf(request, 'ann')) return bob()
    const called = request.body.messages.filter(({ role }) => role === 'tool')
    if (called.length === 0) return toolCall('delegate_task', { agent_name: 'bob', objective: COUNT, ...args })
    return toolCall('finish_goal', { summary: 'I know it.' })
  }
}
const openHost = (script: Parameters<typeof testHostWithMail>[0], options: TestHostOptions = {}) =>
  testHostWithMail(script, {
    config: { daemon: { heartbeat: 30 } },
    ...options,
    builtins: [delegation, delegationTools],
  })
const delegationsOf = ({ kernel }: Awaited<ReturnType<typeof openHost>>, id: string) =>
  kernel.invoke('delegations.list', { id }) as Promise<Delegation[]>

describe('a delegated task', () => {
  it('is acknowledged without a model call, becomes a goal of the other agent and reports its result once', async () => {
    await using home = await openHost(delegating({}))
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    await home.kernel.invoke('agents.pause', { id: bob })
    await home.kernel.invoke('agents.resume', { id: bob })
    home.kernel.heartbeat.start()
    await until(async () => (await delegationsOf(home, ann)).length === 1)
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    const [task] = await delegationsOf(home, ann)
    expect(task).toMatchObject({ from_agent: ann, to_agent: bob, objective: COUNT, waits: false, status: 'completed' })
    expect(
      (await goalsOf(home, bob)).map(({ objective, origin, priority, status }) => [
        objective,
        origin,
        priority,
        status,
      ]),
    ).toEqual([[COUNT, 'delegated', 8, 'completed']])
    const types = (await messages(home, ann)).map(({ type, body }) => `${type}: ${body}`).reverse()
    expect(types).toEqual([
      `delegate: ${COUNT}`,
      expect.stringMatching(/^ack: Accepted as dlg-/),
      'response: Seven sheep.',
    ])
    const opening = home.server.requests.find(r => isOf(r, 'bob') && r.prompt.includes(`Goal: ${COUNT}`))
    expect(opening?.prompt).toContain(
      `ann (${ann}) delegated this goal to you. Its workspace is not yours. It reads only`,
    )
    // The result reaches the delegating agent once, as a message.
    const reports = home.server.requests.filter(
      r => isOf(r, 'ann') && r.body.messages.at(-1)?.content?.includes('Seven sheep.'),
    )
    expect(reports).toHaveLength(1)
  })

  it('shows its details to the other agent under a short objective', async () => {
    const details = `Each field:\n\n${Array.from({ length: 300 }, (_, n) => `- field ${n}`).join('\n')}`
    await using home = await openHost(delegating({ details }))
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    home.kernel.heartbeat.start()
    for (let n = 0; n < 6 && (await goalsOf(home, bob))[0]?.status !== 'completed'; n++) await runHeartbeat(home)
    expect((await goalsOf(home, bob)).map(({ objective }) => objective)).toEqual([COUNT])
    const opening = home.server.requests.find(r => isOf(r, 'bob') && r.prompt.includes(`Goal: ${COUNT}`))
    expect(opening?.prompt).toContain(
      `Goal: ${COUNT}\n\nThe details of this goal stand between <<< and >>>.\n<<<\n${details}\n>>>\n\nann (${ann}) delegated`,
    )
    // A long message of the operator loses nothing either.
    await send(home, bob, `Shear ${'the sheep, '.repeat(60)}and sweep.`, { type: 'delegate' })
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    const sheared = home.server.requests.find(r => isOf(r, 'bob') && r.prompt.includes('Goal: Shear'))
    expect(sheared?.prompt).toMatch(
      /Goal: Shear .*…\n\nThe details of this goal stand[^<]*<<< and >>>\.\n<<<\nShear .*and sweep\.\n>>>/,
    )
  })

  it('with `wait` parks the goal that needs it, which then continues with the result', async () => {
    let release = false
    await using home = await openHost(
      delegating({ wait: true }, () =>
        release
          ? toolCall('finish_goal', { summary: 'Seven sheep.' })
          : toolCall('check_inbox', { unread_only: release }),
      ),
    )
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    home.kernel.heartbeat.start()
    await until(async () => (await delegationsOf(home, ann)).length === 1)
    await runHeartbeat(home)
    expect(await detail(home, ann)).toMatchObject({ status: 'waiting', waiting_for: expect.stringContaining('waits') })
    release = true
    for (let n = 0; n < 8 && (await goalsOf(home, ann))[0]?.status === 'active'; n++) await runHeartbeat(home)
    expect((await goalsOf(home, ann)).map(({ status }) => status)).toEqual(['completed'])
    expect((await goalsOf(home, bob)).map(({ status }) => status)).toContain('completed')
    const reports = home.server.requests.filter(
      r => isOf(r, 'ann') && r.prompt.includes('Goals that this goal waited for have ended'),
    )
    expect(reports.length).toBeGreaterThan(0)
    expect(reports[0]!.prompt).toContain('Seven sheep.')
    expect(await delegationsOf(home, ann)).toMatchObject([
      { waits: true, status: 'completed', result: expect.stringContaining('Seven') },
    ])
    expect((await detail(home, ann)).waiting_for).toBeNull()
  })

  it.each([true, false])(
    'returns the files that its evidence names, if only its agent can read them (wait: %s)',
    async wait => {
      await using shared = await tempDir({ 'field.md': 'green' })
      const evidence = ['count.md', 'field.md', 'sheep', '`npm test`']
      const script = delegating({ wait }, () => toolCall('finish_goal', { summary: 'Seven sheep.', evidence }))
      const builtins = [sandbox, delegation, delegationTools]
      const config = { daemon: { heartbeat: 30 } }
      await using home = await testHostWithMail(script, { config, builtins, env: { PATH: process.env.PATH! } })
      const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
      const own = join(home.kernel.project.workspaces, bob)
      await mkdir(join(own, 'sheep'), { recursive: true })
      await writeFile(join(own, 'count.md'), 'Seven.')
      const folder = { path: await realpath(shared.path), access: 'read-only' }
      for (const id of [ann, bob]) await home.kernel.invoke('agents.update', { id, folders: [folder] })
      home.kernel.heartbeat.start()
      for (let n = 0; n < 8 && (await goalsOf(home, ann))[0]?.status !== 'completed'; n++) await runHeartbeat(home)
      const copy = join(home.kernel.project.workspaces, ann, 'inbox', bob, 'count.md')
      expect(await readFile(copy, 'utf8')).toBe('Seven.')
      expect(await readdir(dirname(copy))).toEqual(['count.md'])
      const reports = home.server.requests.filter(
        r => isOf(r, 'ann') && r.prompt.includes(`Files, copied to ann: ${copy}`),
      )
      expect(reports.length).toBeGreaterThan(0)
    },
  )

  it('of a sub-agent returns files, too', async () => {
    let asked = 0
    const task = { name: 'scout', role: 'looks around', task: COUNT }
    const builtins = [sandbox, delegation, subAgents]
    await using home = await testHostWithMail(
      request => {
        if (asksForGoal(request))
          return isOf(request, 'ann') && !asked++ ? goalOf('Find out how many sheep there are') : NOTHING
        if (isOf(request, 'scout')) return toolCall('finish_goal', { summary: 'Seven sheep.', evidence: ['count.md'] })
        const called = request.body.messages.filter(({ role }) => role === 'tool')
        if (called.length === 0) return toolCall('spawn_sub_agent', task)
        return request.prompt.includes('Seven sheep.')
          ? toolCall('finish_goal', { summary: 'Seven.' })
          : text('I wait.')
      },
      { config: { daemon: { heartbeat: 30 } }, builtins },
    )
    const ann = await spawn(home, 'ann')
    home.kernel.heartbeat.start()
    await until(async () => (await goalsOf(home, ann))[0]?.waits_for != null)
    const [scout] = (await home.kernel.invoke('sub_agents.list', { id: ann })) as SubAgent[]
    const own = join(home.kernel.project.workspaces, scout!.sub_agent_id)
    await mkdir(own, { recursive: true })
    await writeFile(join(own, 'count.md'), 'Seven.')
    for (let n = 0; n < 6 && (await goalsOf(home, ann))[0]?.status !== 'completed'; n++) await runHeartbeat(home)
    const copy = join(home.kernel.project.workspaces, ann, 'inbox', scout!.sub_agent_id, 'count.md')
    expect(await readFile(copy, 'utf8')).toBe('Seven.')
    expect(home.server.requests.find(r => isOf(r, 'scout'))!.prompt).toContain('names are copied to your parent')
    expect(home.server.requests.some(r => isOf(r, 'ann') && r.prompt.includes(`copied to ann: ${copy}`))).toBe(true)
  })

  it('without `wait` is waited for by a goal whose agent only answers with text', async () => {
    let release = false
    let asked = 0
    await using home = await openHost(request => {
      if (asksForGoal(request))
        return isOf(request, 'ann') && !asked++ ? goalOf('Find out how many sheep there are') : NOTHING
      if (!isOf(request, 'ann'))
        return release ? toolCall('finish_goal', { summary: 'Seven sheep.' }) : toolCall('check_inbox', {})
      if (request.prompt.includes('Seven sheep.')) return toolCall('finish_goal', { summary: 'Seven.' })
      const results = request.body.messages.filter(({ role }) => role === 'tool')
      if (results.length === 0) return toolCall('delegate_task', { agent_name: 'bob', objective: COUNT })
      if (results.length === 1) return toolCall('finish_goal', { summary: 'Bob counts.' })
      return text('I wait for Bob.')
    })
    const [ann] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    home.kernel.heartbeat.start()
    await until(async () => (await detail(home, ann)).waiting_for !== null)
    const [task] = await delegationsOf(home, ann)
    // The end is refused once, because others still work for the goal.
    const refusal = home.server.requests.findLast(r => isOf(r, 'ann'))!.body.messages.at(-1)?.content
    expect(refusal).toContain(`has not ended: ${task!.delegation_id} of ${task!.to_agent}`)
    expect(task).toMatchObject({ waits: true, status: 'pending' })
    expect((await detail(home, ann)).waiting_for).toContain(`waits for ${task!.goal_id} of ${task!.to_agent}`)
    const before = home.server.requests.filter(r => isOf(r, 'ann')).length
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(home.server.requests.filter(r => isOf(r, 'ann'))).toHaveLength(before)
    release = true
    for (let n = 0; n < 8 && (await goalsOf(home, ann))[0]?.status === 'active'; n++) await runHeartbeat(home)
    expect(await goalsOf(home, ann)).toMatchObject([{ status: 'completed', result: 'Seven.', unconfirmed: false }])
  })

  it('lets the agent of the goal that waits read messages, and then waits on', async () => {
    let release = false
    let asked = 0
    await using home = await openHost(request => {
      if (asksForGoal(request))
        return isOf(request, 'ann') && !asked++ ? goalOf('Find out how many sheep there are') : NOTHING
      if (!isOf(request, 'ann'))
        return release ? toolCall('finish_goal', { summary: 'Seven sheep.' }) : toolCall('check_inbox', {})
      const last = request.body.messages.at(-1)?.content ?? ''
      if (request.prompt.includes('Seven sheep.')) return toolCall('finish_goal', { summary: 'Seven.' })
      if (last.includes('Your goal still waits')) return toolCall('check_inbox', {})
      const called = request.body.messages.some(({ role }) => role === 'tool')
      return called
        ? text('I tell it.')
        : toolCall('delegate_task', { agent_name: 'bob', objective: COUNT, wait: true })
    })
    const [ann] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    home.kernel.heartbeat.start()
    await until(async () => (await detail(home, ann)).waiting_for !== null)
    const ofAnn = () => home.server.requests.filter(r => isOf(r, 'ann'))
    const before = ofAnn().length
    await home.kernel.invoke('agents.nudge', { id: ann, message: 'Count the lambs too.' })
    await runHeartbeat(home)
    await until(() => ofAnn().length === before + 2)
    // One step reads the message and calls a tool, the next reads its result.
    expect(ofAnn()[before]!.prompt).toContain('Message from the operator: Count the lambs too.')
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect(ofAnn()).toHaveLength(before + 2)
    expect(await detail(home, ann)).toMatchObject({ status: 'waiting', waiting_for: expect.stringContaining('of bob') })
    release = true
    for (let n = 0; n < 8 && (await goalsOf(home, ann))[0]?.status === 'active'; n++) await runHeartbeat(home)
    expect(await goalsOf(home, ann)).toMatchObject([{ status: 'completed', result: 'Seven.' }])
  })

  it('is rejected by a paused agent and by one with too many active goals', async () => {
    await using home = await openHost(() => NOTHING, { config: { delegation: { max_active_goals: 1 } } })
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    await home.kernel.invoke('agents.pause', { id: bob })
    const to = async (id: string) => {
      const { answer } = await send(home, id, COUNT, { type: 'delegate' })
      return `${answer?.type}: ${answer?.body}`
    }
    expect(await to(bob)).toMatch(/^reject: .* is paused/)
    expect(await to(ann)).toMatch(/^ack: Accepted as dlg-/)
    expect(await to(ann)).toMatch(/^reject: .* has 1 active goal already\.$/)
    expect(home.server.requests).toEqual([])
    expect((await goalsOf(home, ann)).map(({ objective }) => objective)).toEqual([COUNT])
    expect(await goalsOf(home, bob)).toEqual([])
  })

  it('is rejected when it would go in a circle', async () => {
    let asked = 0
    const outcomes: string[] = []
    await using home = await openHost(request => {
      if (asksForGoal(request))
        return isOf(request, 'ann') && !asked++ ? goalOf('Find out how many sheep there are') : NOTHING
      const result = request.body.messages.findLast(({ role }) => role === 'tool')?.content
      if (result) outcomes.push(result)
      if (result) return toolCall('finish_goal', { summary: 'Done.' })
      return toolCall('delegate_task', { agent_name: isOf(request, 'ann') ? 'bob' : 'ann', objective: COUNT })
    })
    const [ann] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    home.kernel.heartbeat.start()
    for (let n = 0; n < 6 && outcomes.length < 2; n++) await runHeartbeat(home)
    expect(outcomes.join('\n')).toMatch(/declined the task: .*would be circular/)
    expect((await goalsOf(home, ann)).filter(({ origin }) => origin === 'delegated')).toEqual([])
  })

  it('is rejected while the same task is open, and when it was passed on unchanged too often', async () => {
    const outcomes: string[] = []
    await using home = await openHost(request => {
      const me = ['ann', 'bob', 'cleo', 'dora'].find(name => isOf(request, name))!
      if (asksForGoal(request))
        return me === 'ann' && outcomes.length === 0 ? goalOf('Have the sheep counted') : NOTHING
      const results = request.body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')
      if (results.length > 0) outcomes.push(`${me}: ${results.at(-1)}`)
      const to = { ann: 'bob', bob: 'cleo', cleo: 'dora' }[me]
      if (me === 'ann' && results.length === 1)
        return toolCall('delegate_task', { agent_name: 'cleo', objective: COUNT })
      return to && results.length === 0
        ? toolCall('delegate_task', { agent_name: to, objective: COUNT })
        : toolCall('finish_goal', { summary: 'Done.' })
    })
    for (const name of ['ann', 'bob', 'cleo', 'dora']) await spawn(home, name)
    home.kernel.heartbeat.start()
    for (let n = 0; n < 10 && !outcomes.some(line => line.startsWith('cleo')); n++) await runHeartbeat(home)
    expect(outcomes.find(line => line.startsWith('ann: cleo'))).toMatch(
      /declined the task: The same task is already delegated to bob-/,
    )
    expect(outcomes.find(line => line.startsWith('bob'))).toMatch(/cleo-\w+ accepted the task/)
    expect(outcomes.find(line => line.startsWith('cleo'))).toMatch(/declined the task: .*already delegated unchanged/)
  })

  it('is reported at once when it ends while another is reported', async () => {
    let abandoned = false
    const partner = definePlugin({
      name: 'partner',
      setup: svc =>
        svc.on('delegation_ended', async () => {
          if (abandoned) return
          abandoned = true
          await abandon(cleo)
        }),
    })
    await using home = await testHostWithMail(() => NOTHING, { builtins: [delegation, partner] })
    const abandon = (agent: string) => home.kernel.invoke('goals.abandon_all', { agent })
    const [bob, cleo] = [await spawn(home, 'bob'), await spawn(home, 'cleo')]
    for (const id of [bob, cleo]) await send(home, id, COUNT, { type: 'delegate' })
    await abandon(bob)
    const ended = [...(await delegationsOf(home, bob)), ...(await delegationsOf(home, cleo))]
    expect(ended.map(({ status }) => status)).toEqual(['failed', 'failed'])
  })

  it('is reported as failed when its agent is deleted or its timeout has passed', async () => {
    await using home = await openHost(() => NOTHING, {
      config: { daemon: { heartbeat: 30 }, delegation: { timeout: 60 } },
    })
    const [ann, bob] = [await spawn(home, 'ann'), await spawn(home, 'bob')]
    for (const id of [ann, bob]) await send(home, id, COUNT, { type: 'delegate' })
    await home.kernel.invoke('agents.delete', { id: ann })
    const answers = async () => (await messages(home, 'operator', { type: 'response' })).map(({ body }) => body)
    await until(async () => (await answers()).length === 1)
    await home.kernel.invoke('agents.pause', { id: bob })
    home.kernel.heartbeat.start()
    for (let n = 0; n < 4; n++) await runHeartbeat(home)
    expect((await answers()).reverse()).toEqual([
      expect.stringContaining('no longer exists'),
      expect.stringContaining('within 60 s'),
    ])
    expect((await goalsOf(home, bob)).map(({ status }) => status)).toEqual(['abandoned'])
    await waitUntilIdle(home)
  })
})
