import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { definePlugin, operation, z } from '#kernel'
import { tool } from '#tools/toolkits/contract'
import {
  heldClock,
  memoryScheduler,
  runHeartbeat,
  type TestHost,
  testHost,
  until,
  waitUntilIdle,
} from '../support/index.ts'
import { drop, outcomeLines, saying, source, stateOf, word } from './sources.ts'

/** A module whose names a plugin may conflict with. */
const module = definePlugin({
  name: 'garden',
  setup(svc) {
    const look = tool({ name: 'look', description: '', parameters: z.object({}), execute: () => 'a garden' })
    svc.toolkit({ name: 'eyes', tools: [look] })
    svc.operation(
      operation({
        name: 'garden.get',
        summary: 'Get it',
        input: z.object({}),
        output: z.string(),
        run: () => 'a garden',
      }),
    )
  },
})

const live = `
  let count = svc.previous ?? 0
  svc.on('beat', () => { count++ })
  svc.handOver(() => count)
  svc.provide({ name: 'word' }, () => count)`
const counting = source('sayer', live, 'state: z.number(),')

it.each([
  ['a syntax error', 'export default {\n  name: "sayer",\n  setup( {\n}', /sayer\.ts:\d/],
  ['a throw at load', "\n\nthrow new Error('no luck')", /sayer\.ts:3\): no luck/],
  ['a rejection at load', "await Promise.reject(new Error('no luck'))\nexport default {}", /sayer\.ts:1\): no luck/],
  ['the wrong export', 'export const plugin = {}', /has no default export; write: export default definePlugin/],
  ['a function as its export', 'export default () => {}', /its default export is a function, not a plugin; write:/],
  [
    'a missing import',
    "import './nowhere.ts'\nexport default {}",
    /:1\): Cannot find '.\/nowhere\.ts'; there is no such file$/,
  ],
  [
    'a missing file of a program that an upgrade replaced',
    `import ${JSON.stringify(fileURLToPath(new URL('../../builtins/platform/plugin-files/part-1.js', import.meta.url)))}`,
    /part-1\.js'; the program on disk was replaced after this process started; restart it with svc restart$/,
  ],
  [
    'a missing package',
    "import '@some/where/deep'\nexport default {}",
    /:1\): Cannot find '@some\/where\/deep'; install it with npm install @some\/where; the plugin is then loaded again/,
  ],
  [
    'a module that svc does not have',
    "import { Goals } from 'svc/goalz'\nexport default Goals",
    /:1\): There is no module "svc\/goalz"; did you mean "svc\/goals"\?$/,
  ],
  [
    'a source file of svc',
    "import { Goals } from 'svc/builtins/core/goals'\nexport default Goals",
    /:1\): There is no module "svc\/builtins\/core\/goals"; /,
  ],
  [
    'a part of svc that is not installed',
    "import { createClient } from 'svc/client'\nexport default createClient",
    /:1\): Cannot find 'svc\/client'; install it from its checkout with npm install \/path\/to\/svc; the plugin/,
  ],
  ['an import by an alias', "import '@/lib/helper'", /'@\/lib\/helper'; import a file by its relative path/],
  [
    'a name that svc does not export',
    "import { definePlugn } from 'svc'\nexport default definePlugn({})",
    /:2\): "svc" exports no "definePlugn"; did you mean "definePlugin"\?$/,
  ],
  [
    'a name that a module does not export',
    "import { joyn } from 'node:path'\nexport default joyn()",
    /:2\): joyn is not a function: the module that it is imported from exports no such name$/,
  ],
  [
    'a syntax that is not compiled',
    'export default class {\n  accessor size = 7\n}',
    /:2\): ParseError: Support for the experimental syntax 'decoratorAutoAccessors' isn't currently enabled \(2:\d+\)$/,
  ],
  ['a missing need', source('sayer', live, "needs: ['nobody'],"), /needs "nobody", which is not live/],
  ['a throw in setup', source('sayer', "throw new Error('no luck')"), /sayer\.ts:3\): no luck/],
  ['a throw of no Error', source('sayer', "throw { code: 'no_luck' }"), /sayer\.ts\): {"code":"no_luck"}$/],
  ['a throw of what has nothing', source('sayer', 'throw Object.create(null)'), /sayer\.ts\): {}$/],
  ['an async setup', source('sayer').replace('setup(', 'async setup('), /setup must only declare/],
  ['an unknown hook', source('sayer', "svc.on('bart', () => {})"), /There is no hook "bart"/],
  ['a throw in start', source('sayer', "svc.start(() => { throw new Error('no luck') })"), /sayer\.ts:3\): no luck/],
  [
    'a cleanup that is no function',
    source('sayer', 'svc.start(() => ({ close() {} }))'),
    /svc\.start must return a cleanup function, if any$/,
  ],
  [
    'a bad configuration',
    source('sayer', '', 'config: z.object({ size: z.number() }),'),
    /plugins\.config\.sayer\.size/,
  ],
  [
    'a misspelt field',
    source('sayer', '', "nedes: ['memory'],"),
    /its field "nedes" is not known; did you mean "needs"/,
  ],
  ['requires that name plugins', source('sayer', '', "requires: ['memory'],"), /other plugins belong in needs/],
  ['needs that are no list', source('sayer', '', 'needs: 7,'), /its needs must be a list of plugins' names/],
  ['a config that is no schema', source('sayer', '', 'config: { size: 7 },'), /its config must be a z\.object/],
  [
    "a tool's name taken",
    source(
      'sayer',
      "svc.toolkit({ name: 't', tools: [tool({ name: 'look', description: 'Looks.', parameters: z.object({}), execute() {} })] })",
    ),
    /toolkit "t" has a tool "look", but "eyes" of "garden" already does/,
  ],
  [
    'two tools of one name',
    source(
      'sayer',
      "const pick = { name: 'pick', description: 'Picks.', parameters: z.object({}), execute() {} }\nsvc.toolkit({ name: 't', tools: [tool(pick), tool(pick)] })",
    ),
    /toolkit "t" has two tools "pick"/,
  ],
  [
    "an operation's name taken",
    source(
      'sayer',
      "svc.operation({ name: 'garden.get', summary: 'Get it', input: z.object({}), output: z.string(), run: () => '' })",
    ),
    /adds "garden.get" to operations, but "garden" already did/,
  ],
  ["another plugin's name", source('garden'), /the name "garden" is taken by a part of the program/],
])(
  'an edit with %s is logged and reported as an error; the old version stays live with its state',
  async (_, bad, why) => {
    await using home = await testHost({ builtins: [module], plugins: { 'sayer.ts': counting } })
    const count = () => (word(home) as unknown as () => number)()
    await home.kernel.hooks.emit('beat', { beat: 1 })
    expect(count()).toBe(1)
    const before = stateOf(home, 'sayer')

    expect(await drop(home, { 'sayer.ts': bad })).toMatchObject([
      { outcome: 'failed', error: expect.stringMatching(why) },
    ])
    const after = stateOf(home, 'sayer')
    expect(after).toMatchObject({ state: 'live', registered: before?.registered, error: expect.stringMatching(why) })
    expect(after?.error).toContain(`${home.root}/plugins/sayer.ts`)
    expect(home.log.filter(({ level }) => level >= 50)).toMatchObject([{ code: 'plugin_error' }])
    await home.kernel.hooks.emit('beat', { beat: 2 })
    expect(count()).toBe(2)
    expect(home.kernel.host.list().filter(({ state }) => state === 'failed')).toEqual([])

    // The file is checked again only when it changes.
    expect(await home.kernel.host.apply()).toEqual([])
    expect(outcomeLines(await drop(home, { 'sayer.ts': `${counting}\n` }))).toEqual(['sayer: reloaded'])
    expect(stateOf(home, 'sayer')).toMatchObject({ state: 'live', error: null })
    expect(count()).toBe(2)
  },
)

