import { expect, it } from 'vitest'
import { definePlugin, type PluginDefinition, point, SvcError, token, z } from '#kernel'
import { PluginError } from '#platform/plugin-files/contract'
import { heldClock, type TestHost, type TestHostOptions, testHost, until } from '../support/index.ts'

const Letters = point<string>('letters', { key: letter => letter })

/** Source of a plugin file that adds one tap; `more` is added to its definition. */
const file = (name: string, more = '') => `
import { definePlugin } from 'svc'
export default definePlugin({ name: '${name}', ${more} setup(svc) { svc.on('beat', () => {}) } })
`
const states = (home: TestHost) => Object.fromEntries(home.kernel.host.list().map(({ name, state }) => [name, state]))
const errorOf = (home: TestHost, name: string) => home.kernel.host.list().find(plugin => plugin.name === name)?.error

it('a three-line file is a complete plugin', async () => {
  await using home = await testHost({ plugins: { 'tiny.ts': file('tiny') } })
  expect(home.kernel.host.list()).toMatchObject([
    { name: 'tiny', state: 'live', origin: `${home.root}/plugins/tiny.ts`, registered: ['on beat'], error: null },
  ])
  expect(home.logged('runs ')).toMatchObject([{ plugin: 'tiny' }])
})

it('files and folders, TypeScript and JavaScript, in both folders are plugins; leftovers of editors are not', async () => {
  await using home = await testHost({
    plugins: {
      'one.ts': file('one'),
      'two.js': file('two'),
      'three.mjs': file('three'),
      'four/index.ts': `import { name } from './name.ts'\n${file('four').replace("'four'", 'name')}`,
      'four/name.ts': "export const name: string = 'four'",
      'six.mts': file('six'),
      'seven.cjs': `module.exports = require('svc').definePlugin({ name: 'seven', setup() {} })`,
      'eight.ts': `import svc = require('svc')\nexport = svc.definePlugin({ name: 'eight', setup() {} })`,
      'nine/index.js': file('nine'),
      'notes.md': '# not a plugin',
      '.hidden.ts': 'throw new Error()',
      'backup.ts~': 'throw new Error()',
      '#lock.ts': 'throw new Error()',
      'types.d.ts': 'throw new Error()',
      'one.test.ts': 'throw new Error()',
      'empty/README.md': '',
    },
    files: { '.svc/plugins/five.ts': file('five') },
  })
  const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
  expect(states(home)).toEqual(Object.fromEntries(names.map(name => [name, 'live'])))
})

it('a file with the name of a script that cannot be run is reported, not skipped', async () => {
  await using home = await testHost({ plugins: { 'page.tsx': file('page'), 'LOUD.TS': file('loud') } })
  expect(states(home)).toEqual({ LOUD: 'failed', page: 'failed' })
  expect(errorOf(home, 'page')).toMatch(
    /page\.tsx\): is not a plugin file: its name must end in \.ts, \.mts, \.cts, \.js, \.mjs, \.cjs$/,
  )
})

it('plugins start after those they need, whatever the order of their names', async () => {
  const ordered = await live({
    'a.ts': file('a', "needs: ['c'],"),
    'b.ts': file('b', "needs: ['a'],"),
    'c.ts': file('c'),
  })
  expect(ordered).toEqual(['c', 'a', 'b'])
})

it('a plugin may tap the event of another one, whichever starts first', async () => {
  const seen: string[] = []
  const builtins = [
    definePlugin({ name: 'listener', setup: svc => void svc.tap('noon', 'listener', () => seen.push('noon')) }),
    definePlugin({ name: 'bell', setup: svc => void svc.event('noon', z.object({})) }),
  ]
  await using home = await testHost({ builtins })
  await home.kernel.hooks.get('noon').call({})
  expect(seen).toEqual(['noon'])
})

it('plugins that need each other are reported with their cycle, and the others run', async () => {
  await using home = await testHost({
    plugins: {
      'a.ts': file('a', "needs: ['b'],"),
      'b.ts': file('b', "needs: ['c'],"),
      'c.ts': file('c', "needs: ['b'],"),
      'd.ts': file('d'),
    },
  })
  expect(states(home)).toEqual({ a: 'failed', b: 'failed', c: 'failed', d: 'live' })
  expect(errorOf(home, 'b')).toMatch(/b → c → b/)
  expect(errorOf(home, 'a')).toMatch(/needs "b", which is not live/)
})

