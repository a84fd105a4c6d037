import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { GoalStrategies } from '#core/goals/contract'
import { DoctorChecks } from '#interfaces/doctor/contract'
import { McpResources } from '#interfaces/mcp/contract'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import daemon from '#platform/daemon/index'
import { type InnerState, Moods, type SituationFacts, Stressors } from '#society/suffering/contract'
import { SwarmPolicies } from '#society/swarm/contract'
import { type Tool, type ToolCall, type ToolInterceptor, ToolInterceptors } from '#tools/toolkits/contract'
import { importable } from '../../../embed/importable.ts'
import { memoryScheduler, runHeartbeat, tempDir, testHost, until } from '../../support/index.ts'
import { install, ROOT, tsc } from '../authors.ts'
import { rows, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { goalAnswer } from '../safety/approvals-host.ts'

/** Files of the authors' guide, by the path in their first line. */
const blocks = [...readFileSync(join(ROOT, 'plugins/README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, text]) => [/^\/\/ (plugins\/\S+\.ts)$/m.exec(text!.split('\n')[0]!)?.[1], text!] as const,
)
const files = Object.fromEntries(blocks.map(([path, text]) => [path ?? 'nowhere', text]))
const plugins = Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replace(/^plugins\//, ''), text]))

it('every code block of the guide is a file with a unique name', () => {
  expect(blocks.length).toBeGreaterThan(12)
  expect(Object.keys(files)).toHaveLength(blocks.length)
  expect(files).not.toHaveProperty('nowhere')
})

it('all code of the guide passes the strictest type checks, with the published types', async () => {
  const [, client] = /```ts\n(\/\/ docs\/client\.ts\n[\s\S]*?)```/.exec(
    readFileSync(join(ROOT, 'docs/api.md'), 'utf8'),
  )!
  const invokes = `import { definePlugin } from 'svc'
export default definePlugin({ name: 'adder', setup(svc) { svc.on('agent_spawned', async ({ agent_id: id }) => {
  const { goal_id } = await svc.invoke('goals.add', { id, objective: 'Look around' })
  svc.log.info({}, goal_id.slice(5))
  // @ts-expect-error: the field is called id
  await svc.invoke('goals.add', { agent: id, objective: 'Look around' })
  await svc.invoke('quotes.show', { author: 'Epictetus' })
}) } })
`
  await using dir = await tempDir({ ...files, 'docs/client.ts': client!, 'plugins/adder.ts': invokes })
  await install(dir.path, '@types/node', 'vitest')
  const types = (file: string) => [join(ROOT, 'dist/types', file)]
  const paths = {
    svc: types('index.d.ts'),
    'svc/client': types('builtins/interfaces/rest/client.d.ts'),
    'svc/testing': types('test/support/index.d.ts'),
    'svc/*': types('modules/*.d.ts'),
  }
  const compilerOptions = { noEmit: true, rootDir: '/', customConditions: [], paths }
  await dir.write({
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions,
      include: ['plugins', 'docs'],
    }),
  })
  expect(await tsc(dir.path)).toEqual({ code: 0, output: '' })
})

it('all plugins of the guide run together without errors or warnings', async () => {
  // The diary needs a database; it has a test of its own.
  const { 'diary.ts': _, ...others } = plugins
  await using home = await testHost({ builtins: [memoryScheduler(['ada']).plugin], plugins: others })
  await runHeartbeat(home)
  const states = home.kernel.host.list().map(({ name, state, error, failures }) => ({ name, state, error, failures }))
  expect(states.length).toBeGreaterThan(12)
  expect(states).toEqual(states.map(({ name }) => ({ name, state: 'live', error: null, failures: 0 })))
  expect(home.log.filter(line => line.level > 30)).toEqual([])
  expect(home.logged('Good day, ada')).not.toEqual([])
})

describe('the test files of the guide', async () => {
  const dir = await tempDir(files)
  afterAll(() => dir[Symbol.asyncDispose]())
  await install(dir.path, 'vitest')
  for (const name of ['attendance', 'dice']) await import(join(dir.path, `plugins/${name}.test.ts`))
})

it("the guide's plugin with a table keeps its rows over restarts, shows them in prompts, and stores its events", async () => {
  const source = { 'diary.ts': plugins['diary.ts']! }
  await using dir = await tempDir()
  const open = (seed: number) =>
    testHostWithModel(() => goalAnswer('Look around'), { root: dir.path, plugins: source, builtins: [daemon], seed })
  const first = await open(1)
  const agent = await spawn(first)
  await first.kernel.invoke('diary.write', { agent, text: 'the sea was calm' })
  await first.close()
  await using home = await open(2)
  await home.kernel.invoke('diary.write', { agent, text: 'a storm came' })
  await runHeartbeat(home)
  for (const line of ['Your diary:', '- the sea was calm', '- a storm came'])
    expect(home.server.requests[0]!.prompt).toContain(line)
  const written = "SELECT count(*) AS n FROM events WHERE type = 'diary_written'"
  expect(await rows(home, written)).toEqual([{ n: 2 }])
  await home.kernel.invoke('agents.delete', { id: agent })
  await until(async () => (await rows(home, 'SELECT * FROM diary_entries')).length === 0)
  expect(home.log.filter(line => line.plugin === 'diary' && line.level > 30)).toEqual([])
})

it('the guide names every extension point and the module that exports it', async () => {
  const isPoint = (value: unknown) =>
    typeof value === 'object' && value !== null && 'options' in value && 'name' in value
  const guide = readFileSync(join(ROOT, 'plugins/README.md'), 'utf8')
  const own = new Set(['Operations', 'Guards', 'WakeSources', 'GoalStrategies', 'Toolkits'])
  const deprecated = new Set(['News'])
  const rows = guide.split('\n').filter(line => line.startsWith('| `'))
  const points = Object.entries(await importable()).flatMap(([module, names]) =>
    Object.entries(names).flatMap(([name, value]) => (isPoint(value) && module !== 'svc' ? [{ module, name }] : [])),
  )
  expect(points.length).toBeGreaterThan(30)
  const isNamed = ({ module, name }: { module: string; name: string }) =>
    own.has(name) ||
    deprecated.has(name) ||
    rows.some(row => row.includes(`\`${name}\``) && row.includes(`\`${module}\``))
  expect(points.filter(each => !isNamed(each))).toEqual([])
})

it("the contributions of the guide's plugins to modules work", async () => {
  const names = ['deadlines.ts', 'translating.ts', 'front-desk.ts']
  const sources = Object.fromEntries(names.map(name => [name, plugins[name]!]))
  await using home = await testHost({ builtins: [rest], plugins: sources, roles: ['server'] })
  const { kernel } = home
  const { url } = await kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const ring = (body: string) =>
    fetch(`${url}/bell`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  expect(await kernel.points.find(DoctorChecks, 'bell')!.run()).toMatchObject({ level: 'warn' })
  expect(await (await ring('{"who": "Ada"}')).text()).toBe('ring 1\n')
  expect((await ring('{"who": ""}')).status).toBe(422)
  expect(await (await fetch(`${url}/bell/rings`)).json()).toEqual(['Ada'])
  expect(await kernel.points.find(DoctorChecks, 'bell')!.run()).toMatchObject({ level: 'ok' })
  expect(kernel.points.find(McpResources, 'svc://bell')).toMatchObject({ operation: 'bell.rings' })
  const facts = (completed: number) => ({ goals: { ended: 4, completed, abandoned: 0 } }) as SituationFacts
  const pressed = kernel.points.find(Stressors, 'pressed')!
  expect([await pressed.sense?.(facts(1)), await pressed.sense?.(facts(3))]).toEqual(['raise', 'resolve'])
  const state = { agent_id: 'ada', load: 0.7, crisis: false } as InnerState
  expect(await kernel.points.ask(Moods, state)).toBe('pressed')
  const situation = { best: () => ({ agent_id: 'ada', goal_id: 'g', objective: 'o', result: 'r' }) }
  expect(kernel.points.find(SwarmPolicies, 'translators')!.act(situation as never)).toMatchObject([
    { kind: 'route', agent_id: 'ada' },
  ])
})

it("the guide's interceptor refuses force pushes", async () => {
  await using home = await testHost({ plugins: { 'careful.ts': plugins['careful.ts']! } })
  const [{ applies, check, intercept }] = home.kernel.points.list(ToolInterceptors).map(({ value }) => value) as [
    Required<ToolInterceptor>,
  ]
  const [call, shell] = [{ signal: new AbortController().signal } as ToolCall, { name: 'shell' } as Tool]
  expect([applies(shell), applies({ ...shell, name: 'grep' })]).toEqual([true, false])
  await expect(check({ command: 'git push -f origin main' }, call, shell)).rejects.toThrow('Force pushes')
  expect(await check({ command: 'git push origin fix' }, call, shell)).toBeUndefined()
  expect(await intercept({}, call, async () => 'db-1.internal is up', shell)).toBe('[host] is up')
})

it("the guide's full example works: a timer rings, is logged and becomes a goal", async () => {
  const agents = memoryScheduler(['ada'])
  await using home = await testHost({
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