it('an edit that hangs while it loads is given up after 5 s, and the old version answers meanwhile', async () => {
  const clock = heldClock()
  await using home = await testHost({ clock, plugins: { 'sayer.ts': saying('one') } })
  const pending = clock.pending
  const applied = drop(home, { 'sayer.ts': 'await new Promise(() => {})', 'other.ts': source('other') })
  await until(() => clock.pending > pending + 1 || home.logged('sayer.ts').length > 1)
  expect(word(home)).toBe('one')
  let outcomes: readonly unknown[] | undefined
  void applied.then(all => {
    outcomes = all
  })
  await until(async () => {
    await clock.advance(1_000)
    return outcomes !== undefined
  })
  expect(outcomeLines(await applied).sort()).toEqual(['other: loaded', 'sayer: failed'])
  expect(stateOf(home, 'sayer')?.error).toMatch(/Loading .*sayer\.ts did not finish within 5 s/)
  expect(word(home)).toBe('one')
})

it('agents go on while a plugin file hangs at load', async () => {
  await using home = await testHost({
    builtins: [memoryScheduler(['ada']).plugin],
    config: { daemon: { heartbeat: 0.5 } },
  })
  await waitUntilIdle(home)
  let cycles = 0
  home.kernel.hooks.on('cycle_start', () => void cycles++)
  await home.write({ 'plugins/hangs.ts': 'await new Promise(() => {})' })
  for (let n = 1; n <= 18; n++) await runHeartbeat(home)
  await until(() => home.logged('runs ').length === 1)
  expect(stateOf(home, 'hangs')).toBeUndefined()
  expect(cycles).toBe(18)
  for (let n = 1; n <= 10; n++) await runHeartbeat(home)
  await until(() => stateOf(home, 'hangs')?.state === 'failed')
  expect(home.logged('runs ')).toHaveLength(1)
})