it('builtins that need each other, or need a missing one, do not start', async () => {
  const circle = [needing('hen', 'egg'), needing('egg', 'hen')]
  await expect(testHost({ builtins: circle })).rejects.toThrow(/egg → hen → egg/)
  const missing = testHost({ builtins: [needing('goals', 'store')] })
  await expect(missing).rejects.toBeInstanceOf(PluginError)
  await expect(missing).rejects.toThrow('"goals" (builtin): needs "store", which is not live')
})

it('builtins are disabled together with what they need, also indirectly, and the log names all of them', async () => {
  const builtins = [needing('store'), needing('goals', 'store'), needing('swarm', 'goals'), needing('metrics')]
  await using home = await testHost({ builtins, config: { plugins: { disabled: ['store'] } } })
  expect(states(home)).toEqual({ metrics: 'live', store: 'disabled', goals: 'disabled', swarm: 'disabled' })
  expect(errorOf(home, 'swarm')).toBe('needs "goals", which is disabled')
  expect(
    home.logged('disabled: store; therefore also disabled: goals (needs store), swarm (needs goals)'),
  ).toHaveLength(1)
})

it.each([
  ['a syntax error', 'export default {\n  name: "bad",\n  setup( {\n}', /bad\.ts:\d/],
  ['a throw at load', "\n\nthrow new Error('no luck')", /bad\.ts:3\): no luck/],
  [
    'a throw in setup',
    file('bad').replace('svc.on(', "\nthrow new Error('no luck') ; svc.on("),
    /bad\.ts:4\): no luck/,
  ],
  ['no default export', 'export const plugin = {}', /has no default export; write: export default definePlugin/],
  ['nothing exported', 'export const seven = 7', /has no default export; write: export default definePlugin/],
  [
    'something else exported',
    'export default 7',
    /its default export is a number, not a plugin; write: export default/,
  ],
  ['a bad name', "export default { name: 'Bad Name', setup() {} }", /lower-case letters.*not "Bad Name"/],
  ['no setup', "export default { name: 'bad' }", /has no setup function/],
  [
    'a misspelt setup',
    "export default { name: 'bad', setp() {} }",
    /its field "setp" is not known; did you mean "setup"/,
  ],
  [
    'a name for a token',
    "export default { name: 'bad', setup(svc) { svc.use('memory') } }",
    /use\(\) takes a token such as Memory, not "memory"/,
  ],
  ['an async setup', "export default { name: 'bad', async setup() { throw new Error('x') } }", /setup is async/],
  ['a missing import', "import './nowhere.ts'\nexport default {}", /nowhere\.ts/],
  ['an unknown hook', file('bad').replace("'beat'", "'bart'"), /There is no hook "bart"/],
  [
    'an unknown phase',
    "export default { name: 'bad', setup(svc) { svc.guard('goal_persuit', { shouldProceed: () => true }) } }",
    /There is no hook "goal_persuit"; did you mean "goal_pursuit"/,
  ],
  [
    'a bad configuration',
    `import { z } from 'svc'
     export default { name: 'bad', config: z.object({ size: z.number() }), setup() {} }`,
    /plugins\.config\.bad\.size/,
  ],
  [
    'a resource that does not start',
    "export default { name: 'bad', setup(svc) { svc.start(async () => { throw new Error('no luck') }) } }",
    /no luck/,
  ],
])('a plugin with %s is reported with its file, and the others run', async (_, source, reason) => {
  await using home = await testHost({ plugins: { 'bad.ts': source, 'good.ts': file('good') } })
  expect(Object.values(states(home)).sort()).toEqual(['failed', 'live'])
  const failed = home.kernel.host.list().find(({ state }) => state === 'failed')
  expect(failed?.error).toMatch(reason)
  expect(failed?.error).toContain(`${home.root}/plugins/bad.ts`)
  expect(home.log.filter(({ level }) => level === 50)).toMatchObject([{ plugin: 'bad', code: 'plugin_error' }])
})

it('a plugin that hangs while it loads is given up after its time limit, and the others run', async () => {
  const clock = heldClock()
  const opening = testHost({
    clock,
    plugins: { 'hangs.ts': 'await new Promise(() => {})\nexport default {}', 'later.ts': file('later') },
  })
  await until(() => clock.pending > 0)
  await clock.advance(5_000)
  await using home = await opening
  expect(errorOf(home, 'hangs')).toMatch(/Loading .*hangs\.ts did not finish within 5 s/)
  expect(states(home)).toMatchObject({ later: 'live' })
})

