import { expect, it } from 'vitest'
import { definePlugin, token } from '#kernel'
import { Guards } from '#platform/heartbeat/contract'
import { type Tool, Toolkits } from '#tools/toolkits/contract'
import { type TestHost, testHost, until } from '../support/index.ts'
import { drop, outcomeLines, saying, source, stateOf, word } from './sources.ts'

/** Lets plugin files and the test communicate: notes, and named gates that are opened or awaited. */
const noteService = () => {
  const notes: string[] = []
  const gates = new Map<string, () => void>()
  const value = {
    note: (text: string) => void notes.push(text),
    gate: (name: string) => new Promise<string>(resolve => gates.set(name, () => resolve(name))),
  }
  const provider = definePlugin({ name: 'control', setup: svc => void svc.provide(token('control'), value) })
  const open = async (name: string) => {
    await until(() => gates.has(name))
    gates.get(name)?.()
  }
  return { provider, notes, gates, open }
}
const CONTROL = "const control = svc.use({ name: 'control' })\n"

const toolOf = ({ kernel }: TestHost, name: string): Tool =>
  kernel
    .list(Toolkits)
    .flatMap(({ tools }) => tools)
    .find(each => each.name === name)!
const use = (tool: Tool, args: unknown = {}) => Promise.resolve(tool.execute(args as never, {} as never))
const slowTool = (version: string, more = '') =>
  source(
    'slow',
    `${CONTROL} svc.toolkit({ name: 'slow', tools: [tool({ name: 'wait', description: '', parameters: z.object({}),
       async execute() { await control.gate('${version}'); return '${version}' } })] })
     ${more}`,
  )
const resource = (name: string) =>
  `svc.start(async () => { control.note('start ${name}'); return () => control.note('stop ${name}') })`

it('a running call ends in the version in which it began, and a new call runs in the new version', async () => {
  const { provider, open } = noteService()
  await using home = await testHost({ builtins: [provider], plugins: { 'slow.ts': slowTool('one') } })
  const old = use(toolOf(home, 'wait'))
  await drop(home, { 'slow.ts': slowTool('two') })
  const next = use(toolOf(home, 'wait'))
  await open('two')
  expect(await next).toBe('two')
  await open('one')
  expect(await old).toBe('one')
})

it('a call that still runs in a replaced version after 30 s gets an error, and not before', async () => {
  const { provider, gates } = noteService()
  await using home = await testHost({ builtins: [provider], plugins: { 'slow.ts': slowTool('one') } })
  let failed: unknown
  use(toolOf(home, 'wait')).catch(error => {
    failed = error
  })
  await until(() => gates.has('one'))
  await drop(home, { 'slow.ts': slowTool('two') })
  await home.clock.advance(29_900)
  expect(failed).toBeUndefined()
  await home.clock.advance(200)
  expect(failed).toMatchObject({ code: 'plugin_gone' })
})

it('a tool that was looked up before the swap and is called after it runs in the new version', async () => {
  const { provider, open } = noteService()
  await using home = await testHost({ builtins: [provider], plugins: { 'slow.ts': slowTool('one') } })
  const before = toolOf(home, 'wait')
  await drop(home, { 'slow.ts': slowTool('two') })
  const called = use(before)
  await open('two')
  expect(await called).toBe('two')
  await drop(home, { 'slow.ts': source('slow') })
  await expect(use(before)).rejects.toMatchObject({ code: 'plugin_gone' })
})

it('arguments for the old version of a tool are checked against the new one', async () => {
  const add = (schema: string) =>
    source(
      'adder',
      `svc.toolkit({ name: 'adder', tools: [tool({ name: 'add', description: '', parameters: z.object(${schema}), execute: args => JSON.stringify(args) })] })`,
    )
  await using home = await testHost({ plugins: { 'adder.ts': add('{ a: z.string() }') } })
  const before = toolOf(home, 'add')
  await drop(home, { 'adder.ts': add('{ a: z.string(), b: z.number() }') })
  await expect(use(before, { a: 'x' })).rejects.toThrow(/b/)
  expect(await use(before, { a: 'x', b: 1 })).toBe('{"a":"x","b":1}')
})