it('a plugin that lacks a package becomes live once that is installed, and is not run again before', async () => {
  const uses = `import words from '@some/words'\n${source('sayer', "svc.provide({ name: 'word' }, words)")}`
  await using home = await testHost({ plugins: { 'sayer.ts': uses } })
  expect(stateOf(home, 'sayer')).toMatchObject({ state: 'failed', error: expect.stringContaining('@some/words') })
  const ran = home.logged('runs ').length
  expect(await home.kernel.host.apply()).toEqual([])
  expect(home.logged('runs ').length).toBe(ran)
  await home.write({
    'node_modules/@some/words/package.json': '{ "name": "@some/words", "type": "module", "exports": "./lib/words.js" }',
    'node_modules/@some/words/lib/words.js': "export default 'hello'",
  })
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: loaded'])
  expect(word(home)).toBe('hello')
})

it('a plugin that failed at the start of the process becomes live once its file is corrected', async () => {
  await using home = await testHost({
    plugins: { 'sayer.ts': 'export default 7', 'late.ts': source('late', '', 'needs: 7,') },
  })
  expect(
    home.kernel.host
      .list()
      .map(({ name, state }) => `${name}: ${state}`)
      .sort(),
  ).toEqual(['late: failed', 'sayer: failed'])
  expect(outcomeLines(await drop(home, { 'sayer.ts': saying('hello') }))).toEqual(['sayer: loaded'])
  expect(stateOf(home, 'sayer')).toMatchObject({ state: 'live', error: null })
  expect(word(home)).toBe('hello')
})

it('one bad file among several edits does not hold up the others', async () => {
  await using home = await testHost()
  const outcomes = await drop(home, { 'a.ts': source('a'), 'b.ts': 'throw 7', 'c.ts': source('c') })
  expect(outcomeLines(outcomes).sort()).toEqual(['a: loaded', 'b: failed', 'c: loaded'])
  expect(stateOf(home, 'b')?.error).toMatch(/b\.ts.*: 7$/)
})

