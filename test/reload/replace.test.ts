import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Agents } from '#core/agents/contract'
import { type Goal, Goals, PromptSections } from '#core/goals/contract'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { Models } from '#core/models/contract'
import pluginsAdmin from '#interfaces/plugins-admin/index'
import { Operations, Services, type Token } from '#kernel'
import { Benchmark } from '#lab/benchmark/contract'
import { Budget } from '#safety/budget/contract'
import type { IdentityRecord } from '#society/identity/contract'
import { Toolkits } from '#tools/toolkits/contract'
import knowledge from '#tools/toolkits/knowledge/index'
import memoryTools from '#tools/toolkits/memory/index'
import { BUILTINS } from '../../builtins/index.ts'
import { example } from '../examples/example.ts'
import { asksForGoal, goalsOf, rows, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { use } from '../spec/use.ts'
import { runHeartbeat, type TestHost, testHost } from '../support/index.ts'
import { type ModelServer, type ModelServerRequest, text, toolCall } from '../support/model/model-server.ts'

const open: TestHost[] = []
afterEach(async () => {
  for (const host of open.splice(0)) await host.close()
})

/** All that is visible of the modules: operations, toolkits, services and events. */
function listedBy({ kernel }: TestHost) {
  const { points, services, hooks } = kernel
  return {
    operations: points
      .list(Operations)
      .map(({ key, owner }) => `${owner}: ${key}`)
      .sort(),
    toolkits: points
      .list(Toolkits)
      .map(({ key, owner, value }) => `${owner}: ${key} ${Object.keys(value.tools)}`)
      .sort(),
    services: services
      .list()
      .map(({ name }) => name)
      .sort(),
    events: [...hooks.events().keys()].sort(),
  }
}

/** The prompt sections of an agent with their text. */
async function sectionsOf({ kernel }: TestHost, agent_id: string) {
  const agent = await kernel.use(Agents).find(agent_id)
  const profile = await kernel.use(Agents).profileOf(agent)
  const sections = kernel.points.list(PromptSections)
  const texts = sections.map(async ({ key, value }) => `${key}: ${await value.text(agent, profile, {})}`)
  return (await Promise.all(texts)).sort()
}

/** The prompts that the model gets while an agent pursues a new goal. */
async function promptsOf(host: TestHost & { server: ModelServer }, id: string, objective = 'Look at the tide') {
  const before = host.server.requests.length
  await host.kernel.invoke('goals.add', { id, objective })
  await runHeartbeat(host)
  const asked = host.server.requests.slice(before).filter(request => !asksForGoal(request))
  // The list of the last goals grows with each of these goals.
  const lastGoals = /\n\nYour last goals, newest first:(?:\n- .*)+/
  return asked.map(({ body }) =>
    body.messages.map(each => ({ ...each, content: each.content?.replace(lastGoals, '') })),
  )
}

/** Source of a service that has each required method. */
function stub(token: Token<unknown>): string {
  const methods = Object.keys(new Services().methodsOf(token) ?? {})
  return `{ ${methods.map(method => `${method}() { throw new Error('${method} is a stub') }`).join(', ')} }`
}

const stateOf = ({ kernel }: TestHost, name: string) => kernel.host.list().find(each => each.name === name)?.state

/** A model that generates no goals, and finishes those that it is given. */
function finishes(request: ModelServerRequest) {
  if (asksForGoal(request)) return text('{"goal": null, "reasoning": "there is nothing to do"}')
  return toolCall('finish_goal', { summary: 'finished', evidence: [] })
}

/** Puts an example file into the plugins folder, and removes it again. */
function dropIn(host: TestHost, file: string) {
  const [name, source] = Object.entries(example(file))[0]!
  return {
    async put() {
      await host.write({ [`plugins/${name}`]: source })
      return host.kernel.host.apply()
    },
    async take() {
      await rm(join(host.root, 'plugins', name))
      return host.kernel.host.apply()
    },
  }
}

/** Repeats work until the returned function is called. */
function underLoad(work: () => Promise<unknown>) {
  let isOver = false
  let rounds = 0
  const done = (async () => {
    for (; !isOver; rounds++) {
      await work()
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  })()
  return async () => {
    isOver = true
    await done
    return rounds
  }
}

describe('a plugin that replaces a module', () => {
  it('memory: routes and tools use it under load, and memories are carried over in both directions', async () => {
    const host = await testHostWithModel(finishes, { builtins: [memory, memoryTools, knowledge, pluginsAdmin] })
    open.push(host)
    const agent_id = await spawn(host)
    const remembered = async () =>
      ((await host.kernel.invoke('memory.list', { id: agent_id })) as { thought: string }[]).map(
        ({ thought }) => thought,
      )
    await host.kernel.use(Memory).of(agent_id).store('The tide is high')
    const outdated = await host.kernel.use(Memory).of(agent_id).store('The tide is low')
    await host.kernel.use(Memory).of(agent_id).put('weather', 'It rains')
    host.kernel.heartbeat.start()
    const before = listedBy(host)
    const current = () => host.kernel.use(Memory).of(agent_id)
    /** Leaves out the memory of the reached goal and what the load stores; each memory orders equal matches as it likes. */
    const linesOfPrompts = async () => {
      const all = JSON.stringify(await promptsOf(host, agent_id)).split('\\n')
      const lines = all.filter(line => !line.startsWith('- now: busy'))
      const achievements = (await current().recent(50)).filter(({ thought }) => thought.startsWith('Completed: '))
      for (const { memory_id } of achievements) await current().forget(memory_id)
      return lines.sort()
    }
    const prompts = await linesOfPrompts()
    expect(prompts).toContain('- The tide is high (2026-01-01)')
    const stop = underLoad(async () => {
      await host.kernel.invoke('memory.list', { id: agent_id, query: 'tide' })
      await use(host, 'memory_set', { key: 'now', value: 'busy' }, { agent_id })
    })
    const file = dropIn(host, 'replace/memory.ts')

    expect(await file.put()).toMatchObject([{ plugin: 'memory-in-database', outcome: 'reloaded' }])
    expect(await host.kernel.invoke('plugins.reload', {})).toEqual([])
    expect([stateOf(host, 'memory'), stateOf(host, 'memory-in-database')]).toEqual(['replaced', 'live'])
    expect(listedBy(host)).toEqual(before)
    expect(await linesOfPrompts()).toEqual(prompts)
    expect(await remembered()).toContain('The tide is high')
    await current().store('The moon is full')
    expect(await current().forget(outdated)).toBe(true)
    await current().put('weather', 'It is sunny')
    expect(await host.kernel.use(Memory).relevant(agent_id, 'a full moon')).toEqual(['The moon is full (2026-01-01)'])

    expect(await file.take()).toMatchObject([{ plugin: 'memory-in-database', outcome: 'removed' }])
    expect([stateOf(host, 'memory'), stateOf(host, 'memory-in-database')]).toEqual(['live', undefined])
    expect(listedBy(host)).toEqual(before)
    expect(await remembered()).toEqual(expect.arrayContaining(['The tide is high', 'The moon is full', 'It is sunny']))
    for (const gone of ['The tide is low', 'It rains']) expect(await remembered()).not.toContain(gone)
    expect(await linesOfPrompts()).toEqual(prompts.filter(line => line !== '- The tide is low (2026-01-01)'))
    // What is deleted here does not come back from the database either.
    await current().forget('weather')
    await file.put()
    expect(await remembered()).toContain('The moon is full')
    expect(await remembered()).not.toContain('It is sunny')
    await file.take()
    expect(await stop()).toBeGreaterThan(2)
    expect(host.log.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('models: rules choose the model of each call, while prices, limits and routes stay', async () => {
    const rules = [{ kind: 'other', model: 'openai:cheap' }]
    const host = await testHostWithModel(finishes, {
      config: { plugins: { config: { 'model-router': { rules } } } },
    })
    open.push(host)
    const purpose = { agent_id: null, goal_id: null, cycle_num: 0, kind: 'other' as const }
    const ask = async () => {
      const messages = [{ role: 'user' as const, content: 'Hello' }]
      const call = { model: null, messages, tools: [], temperature: 0, max_tokens: 10, purpose }
      await host.kernel.use(Models).call({ ...call, signal: new AbortController().signal })
      return host.server.requests.at(-1)!.body.model
    }
    const before = listedBy(host)
    const agent_id = await spawn(host)
    host.kernel.heartbeat.start()
    const prompts = await promptsOf(host, agent_id)
    const file = dropIn(host, 'replace/model-router.ts')
    expect(await ask()).toBe('scripted')
    const stop = underLoad(ask)
    await file.put()
    expect(await ask()).toBe('cheap')
    expect(listedBy(host)).toEqual({ ...before, services: before.services })
    expect(await host.kernel.invoke('models.list')).toMatchObject({ default: { model: 'openai:scripted' } })
    await stop()
    expect(await promptsOf(host, agent_id)).toEqual(prompts)
    await file.take()
    expect(await ask()).toBe('scripted')
    expect(await promptsOf(host, agent_id)).toEqual(prompts)
    expect(listedBy(host)).toEqual(before)
  })

  it('goals: another loop pursues them under load, then the original one again, and no goal is lost', async () => {
    const host = await testHostWithModel(request =>
      request.prompt.includes('there is no second message') ? text('answered at once') : finishes(request),
    )
    open.push(host)
    const agents = [await spawn(host), await spawn(host), await spawn(host)]
    const before = listedBy(host)
    host.kernel.heartbeat.start()
    // All agents found nothing to do, and sleep.
    await runHeartbeat(host)
    const given: string[] = []
    const give = async (objective: string) => {
      for (const id of agents) given.push(((await host.kernel.invoke('goals.add', { id, objective })) as Goal).goal_id)
      await runHeartbeat(host)
    }
    const resultsOf = async (objective: string) => {
      const goals = (await Promise.all(agents.map(id => goalsOf(host, id)))).flat()
      return goals.filter(goal => goal.objective === objective).map(({ status, result }) => `${status}: ${result}`)
    }
    const all = (result: string) => agents.map(() => `completed: ${result}`)
    const file = dropIn(host, 'replace/goal-loop.ts')

    const prompts = await promptsOf(host, agents[0]!)
    await give('Before the swap')
    expect(await resultsOf('Before the swap')).toEqual(all('finished'))
    let n = 0
    let stop = underLoad(() => give(`Under load ${++n}`))
    expect(await file.put()).toMatchObject([{ plugin: 'goal-loop', outcome: 'reloaded' }])
    expect(listedBy(host)).toEqual(before)
    expect(await stop()).toBeGreaterThan(0)
    await give('With the other loop')
    expect(await resultsOf('With the other loop')).toEqual(all('answered at once'))

    stop = underLoad(() => give(`Under load ${++n}`))
    expect(await file.take()).toMatchObject([{ plugin: 'goal-loop', outcome: 'removed' }])
    expect(listedBy(host)).toEqual(before)
    expect(await stop()).toBeGreaterThan(0)
    await give('After the swap')
    expect(await resultsOf('After the swap')).toEqual(all('finished'))

    expect(await promptsOf(host, agents[0]!)).toEqual(prompts)
    const goals = (await Promise.all(agents.map(id => goalsOf(host, id)))).flat()
    const ended = goals.filter(({ status }) => status === 'completed').map(({ goal_id }) => goal_id)
    expect(given.filter(goal_id => !ended.includes(goal_id))).toEqual([])
    expect(await rows(host, 'SELECT goal_id FROM spend WHERE goal_id IS NOT NULL')).toHaveLength(
      given.length + 2 * prompts.length,
    )
    expect(host.log.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('is refused if it lacks a service, names an unknown module, or another one replaces that already', async () => {
    const host = await testHostWithModel(() => text('done'), { builtins: [memory] })
    open.push(host)
    const plugin = (name: string, replaces: string, services = '') =>
      `export default { name: '${name}', replaces: '${replaces}', setup: () => ({ ${services} }) }`
    const errorOf = (name: string) => host.kernel.host.list().find(each => each.name === name)?.error
    await host.write({
      'plugins/a.ts': plugin('bare', 'memory'),
      'plugins/b.ts': plugin('misspelt', 'memroy'),
      'plugins/c.ts': plugin('first', 'memory', `memory: ${stub(Memory)}`),
      'plugins/d.ts': plugin('second', 'memory', `memory: ${stub(Memory)}`),
    })
    await host.kernel.host.apply()
    expect(errorOf('bare')).toContain('lacks what "memory" has: provides memory; return it from setup')
    expect(errorOf('misspelt')).toContain('replaces an unknown module; did you mean "memory"?')
    expect(errorOf('second')).toContain('the name "first" is taken')
    expect(stateOf(host, 'first')).toBe('live')
    // An edit may end the replacement.
    await host.write({ 'plugins/c.ts': "export default { name: 'first', setup() {} }" })
    await rm(join(host.root, 'plugins/d.ts'))
    await host.kernel.host.apply()
    expect([stateOf(host, 'memory'), stateOf(host, 'first')]).toEqual(['live', 'live'])
  })

  it('is refused with the methods that its service lacks, and the module stays', async () => {
    const lacking = `export default { name: 'thrifty', replaces: 'budget', setup: () => ({
      budget: { status: async () => ({}), warnings: 'none' },
    }) }`
    const host = await testHostWithModel(finishes, { plugins: { 'thrifty.js': lacking } })
    open.push(host)
    const names = 'needs warnings(); isExceeded(); shareLeft(); reset()'
    expect(host.kernel.host.list().find(({ name }) => name === 'thrifty')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining(`the contribution of "thrifty" to the service budget ${names}`),
    })
    expect(stateOf(host, 'budget')).toBe('live')
    expect(await host.kernel.use(Budget).warnings()).toEqual(expect.any(Array))
  })

  it('is logged as loaded at a start, and as reloaded while the service runs', async () => {
    const source = `export default { name: 'other', replaces: 'memory', setup: () => ({ memory: ${stub(Memory)} }) }`
    const host = await testHost({
      builtins: BUILTINS,
      roles: ['server'],
      clock: 'system',
      plugins: { 'other.js': source },
    })
    open.push(host)
    const logged = () =>
      ['loaded (', 'reloaded ('].map(text => host.log.filter(({ msg }) => msg.startsWith(text)).length)
    expect(logged()).toEqual([1, 0])
    await host.kernel.host.apply('other')
    expect(logged()).toEqual([1, 1])
  })

  it('goals: a replacement may provide the service too, and the routes use it', async () => {
    const host = await testHostWithModel(finishes)
    open.push(host)
    const agent_id = await spawn(host)
    const before = listedBy(host)
    await host.write({
      'plugins/quiet.ts': `export default { name: 'quiet', replaces: 'goals', setup: () => ({
        goals: { ...${stub(Goals)}, add: () => { throw new Error('no more goals') } },
      }) }`,
    })
    expect(await host.kernel.host.apply()).toMatchObject([{ plugin: 'quiet', outcome: 'reloaded' }])
    expect(listedBy(host)).toEqual(before)
    const add = () => host.kernel.invoke('goals.add', { id: agent_id, objective: 'Look at the tide' })
    await expect(add()).rejects.toThrow('no more goals')
    await rm(join(host.root, 'plugins/quiet.ts'))
    await host.kernel.host.apply()
    expect(await add()).toMatchObject({ objective: 'Look at the tide' })
  })

  it('budget: its guard, routes and status use the service of the replacement', async () => {
    const host = await testHostWithModel(finishes)
    open.push(host)
    const agent_id = await spawn(host)
    const before = listedBy(host)
    const status = await host.kernel.invoke('budget.status', {})
    await host.write({
      'plugins/closed-budget.ts': `let spent = 3
        const status = async () => ({ ...${JSON.stringify(status)}, message: spent + ' spent', exceeded: spent > 0 })
        export default { name: 'closed-budget', replaces: 'budget', setup: () => ({
          budget: { ...${stub(Budget)}, status, warnings: async () => [], isExceeded: async () => spent > 0, reset: () => { spent = 0; return status() } },
        }) }`,
    })
    expect(await host.kernel.host.apply()).toMatchObject([{ plugin: 'closed-budget', outcome: 'reloaded' }])
    expect(listedBy(host)).toEqual(before)
    expect(await host.kernel.invoke('budget.status', {})).toMatchObject({ message: '3 spent' })
    host.kernel.heartbeat.start()
    expect(await promptsOf(host, agent_id)).toEqual([])
    expect(await host.kernel.invoke('budget.reset', {})).toMatchObject({ message: '0 spent', exceeded: false })
    await runHeartbeat(host)
    expect((await goalsOf(host, agent_id)).at(-1)).toMatchObject({ status: 'completed' })
    await rm(join(host.root, 'plugins/closed-budget.ts'))
    await host.kernel.host.apply()
    expect(await host.kernel.invoke('budget.status', {})).toMatchObject({
      message: expect.stringMatching(/^Unlimited/),
    })
  })

  it('identity, retention, benchmark: routes, prompts and toolkits stay and use the replacement', async () => {
    const host = await testHost({ builtins: BUILTINS, roles: ['server'], clock: 'system' })
    open.push(host)
    const agent_id = await spawn(host, 'coder')
    const before = listedBy(host)
    const identity = (await host.kernel.invoke('identity.get', { id: agent_id })) as IdentityRecord
    const report = await host.kernel.invoke('retention.run', { dry_run: true })
    const plugin = (module: string, service: string) =>
      `export default { name: 'other-${module}', replaces: '${module}', setup: () => ({ ${module}: ${service} }) }`
    const record = JSON.stringify({ ...identity, worldview: 'All is water' })
    await host.write({
      'plugins/a.ts': plugin(
        'identity',
        `{ of: async () => (${record}), biography: async () => 'short', summary: async () => ({}) }`,
      ),
      'plugins/b.ts': plugin('retention', `{ run: async () => ({ ...${JSON.stringify(report)}, rows: { dust: 7 } }) }`),
      'plugins/c.ts': plugin('benchmark', `{ ...${stub(Benchmark)}, scenarios: () => [] }`),
    })
    expect((await host.kernel.host.apply()).map(({ outcome }) => outcome)).toEqual(['reloaded', 'reloaded', 'reloaded'])
    expect(listedBy(host)).toEqual(before)
    expect(await host.kernel.invoke('identity.biography', { id: agent_id })).toBe('short')
    expect((await sectionsOf(host, agent_id)).join()).toContain('All is water')
    expect(await host.kernel.invoke('retention.run', {})).toMatchObject({ rows: { dust: 7 } })
    expect(await host.kernel.invoke('benchmark.scenarios', {})).toEqual([])
  })

  it('modules that change at a start only can be replaced by plugin files at a start', async () => {
    const fixed = BUILTINS.filter(module => module.fixed)
    expect(fixed.map(({ name }) => name)).toContain('store')
    const shared = globalThis as { modules?: unknown }
    shared.modules = Object.fromEntries(fixed.map(module => [module.name, module]))
    // Each works like its module, under its own name.
    const plugins = fixed.map(({ name }): [string, string] => [
      `other-${name}.ts`,
      `const { needs, config, section, setup } = globalThis.modules['${name}']
       export default { name: 'other-${name}', replaces: '${name}', needs, config, section: section ?? '${name}', setup }`,
    ])
    const host = await testHost({
      builtins: BUILTINS,
      roles: ['server', 'daemon'],
      clock: 'system',
      plugins: Object.fromEntries(plugins),
    })
    open.push(host)
    delete shared.modules
    expect(host.log.filter(({ level }) => level >= 50)).toEqual([])
    const states = fixed.map(({ name }) => [name, stateOf(host, name), stateOf(host, `other-${name}`)])
    expect(states).toEqual(fixed.map(({ name }) => [name, 'replaced', 'live']))
    const agent_id = await spawn(host, 'coder')
    expect(await host.kernel.invoke('agents.get', { id: agent_id })).toMatchObject({ agent_id })
    // The replacement stays until the next start, too.
    await rm(join(host.root, 'plugins/other-store.ts'))
    await host.kernel.host.apply()
    expect(stateOf(host, 'other-store')).toBe('live')
  })

  it('each module can be replaced while running, or says that it changes at a start only', async () => {
    const host = await testHost({ builtins: BUILTINS, roles: ['server'], clock: 'system' })
    open.push(host)
    const agent_id = await spawn(host, 'coder')
    const before = listedBy(host)
    const sections = await sectionsOf(host, agent_id)
    expect(sections.length).toBeGreaterThan(5)
    for (const { name, needs = [], config, setup, fixed } of BUILTINS) {
      const definition = { name: `other-${name}`, replaces: name, needs, ...(config ? { config } : {}), setup }
      const added = host.kernel.host.add(definition)
      if (fixed) {
        await expect(added).rejects.toThrow(`"${name}" can be replaced only at a start; restart with: svc restart`)
        continue
      }
      await added
      const unowned = ({ operations, toolkits, ...rest }: typeof before) => ({
        ...rest,
        operations: operations.map(each => each.replace(/^[\w-]+: /, '')).sort(),
        toolkits: toolkits.map(each => each.replace(/^[\w-]+: /, '')).sort(),
      })
      expect({ name, ...unowned(listedBy(host)) }).toEqual({ name, ...unowned(before) })
      expect({ name, sections: await sectionsOf(host, agent_id) }).toEqual({ name, sections })
      expect(stateOf(host, name)).toBe('replaced')
      await host.kernel.host.remove(`other-${name}`)
      expect({ name, ...listedBy(host) }).toEqual({ name, ...before })
      expect({ name, sections: await sectionsOf(host, agent_id) }).toEqual({ name, sections })
    }
  })
})