it('an event that is emitted while a plugin is replaced is handled once, by one version, and counted', async () => {
  const counter = (version: string) =>
    source(
      'counter',
      `${CONTROL} let count = svc.previous ?? 0
       svc.on('beat', ({ beat }) => { count++; control.note('${version} ' + beat) })
       svc.handOver(() => count)
       svc.provide({ name: 'word' }, () => count)`,
      'state: z.number(),',
    )
  const { provider, notes, gates, open } = noteService()
  const plugins = { 'a-first.ts': source('a-first', `${CONTROL} svc.on('beat', () => control.gate('first'))`) }
  await using home = await testHost({ builtins: [provider], plugins: { ...plugins, 'counter.ts': counter('one') } })
  const { hooks } = home.kernel
  const first = hooks.emit('beat', { beat: 1 })
  await until(() => gates.has('first'))
  await drop(home, { 'counter.ts': counter('two') })
  await open('first')
  await first
  expect(notes).toEqual(['two 1'])
  gates.delete('first')
  const second = hooks.emit('beat', { beat: 2 })
  await open('first')
  await second
  expect(notes).toEqual(['two 1', 'two 2'])
  expect((word(home) as unknown as () => number)()).toBe(2)
})

it('an event that is emitted while a plugin is removed skips it, and its fail-closed guard vetoes nothing', async () => {
  const { provider, notes, open } = noteService()
  await using home = await testHost({
    builtins: [provider],
    plugins: {
      'a-first.ts': source('a-first', `${CONTROL} svc.on('beat', () => control.gate('first'))`),
      'late.ts': source(
        'late',
        `${CONTROL} svc.on('beat', () => control.note('late'))
         svc.guard('*', { shouldProceed: () => false }, { failClosed: true })`,
      ),
    },
  })
  const [guard] = home.kernel.list(Guards)
  const emitted = home.kernel.hooks.emit('beat', { beat: 1 })
  await home.kernel.host.remove('late')
  await open('first')
  await emitted
  expect(notes).toEqual([])
  expect(home.log.filter(({ level }) => level >= 40)).toEqual([])
  const gate = { phase: 'cleanup', agent_id: 'ada', cycle_num: 1, at: new Date() }
  expect(await guard?.guard.shouldProceed(gate)).toBe(true)
})

it('resources of the old version stop before those of the new one start, and calls wait meanwhile', async () => {
  const { provider, notes, open } = noteService()
  const starting = `svc.start(async () => { control.note('starting two'); await control.gate('up'); control.note('start two'); return () => {} })`
  await using home = await testHost({ builtins: [provider], plugins: { 'slow.ts': slowTool('one', resource('one')) } })
  const applied = drop(home, { 'slow.ts': slowTool('two', starting) })
  await until(() => notes.includes('starting two'))
  const called = use(toolOf(home, 'wait')).then(answer => void notes.push(`answer ${answer}`))
  await open('up')
  await open('two')
  await called
  expect(outcomeLines(await applied)).toEqual(['slow: reloaded'])
  expect(notes).toEqual(['start one', 'stop one', 'starting two', 'start two', 'answer two'])
})

it("a long call delays the new version's resources for a few seconds only, and still ends in its own version", async () => {
  const { provider, notes, gates, open } = noteService()
  const plugins = { 'slow.ts': slowTool('one', resource('one')) }
  await using home = await testHost({ builtins: [provider], plugins })
  const long = use(toolOf(home, 'wait'))
  await until(() => gates.has('one'))
  let applied = false
  const dropped = drop(home, { 'slow.ts': slowTool('two', resource('two')) }).then(() => {
    applied = true
  })
  await until(() => home.kernel.list(Toolkits).length > 0 && home.logged('runs ').length === 2)
  await until(async () => {
    await home.clock.advance(500)
    return applied
  })
  await dropped
  expect(notes).toEqual(['start one', 'stop one', 'start two'])
  await open('one')
  expect(await long).toBe('one')
})

it('a version whose resource fails to start is rolled back with the old state, and waiting calls go there', async () => {
  const counter = (version: string, start: string) =>
    source(
      'counter',
      `${CONTROL} let count = svc.previous ?? 0
       svc.toolkit({ name: 'counter', tools: [tool({ name: 'count', description: '', parameters: z.object({}), execute: () => '${version} ' + ++count })] })
       svc.handOver(() => count)
       ${start}`,
      'state: z.number(),',
    )
  const { provider, notes, open } = noteService()
  const plugins = { 'counter.ts': counter('one', resource('one')) }
  await using home = await testHost({ builtins: [provider], plugins })
  expect(await use(toolOf(home, 'count'))).toBe('one 1')
  const before = stateOf(home, 'counter')
  const bad = `svc.start(async () => { await control.gate('bad'); throw new Error('no luck') })`
  const applied = drop(home, { 'counter.ts': counter('two', bad) })
  await until(() => notes.includes('stop one'))
  const waiting = use(toolOf(home, 'count'))
  await open('bad')
  expect(outcomeLines(await applied)).toEqual(['counter: failed'])
  expect(await waiting).toBe('one 2')
  expect(notes).toEqual(['start one', 'stop one', 'start one'])
  expect(stateOf(home, 'counter')).toMatchObject({
    state: 'live',
    registered: before?.registered,
    error: expect.stringMatching(/counter\.ts:\d+\): no luck/),
  })
})