it('plugins that need a removed one become failed with it, and live again when it returns', async () => {
  const chain = {
    'base.ts': source('base', "svc.provide({ name: 'base' }, 1)"),
    'a-top.ts': source('a-top', '', "needs: ['middle'],"),
    'middle.ts': source('middle', "svc.use({ name: 'base' })", "needs: ['base'],"),
  }
  await using home = await testHost({ plugins: chain })
  const states = () => Object.fromEntries(home.kernel.host.list().map(({ name, state }) => [name, state]))
  expect(states()).toEqual({ base: 'live', middle: 'live', 'a-top': 'live' })
  await rm(join(home.root, 'plugins/base.ts'))
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['a-top: failed', 'middle: failed', 'base: removed'])
  expect(stateOf(home, 'middle')?.error).toMatch(/needs "base", which is not live/)
  const ran = home.logged('runs ').length
  await home.kernel.host.apply()
  expect(home.logged('runs ').length).toBe(ran)
  expect(outcomeLines(await drop(home, { 'base.ts': chain['base.ts'] }))).toEqual([
    'base: loaded',
    'middle: loaded',
    'a-top: loaded',
  ])
  expect(states()).toEqual({ base: 'live', middle: 'live', 'a-top': 'live' })
  expect(stateOf(home, 'a-top')?.error).toBeNull()
})

it('a plugin whose need returns, but whose own file is bad by now, is reported and stops no other', async () => {
  const base = source('base')
  await using home = await testHost({ plugins: { 'base.ts': base, 'top.ts': source('top', '', "needs: ['base'],") } })
  await rm(join(home.root, 'plugins/base.ts'))
  await home.kernel.host.apply()
  expect(stateOf(home, 'top')?.error).toMatch(/needs "base", which is not live; add it/)
  await home.write({ 'plugins/top.ts': 'throw new Error("no luck")' })
  expect(outcomeLines(await drop(home, { 'base.ts': base, 'other.ts': source('other') })).sort()).toEqual([
    'base: loaded',
    'other: loaded',
    'top: failed',
  ])
  expect(stateOf(home, 'top')?.error).toMatch(/no luck/)
})

it('a plugin that others need is replaced without reloading them', async () => {
  await using home = await testHost({
    plugins: { 'base.ts': source('base'), 'top.ts': source('top', '', "needs: ['base'],") },
  })
  expect(outcomeLines(await drop(home, { 'base.ts': source('base', '// new') }))).toEqual(['base: reloaded'])
  expect(stateOf(home, 'top')?.state).toBe('live')
})

const needing = (name: string, ...needs: string[]) => source(name, '', `needs: ${JSON.stringify(needs)},`)
const alive = (home: TestHost) =>
  home.kernel.host
    .list()
    .filter(({ state, origin }) => state === 'live' && origin !== 'builtin')
    .map(({ name }) => name)
    .sort()

it('plugins that need each other become live once one of them is corrected', async () => {
  await using home = await testHost({
    plugins: { 'a.ts': needing('a', 'b'), 'b.ts': needing('b', 'c'), 'c.ts': needing('c', 'a') },
  })
  expect(alive(home)).toEqual([])
  expect(outcomeLines(await drop(home, { 'c.ts': needing('c') }))).toEqual(['c: loaded', 'b: loaded', 'a: loaded'])
  expect(home.kernel.host.list().map(({ error }) => error)).not.toContainEqual(expect.any(String))
})

it('an edit that closes a circular dependency is refused, as it would be at the next start', async () => {
  await using home = await testHost({ plugins: { 'a.ts': needing('a'), 'b.ts': needing('b', 'a') } })
  expect(await drop(home, { 'a.ts': needing('a', 'b') })).toMatchObject([
    { outcome: 'failed', error: expect.stringContaining('has a circular dependency: a → b → a') },
  ])
  expect(alive(home)).toEqual(['a', 'b'])
  expect(outcomeLines(await drop(home, { 'b.ts': needing('b') }))).toEqual(['b: reloaded', 'a: reloaded'])
})

