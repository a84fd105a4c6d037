import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type AgentSummary, Agents } from '#core/agents/contract'
import { agentDied, insertAgent } from '#core/agents/repository'
import { Store } from '#platform/store/contract'
import { writeDirectly } from '../../../support/direct-access.ts'
import { fault, runHeartbeat, testHost, text, toolCall, until } from '../../../support/index.ts'
import { AGENT_MODULES, asksForGoal, detail, spawn, testHostWithModel, WORKER } from '../models/model-host.ts'
import { run, TASK_MODULES } from '../tasks/tasks-host.ts'

const idle = () => text('{"goal": ""}')
const status = async (home: Parameters<typeof detail>[0]) =>
  (await home.kernel.invoke('agents.status')) as AgentSummary[]

describe('an agent', () => {
  it('is spawned from a preset with an id of its own, and is due at once', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    expect(id).toMatch(/^worker-[0-9a-f]{8}$/)
    expect(await detail(home, id)).toMatchObject({
      agent_id: id,
      name: 'worker',
      role: 'does what the script says',
      model: '',
      preset: 'worker',
      status: 'idle',
      goal: null,
      cycle_count: 0,
      cost_usd: 0,
      tokens: 0,
      last_active: null,
      created_at: home.clock.now().toISOString(),
    })
    home.kernel.heartbeat.start()
    expect(await until(home, 'cycle_end')).toEqual({ agent_id: id, cycle_num: 1, result: 'idle' })
  })

  it('is found by its id, or by its name if no other agent has it', async () => {
    await using home = await testHostWithModel(idle)
    const first = await spawn(home)
    expect((await detail(home, 'worker')).agent_id).toBe(first)
    const second = await spawn(home)
    const ambiguous = { code: 'ambiguous_agent', status: 409, message: expect.stringContaining(`${first}, ${second}`) }
    await expect(detail(home, 'worker')).rejects.toMatchObject(ambiguous)
    await expect(detail(home, 'nobody')).rejects.toMatchObject({ code: 'agent_not_found', status: 404 })
    expect((await status(home)).map(agent => agent.agent_id)).toEqual([first, second])
  })

  it('has a name of its own if it is given one, which no other live agent has', async () => {
    await using home = await testHostWithModel(idle)
    const spawnNamed = (name: string) =>
      home.kernel.invoke('agents.spawn', { preset: 'worker', name }) as Promise<AgentSummary>
    const other = await spawn(home)
    const { agent_id, name } = await spawnNamed('parser')
    expect(agent_id).toMatch(/^worker-[0-9a-f]{8}$/)
    expect(name).toBe('parser')
    expect((await detail(home, 'parser')).agent_id).toBe(agent_id)
    expect((await detail(home, 'worker')).agent_id).toBe(other)
    const agent = await home.kernel.use(Agents).find('parser')
    expect(await home.kernel.use(Agents).profileOf(agent)).toMatchObject({ name: 'parser', role: agent.role })
    for (const taken of ['parser', 'worker', other])
      await expect(spawnNamed(taken)).rejects.toMatchObject({ code: 'agent_name_taken', status: 409 })
    for (const invalid of ['', '*', 'two words', 'a/b', '-x', 'x'.repeat(65)])
      await expect(spawnNamed(invalid)).rejects.toMatchObject({ status: 422 })
    await spawn(home)
    await home.kernel.use(Store).apply([agentDied({ agent_id })])
    const spawned = await Promise.allSettled([1, 2, 3].map(() => spawnNamed('parser')))
    expect(spawned.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const { reason } of spawned.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[])
      expect(reason).toMatchObject({ code: 'agent_name_taken' })
    expect((await detail(home, 'parser')).agent_id).not.toBe(agent_id)
  })

  it('cannot be spawned from a missing or broken preset, or with an unknown model', async () => {
    await using home = await testHostWithModel(idle, { files: { 'profiles/broken.yaml': 'name: broken\nrole: [\n' } })
    const { kernel } = home
    await expect(kernel.invoke('agents.spawn', { preset: 'nothing' })).rejects.toMatchObject({
      code: 'profile_not_found',
      status: 404,
      message: expect.stringContaining('worker'),
    })
    await expect(kernel.invoke('agents.spawn', { preset: 'broken' })).rejects.toThrow(/broken\.yaml:\d/)
    await expect(kernel.invoke('agents.spawn', { preset: '../worker' })).rejects.toMatchObject({
      status: expect.toSatisfy((s: number) => s < 500),
    })
    await expect(kernel.invoke('agents.spawn', { preset: 'worker', model: 'acme:9000' })).rejects.toMatchObject({
      code: 'unknown_model',
    })
    await expect(kernel.invoke('agents.spawn', { preset: 'worker', colour: 'red' })).rejects.toThrow(
      /colour: is not a known field/,
    )
    expect(await status(home)).toEqual([])
  })

  it('changes its model and its role, one or both, and nothing else', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    const change = (changes: object) => home.kernel.invoke('agents.update', { id, ...changes })
    expect(await change({ role: 'sings' })).toMatchObject({ role: 'sings', model: '' })
    expect(await change({ model: 'openai:other' })).toMatchObject({ role: 'sings', model: 'openai:other' })
    await expect(change({})).rejects.toMatchObject({ code: 'nothing_to_change', status: 422 })
    await expect(change({ name: 'x' })).rejects.toMatchObject({ status: 422 })
    await expect(change({ model: 'two words' })).rejects.toMatchObject({ status: 422 })
    expect(await change({ model: '' })).toMatchObject({ role: 'sings', model: '' })
  })

  it('is paused alone or with all others, never both by one request', async () => {
    await using home = await testHostWithModel(idle)
    const [id] = [await spawn(home), await spawn(home)]
    const refused = { code: 'name_an_agent', status: 422 }
    await expect(home.kernel.invoke('agents.pause', { id, all: true })).rejects.toMatchObject(refused)
    await expect(home.kernel.invoke('agents.pause', { id: 'unknown', all: true })).rejects.toMatchObject(refused)
    await expect(home.kernel.invoke('agents.pause', {})).rejects.toMatchObject(refused)
    expect((await status(home)).map(agent => agent.status)).toEqual(['idle', 'idle'])
    await home.kernel.invoke('agents.pause', { id: '*' })
    expect((await status(home)).map(agent => agent.status)).toEqual(['paused', 'paused'])
  })

  it('is shown and changed while its preset is broken, also by a process that never read it before', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    const files = { 'profiles/worker.yaml': 'name: worker\nrole: does its work\nmax_steps: lots\n' }
    await using other = await testHostWithModel(idle, { root: home.root, files, roles: ['server'] })
    expect(await detail(other, id)).toMatchObject({ agent_id: id, parameters: null, persona: null })
    expect(await other.kernel.invoke('agents.update', { id, role: 'sings' })).toMatchObject({ role: 'sings' })
  })

  it('calls the model that it was changed to', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    await home.kernel.invoke('agents.update', { id, model: 'openai:other' })
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    expect(home.server.requests[0]?.body.model).toBe('other')
  })

  it('uses the current role of its preset in goals and tasks, until it gets a role of its own', async () => {
    await using home = await testHostWithModel(idle, { builtins: TASK_MODULES })
    const id = await spawn(home)
    await home.write({ 'profiles/worker.yaml': 'name: worker\nrole: sails' })
    await run(home, id, 'Sail.')
    await home.kernel.invoke('agents.update', { id, role: 'sings at sea' })
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await run(home, id, 'Sing.')
    expect(home.server.requests.map(({ prompt }) => /^Role: (.*)$/m.exec(prompt)?.[1])).toEqual([
      'sails',
      'sings at sea',
      'sings at sea',
    ])
  })
})