it('what a resource adds when it starts is there once, also after a rollback', async () => {
  const adding = (more: string) =>
    source(
      'adder',
      `svc.start(() => {
         svc.toolkit({ name: 'late', tools: [tool({ name: 'late', description: '', parameters: z.object({}), execute: () => 'late' })] })
         ${more}
       })`,
    )
  await using home = await testHost({ plugins: { 'adder.ts': adding('') } })
  const bad = adding("throw new Error('no luck')")
  expect(outcomeLines(await drop(home, { 'adder.ts': bad }))).toEqual(['adder: failed'])
  expect(stateOf(home, 'adder')).toMatchObject({ state: 'live', error: expect.stringContaining('no luck') })
  expect(await use(toolOf(home, 'late'))).toBe('late')
  expect(outcomeLines(await drop(home, { 'adder.ts': adding('// better') }))).toEqual(['adder: reloaded'])
  expect(home.kernel.list(Toolkits).map(({ name }) => name)).toEqual(['late'])
})

it('an old version that cannot start again either is reported as failed, and the file can be corrected', async () => {
  const once = `let starts = 0
    svc.start(() => { if (++starts > 1) throw new Error('only once') })`
  await using home = await testHost({ plugins: { 'sayer.ts': source('sayer', once) } })
  const bad = source('sayer', "svc.start(() => { throw new Error('no luck') })")
  expect(outcomeLines(await drop(home, { 'sayer.ts': bad }))).toEqual(['sayer: failed'])
  expect(home.logged('the previous version does not start: only once')).toHaveLength(1)
  expect(stateOf(home, 'sayer')).toMatchObject({ state: 'failed', error: expect.stringContaining('no luck') })
  expect(outcomeLines(await drop(home, { 'sayer.ts': saying('hello') }))).toEqual(['sayer: loaded'])
})

it('state is handed over if it fits the schema; otherwise the new version starts afresh and the log says so', async () => {
  const stateSource = (state: string, give: string) =>
    source('holder', `svc.provide({ name: 'word' }, svc.previous); svc.handOver(() => (${give}))`, state)
  const fits = 'state: z.object({ seen: z.number().default(0) }),'
  await using home = await testHost({ plugins: { 'holder.ts': stateSource('', '{ seen: 3 }') } })
  const next = async (text: string) => {
    expect(outcomeLines(await drop(home, { 'holder.ts': text }))).toEqual(['holder: reloaded'])
    return word(home) as unknown
  }
  expect(await next(stateSource(fits, '{ other: 1 }'))).toEqual({ seen: 3 })
  expect(await next(stateSource(fits, "'nonsense'"))).toEqual({ seen: 0 })
  expect(await next(stateSource(fits, "(() => { throw new Error('no luck') })()"))).toBeUndefined()
  expect(home.logged('starts without the state of the previous version, which does not match the schema')).toHaveLength(
    1,
  )
  expect(await next(stateSource(fits, '1'))).toBeUndefined()
  expect(home.logged('its state was not handed over: no luck')).toHaveLength(1)
  expect(await next(stateSource('', "{ seen: 'three' }"))).toBeUndefined()
  expect(await next(stateSource(fits, '1'))).toBeUndefined()
  expect(home.logged('which does not match the schema (seen: ')).toHaveLength(1)
})

const failing = (good: string, more = '') =>
  source('helper', `svc.on('beat', ({ beat }) => { if (!(${good})) throw new Error('no luck') })\n${more}`)

it('five failures in a row suspend a plugin, reported with file and line, until a reload or some time later', async () => {
  await using home = await testHost({ plugins: { 'helper.ts': failing('false') } })
  const emit = async (count: number) => {
    for (let beat = 1; beat <= count; beat++) await home.kernel.hooks.emit('beat', { beat })
  }
  await emit(4)
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live', failures: 4 })
  await emit(3)
  expect(stateOf(home, 'helper')).toMatchObject({
    state: 'suspended',
    calls: 5,
    failures: 5,
    error: `${home.root}/plugins/helper.ts:3: on beat: no luck`,
  })
  expect(home.logged('is suspended: its code failed several times in a row')).toHaveLength(1)
  expect(outcomeLines(await home.kernel.host.apply('helper'))).toEqual(['helper: reloaded'])
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live', failures: 0, error: null })
  await emit(5)
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'suspended' })
  await home.clock.advance(30_000)
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live' })
})