it.each([
  ['name', source('same')],
  ['tool', source('second', "svc.toolkit({ name: 't', tools: [] })")],
])('a plugin refused because another one has its %s becomes live once that one is removed', async (_, second) => {
  const first = source('same', "svc.toolkit({ name: 't', tools: [] })")
  await using home = await testHost({
    plugins: { 'first.ts': first, 'other.ts': source('other'), 'second.ts': second },
  })
  expect(alive(home)).toEqual(['other', 'same'])
  // An unrelated edit changes nothing.
  await drop(home, { 'other.ts': source('other', '// edited') })
  expect(alive(home)).toEqual(['other', 'same'])
  await rm(join(home.root, 'plugins/first.ts'))
  const outcomes = await home.kernel.host.apply()
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['removed', 'loaded'])
  expect(stateOf(home, outcomes[1]!.plugin)).toMatchObject({ state: 'live', error: null })
})

it('a plugin refused for its configuration becomes live once that is corrected, and is not run again before', async () => {
  const sized = source('sayer', "svc.provide({ name: 'word' }, config.size)", 'config: z.object({ size: z.number() }),')
  await using home = await testHost({ plugins: { 'sayer.ts': sized.replace('setup(svc)', 'setup(svc, config)') } })
  expect(stateOf(home, 'sayer')).toMatchObject({ state: 'failed', error: expect.stringContaining('sayer.size') })
  await home.write({ '.svc/config.yaml': 'plugins:\n  config:\n    sayer:\n      size: large\n' })
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: failed'])
  expect(stateOf(home, 'sayer')?.error).toContain('config.yaml:4: plugins.config.sayer.size')
  const ran = home.logged('runs ').length
  expect(await home.kernel.host.apply()).toEqual([])
  expect(home.logged('runs ').length).toBe(ran)
  await home.write({ '.svc/config.yaml': 'plugins:\n  config:\n    sayer:\n      size: 5\n' })
  expect(outcomeLines(await home.kernel.host.apply())).toEqual(['sayer: loaded'])
  expect(word(home)).toBe(5)
})

it.each([
  [
    'an event',
    "svc.on('noon', () => {})",
    "svc.event('noon', z.object({}))",
    /There is no hook "noon"; docs\/reference\/events\.md lists them$/,
  ],
  [
    'a service',
    "svc.use({ name: 'noon' })",
    "svc.provide({ name: 'noon' }, 12)",
    /No plugin provides the service "noon"/,
  ],
])(
  'a plugin that names %s of another becomes live once that is there, whichever loads first',
  async (_, names, brings, why) => {
    await using home = await testHost({ plugins: { 'a-first.ts': source('a-first', names) } })
    expect(stateOf(home, 'a-first')).toMatchObject({ state: 'failed', error: expect.stringMatching(why) })
    const outcomes = await drop(home, { 'other.ts': source('other'), 'second.ts': source('second', brings) })
    expect(outcomeLines(outcomes)).toEqual(['other: loaded', 'second: loaded', 'a-first: loaded'])
    expect(stateOf(home, 'a-first')).toMatchObject({ state: 'live', error: null })
  },
)

it('an output that does not match its schema names operation and plugin, and counts as a failure', async () => {
  const bad = `svc.operation({ name: 'ask.it', summary: 'Ask', input: z.object({}), output: z.object({ ok: z.boolean() }), run: () => ({}) })`
  await using home = await testHost({ plugins: { 'asker.ts': source('asker', bad) } })
  const problem = 'the operation "ask.it" of "asker" returned an invalid output: ok: is missing'
  await expect(home.kernel.invoke('ask.it', {})).rejects.toThrow(problem)
  expect(home.kernel.host.list().find(({ name }) => name === 'asker')).toMatchObject({
    calls: 1,
    failures: 1,
    last_failure: `${join(home.root, 'plugins/asker.ts')}: operation ask.it: ${problem}`,
  })
  const msg = expect.stringContaining(`operation ask.it: ${problem}`)
  expect(home.log).toContainEqual(expect.objectContaining({ level: 50, plugin: 'asker', msg }))
})