it('a resource that hangs while it starts is given up, and stopped if it starts later', async () => {
  const clock = heldClock()
  let start: () => void = () => {}
  let undone = 0
  const Gate = token<Promise<void>>('gate')
  const gate = definePlugin({
    name: 'gate',
    setup(svc) {
      svc.provide(
        Gate,
        new Promise<void>(resolve => {
          start = resolve
        }),
      )
      svc.provide(token<() => void>('undone'), () => void undone++)
    },
  })
  const slow = `
    export default { name: 'slow', setup(svc) {
      svc.start(async () => { await svc.use({ name: 'gate' }); return svc.use({ name: 'undone' }) })
    } }`
  const opening = testHost({ clock, builtins: [gate], plugins: { 'slow.ts': slow } })
  let open = false
  void opening.then(() => {
    open = true
  })
  await until(async () => {
    await clock.advance(250)
    return open
  })
  await using home = await opening
  expect(errorOf(home, 'slow')).toMatch(/Starting "slow" did not finish within 5 s/)
  start()
  await until(() => undone === 1)
})

it('the second of two plugins with one name is refused, and the first stays live', async () => {
  await using home = await testHost({
    builtins: [definePlugin({ name: 'clock', setup: svc => void svc.add(Letters, 'c') })],
    plugins: { 'a.ts': file('same'), 'b.ts': file('same'), 'clock.ts': file('clock') },
  })
  expect(home.kernel.host.list().filter(({ state }) => state === 'live')).toMatchObject([
    { name: 'clock', origin: 'builtin' },
    { name: 'same', origin: expect.stringContaining('a.ts') },
  ])
  expect(home.kernel.list(Letters)).toEqual(['c'])
  expect(home.logged('is taken by')).toHaveLength(2)
})

it('what a failing setup had already registered never becomes visible', async () => {
  const half = "export default { name: 'half', setup(svc) { svc.on('beat', () => {}); throw new Error('half way') } }"
  await using home = await testHost({ plugins: { 'half.ts': half } })
  expect(home.kernel.hooks.get('beat').taps).toEqual([])
})

it.each([
  ['allowlist: [one]', { one: 'live' }],
  ['allowlist: [one.ts, three]', { one: 'live', three: 'live' }],
  ['enabled: false', {}],
  ['disabled: [two]', { one: 'live', two: 'disabled', three: 'live' }],
])('plugins.%s is respected', async (setting, expected) => {
  const plugins = { 'one.ts': file('one'), 'two.ts': file('two'), 'three/index.ts': file('three') }
  await using home = await testHost({ plugins, config: `plugins:\n  ${setting}\n` })
  expect(states(home)).toEqual(expected)
})

it('a file that is disabled by its stem is not run', async () => {
  const plugins = { 'dangerous.ts': "throw new Error('ran all the same')" }
  await using home = await testHost({ plugins, config: { plugins: { disabled: ['dangerous'] } } })
  expect(states(home)).toEqual({ dangerous: 'disabled' })
  expect(home.logged('runs ')).toEqual([])
})

it('a builtin is disabled by its name', async () => {
  const builtins = [needing('store'), needing('goals')]
  await using home = await testHost({ builtins, config: { plugins: { disabled: ['goals'] } } })
  expect(states(home)).toEqual({ store: 'live', goals: 'disabled' })
})

it('a plugin file and the kernel share one SvcError, one zod and one set of points', async () => {
  const Caught = token<{ error: unknown; schema: unknown }>('caught')
  const source = `
    import { defineError, definePlugin, point, SvcError, z } from 'svc'
    const MineError = defineError({ code: 'mine', status: 418, title: 'Mine', message: () => 'It is mine.' })
    export default definePlugin({
      name: 'mine',
      setup(svc) {
        let own
        try { svc.use({ name: 'nobody' }) } catch (error) { own = error instanceof SvcError }
        svc.provide({ name: 'caught' }, { error: new MineError(), schema: z.string(), own })
        svc.add(point('letters', { key: letter => letter }), 'm')
      },
    })`
  await using home = await testHost({ plugins: { 'mine.ts': source } })
  const { error, schema } = home.kernel.use(Caught)
  expect(error).toBeInstanceOf(SvcError)
  expect(error).toMatchObject({ code: 'mine', status: 418, message: 'It is mine.' })
  expect(schema).toBeInstanceOf(z.ZodString)
  expect(home.kernel.use(Caught)).toMatchObject({ own: true })
  expect(home.kernel.list(Letters)).toEqual(['m'])
})