it('a sleep of the machine repeats no model call of a cycle', async () => {
  let answer = () => {}
  const waited = new Promise<void>(resolve => {
    answer = resolve
  })
  await using home = await testHostWithModel(() => waited.then(idle))
  await spawn(home)
  home.kernel.heartbeat.start()
  await home.server.request(1)
  home.clock.jump(8 * 3_600_000)
  await home.clock.advance(1_000)
  answer()
  expect(await until(home, 'cycle_end')).toMatchObject({ cycle_num: 1, result: 'idle' })
  expect(home.server.requests).toHaveLength(1)
})

describe('a paused agent', () => {
  it('runs no cycle until it is resumed, even after a restart', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    expect(await home.kernel.invoke('agents.pause', { id })).toEqual({ agent_id: id, status: 'paused' })
    expect(await home.kernel.invoke('agents.pause', { id })).toEqual({ agent_id: id, status: 'paused' })
    home.kernel.heartbeat.start()
    for (let n = 0; n < 3; n++) await runHeartbeat(home)
    expect((await detail(home, id)).cycle_count).toBe(0)
    await home.kernel.close()
    await using again = await testHost({
      builtins: AGENT_MODULES,
      root: home.root,
      clock: home.clock,
      env: { OPENAI_BASE_URL: home.server.url },
    })
    again.kernel.heartbeat.start()
    for (let n = 0; n < 3; n++) await runHeartbeat(again)
    expect((await detail(again, id)).cycle_count).toBe(0)
    const ended = until(again, 'cycle_end')
    expect(await again.kernel.invoke('agents.resume', { id })).toMatchObject({ agent_id: id })
    await ended
  })

  it('stays paused if it was paused in the middle of a cycle', async () => {
    await using home = await testHostWithModel(() => fault('hang'), {
      config: { model: { idle_timeout: 5 }, daemon: { max_retries: 0 } },
    })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.length === 1)
    expect((await detail(home, id)).status).toBe('working')
    await home.kernel.invoke('agents.pause', { id })
    expect((await detail(home, id)).status).toBe('paused')
    const ended = until(home, 'cycle_end')
    await home.clock.advance(40_000)
    await ended
    expect((await detail(home, id)).status).toBe('paused')
    const { cycle_count } = await detail(home, id)
    await runHeartbeat(home)
    expect((await detail(home, id)).cycle_count).toBe(cycle_count)
  })

  it('can be paused and resumed with all others, however many they are, and dead agents stay dead', async () => {
    await using home = await testHostWithModel(idle)
    const like = { name: 'worker', role: 'waits', model: '', preset: 'worker', spawned_by: null }
    const ids = Array.from({ length: 250 }, (_, n) => `worker-${n}`)
    await home.kernel
      .use(Store)
      .apply([...ids.map(agent_id => insertAgent({ agent_id, ...like })), agentDied({ agent_id: 'worker-3' })])
    const countWithStatus = async (wanted: string) => (await status(home)).filter(each => each.status === wanted).length
    await home.kernel.invoke('agents.pause', { all: true })
    expect([await countWithStatus('paused'), await countWithStatus('dead')]).toEqual([249, 1])
    await home.kernel.invoke('agents.resume', { id: '*' })
    expect([await countWithStatus('idle'), await countWithStatus('dead')]).toEqual([249, 1])
    await expect(home.kernel.invoke('agents.pause', {})).rejects.toThrow(
      'Name the agent to pause, or name all agents with * or --all; not both.',
    )
  })
})

