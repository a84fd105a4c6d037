import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { Operations } from '#kernel'
import { Toolkits } from '#tools/toolkits/contract'
import {
  AGENT_MODULES,
  asksForGoal,
  detail,
  goalsOf,
  spawn,
  testHostWithModel,
} from '../spec/core/models/model-host.ts'
import {
  memoryScheduler,
  runHeartbeat,
  type TestHost,
  testHost,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../support/index.ts'
import { example } from './example.ts'

const messagesOf = (home: TestHost, plugin: string) =>
  home.log.filter(line => line.plugin === plugin).map(line => line.msg)
const live = (home: TestHost) =>
  home.kernel.host.list().filter(({ state, error }) => state === 'live' && error === null)

/** Returns a script that sets a goal, makes the given tool call, and finishes. */
const callOnce = (first = toolCall('finish_goal', { summary: 'done', evidence: [] })) => {
  let called = false
  return (request: { prompt: string }) => {
    if (asksForGoal(request)) return text(JSON.stringify({ goal: 'measure the way' }))
    if (called) return toolCall('finish_goal', { summary: 'done', evidence: [] })
    called = true
    return first
  }
}

it('hook: each completed goal is applauded, and counted for its agent', async () => {
  await using home = await testHost({ plugins: example('hook.ts') })
  for (const agent_id of ['ada', 'ada', 'bob'])
    await home.kernel.hooks.emit('goal_completed', { agent_id, goal_id: 'g' })
  expect(messagesOf(home, 'applause').slice(-3)).toEqual([
    'well done: the first goal',
    'well done: 2 goals',
    'well done: the first goal',
  ])
})

describe('guard examples', () => {
  const generation = async (plugins: Record<string, string>, hours: number) => {
    await using home = await testHostWithModel(callOnce(), { plugins })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    home.clock.jump(hours * 3_600_000)
    await runHeartbeat(home)
    await runHeartbeat(home)
    return (await goalsOf(home, id)).length
  }

  it('fail-open: new goals are generated during office hours only', async () => {
    expect(await generation(example('guard-fail-open.ts'), 12)).toBeGreaterThan(0)
    expect(await generation(example('guard-fail-open.ts'), 20)).toBe(0)
  })

  it('fail-open: a guard that throws lets the phase pass', async () => {
    const [[name, source]] = Object.entries(example('guard-fail-open.ts')) as [[string, string]]
    const broken = source.replace(/shouldProceed: .*/, "shouldProceed() { throw new Error('no idea') },")
    expect(broken).not.toBe(source)
    expect(await generation({ [name]: broken }, 20)).toBeGreaterThan(0)
  })

  it('fail-closed: goals are pursued only with a permit, and a permit that cannot be read grants nothing', async () => {
    await using home = await testHostWithModel(callOnce(), { plugins: example('guard-fail-closed.ts') })
    const id = await spawn(home)
    home.kernel.heartbeat.start()
    const goalReached = async () => {
      await runHeartbeat(home)
      return (await goalsOf(home, id)).some(goal => goal.status === 'completed')
    }
    expect(await goalReached()).toBe(false)
    await home.write({ 'permit.json': '{ "granted": false }' })
    expect(await goalReached()).toBe(false)
    await home.write({ 'permit.json': 'yes, please' })
    expect(await goalReached()).toBe(false)
    expect(home.logged('guard "permit" failed in phase goal_pursuit').length).toBeGreaterThan(0)
    await home.write({ 'permit.json': '{ "granted": true }' })
    expect(await goalReached()).toBe(true)
  })
})

it('wake source: a file in the inbox wakes agents during their rest', async () => {
  const leases = memoryScheduler(['ada'])
  const config = { daemon: { heartbeat: 3600 } }
  await using home = await testHost({ builtins: [leases.plugin], plugins: example('wake-source.ts'), config })
  await waitUntilIdle(home)
  await home.clock.advance(60_000)
  expect(leases.commits).toHaveLength(1)
  await home.write({ 'inbox/letter.txt': 'hello' })
  await until(async () => {
    await home.clock.advance(500)
    return leases.commits.length > 1
  })
  expect(home.clock.monotonic()).toBeLessThan(3_600_000)
})

it('goal strategy: idle agents take the next line of the list, and ask the model when it is empty', async () => {
  await using home = await testHostWithModel(callOnce(), {
    plugins: example('goal-strategy.ts'),
    files: { 'goals.txt': 'water the plants\n' },
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  for (let n = 0; n < 4; n++) await runHeartbeat(home)
  const objectives = (await goalsOf(home, id)).map(goal => goal.objective)
  expect(objectives).toContain('water the plants')
  expect(objectives).toContain('measure the way')
  expect(await readFile(join(home.root, 'goals.txt'), 'utf8')).toBe('')
})

it('toolkit: an agent that calls the tool gets its result', async () => {
  const call = toolCall('convert_distance', { value: 3, from: 'nmi', to: 'km' })
  await using home = await testHostWithModel(callOnce(call), { plugins: example('toolkit.ts') })
  await spawn(home)
  home.kernel.heartbeat.start()
  await runHeartbeat(home)
  await runHeartbeat(home)
  expect(home.server.requests.some(({ prompt }) => prompt.includes('5.556 km'))).toBe(true)
  const { tools } = home.kernel.points.find(Toolkits, 'distances')!
  await expect(async () => tools[0]!.execute({ value: -1, from: 'm', to: 'km' }, {} as never)).rejects.toThrow(
    'not negative',
  )
})

it('operation: one definition is a route, a command and an entry of the OpenAPI document', async () => {
  await using home = await testHostWithModel(callOnce(), { builtins: [rest], plugins: example('operation.ts') })
  await spawn(home)
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  expect(await fetch(`${url}/tally`).then(answer => answer.json())).toEqual({ agents: 1, goals: 0 })
  expect((await fetch(`${url}/tally?dead=maybe`)).status).toBe(422)
  const openapi = (await fetch(`${url}/openapi.json`).then(answer => answer.json())) as { paths: object }
  expect(openapi.paths).toHaveProperty('/tally')
  const definition = home.kernel.points.find(Operations, 'agents.tally')!
  expect(definition).toMatchObject({ cli: { usage: 'tally' }, mcp: true })
  expect(definition.render?.({ agents: 1, goals: 0 } as never)).toBe('1 agents, 0 goals')
})

it('service: agents are spawned from presets in code while the plugin is live, and from files afterwards', async () => {
  await using home = await testHostWithModel(callOnce(), { plugins: example('service.ts') })
  const id = await spawn(home, 'gardener')
  expect(await detail(home, id)).toMatchObject({ preset: 'gardener', role: 'Looks after a garden' })
  await expect(spawn(home, 'worker')).rejects.toThrow('there are: gardener, cook')
  await home.kernel.host.remove('team-presets')
  expect(await spawn(home, 'worker')).toMatch(/^worker-/)
})

it('config: values come from the file or the environment, and an edit applies while the daemon runs', async () => {
  const leases = memoryScheduler(['ada'])
  const config = (greeting: string) => `plugins:\n  config:\n    greeter:\n      greeting: ${greeting}\n`
  await using home = await testHost({
    builtins: [leases.plugin],
    plugins: example('config.ts'),
    config: config('Ahoy'),
  })
  await runHeartbeat(home)
  expect(messagesOf(home, 'greeter')).toContain('Ahoy, ada!')
  await home.write({ '.svc/config.yaml': config('Moin') })
  await runHeartbeat(home)
  await runHeartbeat(home)
  expect(messagesOf(home, 'greeter')).toContain('Moin, ada!')

  await using other = await testHost({
    builtins: [memoryScheduler(['ada']).plugin],
    plugins: example('config.ts'),
    env: { GREETING: 'Hello' },
  })
  await waitUntilIdle(other)
  expect(messagesOf(other, 'greeter')).toContain('Hello, ada!')
  await using third = await testHost({ plugins: example('config.ts'), config: config('[1, 2]') })
  expect(third.kernel.host.list()).toMatchObject([{ state: 'failed', error: expect.stringContaining('config.yaml:4') }])
})

it('resource: the server listens while the plugin is live, and its count survives an edit of the file', async () => {
  await using home = await testHost({ plugins: example('resource.ts') })
  const { hooks, host } = home.kernel
  const port = () =>
    Number(
      /"port":(\d+)/.exec(
        messagesOf(home, 'scoreboard')
          .filter(line => line.includes('port'))
          .at(-1)!,
      )![1],
    )
  const reach = () => hooks.emit('goal_completed', { agent_id: 'ada', goal_id: 'g' })
  await reach()
  expect(await readFrom(port())).toBe('1 goals\n')
  await home.write({ 'plugins/resource.ts': example('resource.ts')['resource.ts']!.replaceAll('goals\\n', 'GOALS\\n') })
  await host.apply()
  await reach()
  expect(await readFrom(port())).toBe('2 GOALS\n')
  const last = port()
  await host.remove('scoreboard')
  await expect(readFrom(last)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

it('model provider: an agent works with the model of the plugin', async () => {
  await using home = await testHost({ builtins: AGENT_MODULES, plugins: example('model-provider.ts') })
  const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'writer', model: 'parrot' })) as {
    agent_id: string
  }
  home.kernel.heartbeat.start()
  for (let n = 0; n < 3; n++) await runHeartbeat(home)
  // The parrot sets the same goal again once it is done: its first goal is the last of the list.
  const goals = await goalsOf(home, agent_id)
  expect(goals.at(-1)).toMatchObject({ objective: 'Repeat what was said last', status: 'completed' })
  const { providers } = (await home.kernel.invoke('models.list')) as {
    providers: { name: string; notice: string | null }[]
  }
  expect(providers.find(({ name }) => name === 'parrot')).toMatchObject({ notice: 'repeats its input' })
})

it('point: what one plugin adds, another shows, as long as both are loaded', async () => {
  const plugins = example('point/_announcements.ts', 'point/bulletin.ts', 'point/agents-at-work.ts')
  await using home = await testHost({ plugins })
  expect(live(home).map(({ name }) => name)).toEqual(['agents-at-work', 'bulletin'])
  expect(await home.kernel.invoke('bulletin.show')).toEqual(['0 agents are at work.', 'Welcome to the bulletin.'])
  await home.kernel.host.remove('agents-at-work')
  expect(await home.kernel.invoke('bulletin.show')).toEqual(['Welcome to the bulletin.'])
})

function readFrom(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    connect(port, '127.0.0.1')
      .setEncoding('utf8')
      .on('data', part => {
        text += part
      })
      .on('error', reject)
      .on('end', () => resolve(text))
  })
}
