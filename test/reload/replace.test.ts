import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { Models } from '#core/models/contract'
import { Operations } from '#kernel'
import { Toolkits } from '#tools/toolkits/contract'
import knowledge from '#tools/toolkits/knowledge/index'
import memoryTools from '#tools/toolkits/memory/index'
import { BUILTINS } from '../../builtins/index.ts'
import { example } from '../examples/example.ts'
import { spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { use } from '../spec/use.ts'
import { type TestHost, testHost } from '../support/index.ts'
import { text } from '../support/model/model-server.ts'

const open: TestHost[] = []
afterEach(async () => {
  for (const host of open.splice(0)) await host.close()
})

/** What people, programs and agents see of the modules: routes, commands, toolkits, services and events. */
function facesOf({ kernel }: TestHost) {
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

const stateOf = ({ kernel }: TestHost, name: string) => kernel.host.list().find(each => each.name === name)?.state

/** Puts the file of an example into the plugins' folder, and takes it out again. */
function dropIn(host: TestHost, file: string) {
  const [name, source] = Object.entries(example(`replace/${file}`))[0]!
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

/** Repeats work until the result is called. */
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

describe('a plugin that takes the place of a module', () => {
  it('memory: routes and tools use it under load, and what is remembered comes along, here and back', async () => {
    const host = await testHostWithModel(() => text('done'), { builtins: [memory, memoryTools, knowledge] })
    open.push(host)
    const agent_id = await spawn(host)
    const remembered = async () =>
      ((await host.kernel.invoke('memory.list', { id: agent_id })) as { thought: string }[]).map(
        ({ thought }) => thought,
      )
    await host.kernel.use(Memory).of(agent_id).store('The tide is high')
    const before = facesOf(host)
    const stop = underLoad(async () => {
      await host.kernel.invoke('memory.list', { id: agent_id, query: 'tide' })
      await use(host, 'memory_set', { key: 'now', value: 'busy' }, { agent_id })
    })
    const file = dropIn(host, 'memory.ts')

    expect(await file.put()).toMatchObject([{ plugin: 'memory-in-database', outcome: 'reloaded' }])
    expect([stateOf(host, 'memory'), stateOf(host, 'memory-in-database')]).toEqual(['replaced', 'live'])
    expect(facesOf(host)).toEqual(before)
    expect(await remembered()).toContain('The tide is high')
    await host.kernel.use(Memory).of(agent_id).store('The moon is full')
    expect(await host.kernel.use(Memory).relevant(agent_id, 'a full moon')).toEqual(['The moon is full'])

    expect(await file.take()).toMatchObject([{ plugin: 'memory-in-database', outcome: 'removed' }])
    expect([stateOf(host, 'memory'), stateOf(host, 'memory-in-database')]).toEqual(['live', undefined])
    expect(facesOf(host)).toEqual(before)
    expect(await remembered()).toEqual(expect.arrayContaining(['The tide is high', 'The moon is full']))
    expect(await stop()).toBeGreaterThan(2)
    expect(host.log.filter(({ level }) => level >= 40)).toEqual([])
  })

  it('models: rules choose the model of calls, and prices, limits and routes stay', async () => {
    const rules = [{ kind: 'other', model: 'openai:cheap' }]
    const host = await testHostWithModel(() => text('done'), {
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
    const before = facesOf(host)
    const file = dropIn(host, 'model-router.ts')
    expect(await ask()).toBe('scripted')
    const stop = underLoad(ask)
    await file.put()
    expect(await ask()).toBe('cheap')
    expect(facesOf(host)).toEqual({ ...before, services: before.services })
    expect(await host.kernel.invoke('models.list')).toMatchObject({ default: { model: 'openai:scripted' } })
    await file.take()
    await stop()
    expect(await ask()).toBe('scripted')
    expect(facesOf(host)).toEqual(before)
  })

  it('is refused with what it lacks, for a module that there is not, and beside another in its place', async () => {
    const host = await testHostWithModel(() => text('done'), { builtins: [memory] })
    open.push(host)
    const plugin = (name: string, replaces: string, services = '') =>
      `export default { name: '${name}', replaces: '${replaces}', setup: () => ({ ${services} }) }`
    const errorOf = (name: string) => host.kernel.host.list().find(each => each.name === name)?.error
    await host.write({
      'plugins/a.ts': plugin('bare', 'memory'),
      'plugins/b.ts': plugin('misspelt', 'memroy'),
      'plugins/c.ts': plugin('first', 'memory', 'memory: {}'),
      'plugins/d.ts': plugin('second', 'memory', 'memory: {}'),
    })
    await host.kernel.host.apply()
    expect(errorOf('bare')).toContain('lacks what "memory" provides memory; return it from setup')
    expect(errorOf('misspelt')).toContain('replaces no module; did you mean "memory"?')
    expect(errorOf('second')).toContain('the name "first" is taken')
    expect(stateOf(host, 'first')).toBe('live')
    // An edit may give the place back.
    await host.write({ 'plugins/c.ts': "export default { name: 'first', setup() {} }" })
    await rm(join(host.root, 'plugins/d.ts'))
    await host.kernel.host.apply()
    expect([stateOf(host, 'memory'), stateOf(host, 'first')]).toEqual(['live', 'live'])
  })

  it('each module can be replaced, or says that it changes at a start only', async () => {
    const host = await testHost({ builtins: BUILTINS, roles: ['server'], clock: 'system' })
    open.push(host)
    const before = facesOf(host)
    for (const { name, needs = [], config, setup, fixed } of BUILTINS) {
      const definition = { name: `other-${name}`, replaces: name, needs, ...(config ? { config } : {}), setup }
      const added = host.kernel.host.add(definition)
      if (fixed) {
        await expect(added).rejects.toThrow(`"${name}" changes at a start only: svc restart`)
        continue
      }
      await added
      const unowned = ({ operations, toolkits, ...rest }: typeof before) => ({
        ...rest,
        operations: operations.map(each => each.replace(/^[\w-]+: /, '')).sort(),
        toolkits: toolkits.map(each => each.replace(/^[\w-]+: /, '')).sort(),
      })
      expect({ name, ...unowned(facesOf(host)) }).toEqual({ name, ...unowned(before) })
      expect(stateOf(host, name)).toBe('replaced')
      await host.kernel.host.remove(`other-${name}`)
      expect({ name, ...facesOf(host) }).toEqual({ name, ...before })
    }
  })
})