it('a plugin reads its own configuration under plugins.config', async () => {
  const Hours = token<{ from: number; to: number }>('hours')
  const source = `
    import { definePlugin, z } from 'svc'
    export default definePlugin({
      name: 'office-hours',
      config: z.object({ from: z.number().int().default(9), to: z.number().int().default(17) }),
      setup(svc, config) { svc.provide({ name: 'hours' }, config) },
    })`
  await using home = await testHost({
    plugins: { 'office-hours.ts': source },
    config: { plugins: { config: { 'office-hours': { to: 18 } } } },
  })
  expect({ ...home.kernel.use(Hours) }).toEqual({ from: 9, to: 18 })
})

it('resources start only in processes of their roles, and stop in reverse order', async () => {
  const calls: string[] = []
  const resource = (name: string, ...roles: ('daemon' | 'server')[]) =>
    definePlugin({
      name,
      setup(svc) {
        svc.start(
          () => {
            calls.push(`start ${name}`)
            return () => void calls.push(`stop ${name}`)
          },
          roles.length > 0 ? { in: roles } : {},
        )
      },
    })
  const home = await testHost({
    roles: ['server'],
    builtins: [resource('by-default'), resource('first', 'server'), resource('second', 'daemon', 'server')],
  })
  await home.close()
  expect(calls).toEqual(['start first', 'start second', 'stop second', 'stop first'])
})

it('what is added after setup is there at once, and is removed together with the plugin', async () => {
  let add: (letter: string) => void = () => {}
  const late = definePlugin({
    name: 'late',
    setup(svc) {
      add = letter => void svc.add(Letters, letter)
    },
  })
  await using home = await testHost({ builtins: [late] })
  add('x')
  expect(home.kernel.list(Letters)).toEqual(['x'])
  await home.kernel.host.remove('late')
  expect(home.kernel.list(Letters)).toEqual([])
  expect(() => add('y')).toThrow('Plugin "late" was removed and cannot register letters: y.')
  expect(home.kernel.list(Letters)).toEqual([])
})

it('closing twice closes once, and stops the last plugin first', async () => {
  const calls: string[] = []
  const builtins = ['one', 'two'].map(name =>
    definePlugin({
      name,
      setup: svc =>
        svc.start(() => () => {
          calls.push(name)
        }),
    }),
  )
  const home = await testHost({ builtins })
  await Promise.all([home.close(), home.kernel.close()])
  expect(calls).toEqual(['two', 'one'])
})

it('a failed start stops the resources that had started', async () => {
  const calls: string[] = []
  const good = definePlugin({ name: 'good', setup: svc => svc.start(() => () => void calls.push('undone')) })
  const bad = definePlugin({
    name: 'bad',
    setup: svc =>
      svc.start(() => {
        throw new Error('no luck')
      }),
  })
  await expect(testHost({ builtins: [good, bad] })).rejects.toThrow('no luck')
  expect(calls).toEqual(['undone'])
})

async function live(plugins: NonNullable<TestHostOptions['plugins']>): Promise<string[]> {
  await using home = await testHost({ plugins })
  return home.kernel.host.list().flatMap(({ name, state }) => (state === 'live' ? [name] : []))
}

function needing(name: string, ...needs: string[]): PluginDefinition {
  return definePlugin({ name, needs, setup() {} })
}

it('a plugin that code adds is refused if it is no definition, or has no valid name', async () => {
  await using home = await testHost()
  const add = (definition: unknown) => home.kernel.host.add(definition as PluginDefinition)
  const right = "write: definePlugin({ name: 'my-plugin', setup(svc) { … } })"
  await expect(add(null)).rejects.toThrow(`Plugin "unnamed" (code): its definition is null, not a plugin; ${right}`)
  await expect(add('x')).rejects.toThrow(`its definition is a string, not a plugin; ${right}`)
  await expect(add({ name: 'X Y', setup() {} })).rejects.toThrow(
    `Plugin "X Y" (code): its name must be lower-case letters, digits and hyphens, not "X Y"; ${right}`,
  )
  await expect(add({ name: 'x' })).rejects.toThrow('Plugin "x" (code): has no setup function')
  expect(states(home)).toEqual({})
})
