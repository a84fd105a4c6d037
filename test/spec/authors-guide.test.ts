import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { GoalStrategies } from '#kernel'
import { beat, house, memoryScheduler, tempDir, until } from '../support/index.ts'
import { install, ROOT, tsc, vitest } from './authors.ts'

/** The files of the authors' guide, by the path that stands in their first line. */
const blocks = [...readFileSync(join(ROOT, 'plugins/README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, text]) => [/^\/\/ (plugins\/\S+\.ts)$/m.exec(text!.split('\n')[0]!)?.[1], text!] as const,
)
const files = Object.fromEntries(blocks.map(([path, text]) => [path ?? 'nowhere', text]))
const plugins = Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replace(/^plugins\//, ''), text]))

it('every piece of code in the guide is a file with a name of its own', () => {
  expect(blocks.length).toBeGreaterThan(12)
  expect(Object.keys(files)).toHaveLength(blocks.length)
  expect(files).not.toHaveProperty('nowhere')
})

it('all of it has the right types, by the strictest rules', async () => {
  await using dir = await tempDir(files)
  await install(dir.path, '@types/node', 'vitest')
  const compilerOptions = { noEmit: true, rootDir: '/' }
  await dir.write({
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['plugins'] }),
  })
  // The program's own sources are read along, and checked elsewhere.
  const { output } = await tsc(dir.path)
  expect(output.split('\n').filter(line => line.startsWith('plugins/'))).toEqual([])
})

it('all of it is live together, and nothing of it complains', async () => {
  await using home = await house({ builtins: [memoryScheduler(['ada']).plugin], plugins })
  await beat(home)
  const states = home.kernel.host.list().map(({ name, state, error, failures }) => ({ name, state, error, failures }))
  expect(states.length).toBeGreaterThan(12)
  expect(states).toEqual(states.map(({ name }) => ({ name, state: 'live', error: null, failures: 0 })))
  expect(home.log.filter(line => line.level > 30)).toEqual([])
  expect(home.logged('Good day, ada')).not.toEqual([])
})

it('its tests pass', async () => {
  await using dir = await tempDir(files)
  await install(dir.path, 'svc', 'vitest')
  const { code, output } = await vitest(dir.path)
  expect(output).toMatch(/Tests +1 passed/)
  expect(code).toBe(0)
}, 60_000)

it('the plugin with everything does what it says: what is set rings, is told, and becomes a goal', async () => {
  const agents = memoryScheduler(['ada'])
  await using home = await house({
    builtins: [agents.plugin],
    plugins: { 'kitchen-timer.ts': plugins['kitchen-timer.ts']! },
  })
  const { kernel, clock } = home
  expect(await kernel.invoke('timers.set', { label: 'tea', seconds: 240 })).toMatchObject({ label: 'tea' })
  await home.write({ 'plugins/kitchen-timer.ts': `${plugins['kitchen-timer.ts']}\n// edited` })
  expect(await kernel.host.apply()).toMatchObject([{ outcome: 'reloaded', error: null }])
  expect(await kernel.invoke('timers.list')).toMatchObject([{ label: 'tea' }])
  for (let minute = 0; minute < 3; minute++) await clock.advance(60_000)
  expect(home.logged('ring: tea')).toEqual([])
  await clock.advance(62_000)
  await until(() => home.logged('ring: tea').length === 1)
  expect(await kernel.invoke('timers.list')).toEqual([])
  expect(await kernel.points.ask(GoalStrategies, { agent_id: 'ada' })).toMatchObject({
    objective: 'See to it, the timer rang: tea',
  })
  const full = Array.from({ length: 21 }, (_, n) => kernel.invoke('timers.set', { label: `${n}`, seconds: 9 }))
  expect((await Promise.allSettled(full)).at(-1)).toMatchObject({ reason: { code: 'too_many_timers' } })
})