it('plugins.max_failures sets the number of failures that suspend a plugin', async () => {
  const config = { plugins: { max_failures: 2 } }
  await using home = await testHost({ config, plugins: { 'helper.ts': failing('false') } })
  await home.kernel.hooks.emit('beat', { beat: 1 })
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live', failures: 1 })
  await home.kernel.hooks.emit('beat', { beat: 2 })
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'suspended', failures: 2 })
})

it('a version that keeps failing after a swap is rolled back, and that is logged', async () => {
  await using home = await testHost({
    plugins: { 'helper.ts': failing('true', "svc.provide({ name: 'word' }, 'good')") },
  })
  for (let beat = 0; beat < 10; beat++) await home.kernel.hooks.emit('beat', { beat })
  await drop(home, { 'helper.ts': failing('false', "svc.provide({ name: 'word' }, 'bad')") })
  expect(word(home)).toBe('bad')
  for (let beat = 0; beat < 5; beat++) await home.kernel.hooks.emit('beat', { beat })
  await until(() => word(home) === 'good')
  await until(() => stateOf(home, 'helper')?.error)
  expect(stateOf(home, 'helper')).toMatchObject({
    state: 'live',
    error: expect.stringContaining('the previous version was restored: on beat: no luck'),
  })
  expect(home.logged('the new version failed; the previous one was restored')).toMatchObject([
    { plugin: 'helper', level: 50 },
  ])
  for (let beat = 0; beat < 10; beat++) await home.kernel.hooks.emit('beat', { beat })
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live' })
  expect(await home.kernel.host.apply()).toEqual([])
  expect(outcomeLines(await drop(home, { 'helper.ts': failing('true') }))).toEqual(['helper: reloaded'])
  expect(stateOf(home, 'helper')).toMatchObject({ state: 'live', error: null })
})

it('an error rate that rises after a swap is rolled back too, without five failures in a row', async () => {
  await using home = await testHost({
    plugins: { 'helper.ts': failing('true', "svc.provide({ name: 'word' }, 'good')") },
  })
  await drop(home, { 'helper.ts': failing('beat % 2', "svc.provide({ name: 'word' }, 'half')") })
  for (let beat = 1; beat <= 9; beat++) await home.kernel.hooks.emit('beat', { beat })
  expect(word(home)).toBe('half')
  await home.kernel.hooks.emit('beat', { beat: 10 })
  await until(() => word(home) === 'good')
})

it('a version is not rolled back for failures that the version before it had as well', async () => {
  await using home = await testHost({ plugins: { 'helper.ts': failing('beat % 2') } })
  for (let beat = 1; beat <= 20; beat++) await home.kernel.hooks.emit('beat', { beat })
  await drop(home, { 'helper.ts': failing('beat % 2', "svc.provide({ name: 'word' }, 'new')") })
  for (let beat = 1; beat <= 20; beat++) await home.kernel.hooks.emit('beat', { beat })
  await home.kernel.host.apply()
  expect(word(home)).toBe('new')
})

it('a handler that never resolves is cut off, logged, and does not delay a swap', async () => {
  const hangs = source('hangs', `${CONTROL} svc.on('beat', () => new Promise(() => {}))\n${resource('one')}`)
  const { provider, notes } = noteService()
  await using home = await testHost({ builtins: [provider], plugins: { 'hangs.ts': hangs } })
  const emitted = home.kernel.hooks.emit('beat', { beat: 1 })
  await home.clock.advance(10_000)
  await emitted
  expect(stateOf(home, 'hangs')).toMatchObject({ calls: 1, failures: 1 })
  expect(home.logged("The plugin's on beat did not finish within 10 s")).toHaveLength(1)
  await drop(home, { 'hangs.ts': source('hangs', `${CONTROL}${resource('two')}`) })
  expect(notes).toEqual(['start one', 'stop one', 'start two'])
})

it('closing does not wait for a replaced version', async () => {
  const { provider, gates } = noteService()
  const home = await testHost({ builtins: [provider], plugins: { 'slow.ts': slowTool('one') } })
  const long = use(toolOf(home, 'wait')).catch((error: { code: string }) => error.code)
  await until(() => gates.has('one'))
  await drop(home, { 'slow.ts': slowTool('two') })
  await home.kernel.close()
  expect(await long).toBe('plugin_gone')
  expect(home.clock.pending).toBe(0)
  await home.close()
})