describe('a deleted agent', () => {
  it('is removed with all of its rows, and its files are moved to the trash', async () => {
    await using home = await testHostWithModel(request =>
      asksForGoal(request)
        ? text('{"goal": "Write one file, only one"}')
        : toolCall('file_write', { path: 'a.txt', content: `a${request.n}` }),
    )
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'goal_max_steps')
    await home.kernel.heartbeat.stop()
    await home.kernel.invoke('agents.nudge', { id, message: 'one more' })
    await home.kernel.invoke('agents.delete', { id })
    const store = home.kernel.use(Store)
    for (const table of [
      'agents',
      'goals',
      'nudges',
      'goal_transcripts',
      'tool_calls',
      "leases WHERE kind = 'agent'",
    ]) {
      expect(await store.get(`SELECT count(*) AS left FROM ${table}`), table).toEqual({ left: 0 })
    }
    expect((await store.get<{ n: number }>('SELECT count(*) AS n FROM spend'))?.n).toBeGreaterThan(0)
    await expect(access(join(home.root, '.svc/workspaces', id))).rejects.toThrow()
    const [kept] = await readdir(join(home.root, '.svc/trash'))
    expect(await readdir(join(home.root, '.svc/trash', String(kept), 'workspaces'))).toEqual(['a.txt'])
    await expect(home.kernel.invoke('agents.delete', { id })).rejects.toMatchObject({ status: 404 })
  })

  it('is not brought back by the cycle that was running', async () => {
    await using home = await testHostWithModel(() => fault('hang'))
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(() => home.server.requests.length === 1)
    await home.kernel.invoke('agents.delete', { id })
    const ended = until(home, 'cycle_end')
    await home.clock.advance(40_000)
    expect((await ended).result).toBe('fenced')
    expect(await status(home)).toEqual([])
  })
})

describe('a dead agent', () => {
  it('can be shown and deleted, and nothing else', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    await writeDirectly(home.root, 'UPDATE agents SET died_at = 1 WHERE agent_id = ?', id)
    expect((await detail(home, id)).status).toBe('dead')
    for (const verb of ['pause', 'resume']) {
      await expect(home.kernel.invoke(`agents.${verb}`, { id })).rejects.toMatchObject({
        code: 'agent_dead',
        status: 409,
      })
    }
    await expect(home.kernel.invoke('agents.nudge', { id, message: 'wake up' })).rejects.toMatchObject({ status: 409 })
    home.kernel.heartbeat.start()
    await runHeartbeat(home)
    expect((await detail(home, id)).cycle_count).toBe(0)
    await home.kernel.invoke('agents.delete', { id })
    expect(await status(home)).toEqual([])
  })
})

describe('a nudge', () => {
  it('has 1 to 4000 characters, counted as code points, and is stored unchanged', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    const nudge = (message: unknown) =>
      home.kernel.invoke('agents.nudge', { id, message }) as Promise<{ nudge_id: string }>
    for (const message of ['x'.repeat(4001), '', ' \n ', 7, undefined])
      await expect(nudge(message)).rejects.toMatchObject({ status: 422 })
    const emoji = '🙂'.repeat(4000)
    expect((await nudge(emoji)).nudge_id).toMatch(/^nudge-[0-9a-f]{8}$/)
    await nudge('<b>\u0000\u001b[2J')
    const rows = await home.kernel
      .use(Store)
      .all<{ message: string }>('SELECT message FROM nudges ORDER BY length(message) DESC')
    expect(rows.map(row => row.message)).toEqual([emoji, '<b>\u0000\u001b[2J'])
  })

  it('wakes its agent, but not before its rest is over', async () => {
    await using home = await testHostWithModel(idle)
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await until(() => home.kernel.heartbeat.inFlight.length === 0)
    const before = home.clock.ms()
    await home.kernel.invoke('agents.nudge', { id, message: 'psst' })
    const next = Date.parse(String((await detail(home, id)).next_run_at)) - before
    expect(next).toBeGreaterThan(0)
    expect(next).toBeLessThanOrEqual(1000)
    const ended = until(home, 'cycle_end')
    await home.clock.advance(1500)
    await ended
    expect(home.server.requests.at(-1)?.prompt).toContain('- psst')
  })
})

describe('a broken preset', () => {
  it('leaves its agents on the last good copy and does not affect other agents', async () => {
    await using home = await testHostWithModel(idle, {
      files: { 'profiles/other.yaml': WORKER.replaceAll('worker', 'other') },
    })
    const id = await spawn(home)
    await spawn(home, 'other')
    home.kernel.heartbeat.start()
    await until(home, 'cycle_end')
    await home.write({ 'profiles/worker.yaml': 'name: worker\nrole: {{\n' })
    await runHeartbeat(home)
    await runHeartbeat(home)
    expect(home.logged('worker.yaml')).toHaveLength(1)
    expect((await status(home)).map(agent => agent.status)).toEqual(['idle', 'idle'])
    expect((await detail(home, id)).error).toBeNull()
  })
})
