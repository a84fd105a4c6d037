import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import cli from '#interfaces/cli/index'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { definePlugin, Operations, token } from '#kernel'
import { type Cycle, PHASES } from '#platform/heartbeat/contract'
import { Stressors } from '#society/suffering/contract'
import { asksForGoal, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import {
  leakLedger,
  memoryScheduler,
  runHeartbeat,
  type TestHost,
  testHost,
  text,
  toolCall,
  until,
  waitUntilIdle,
} from '../support/index.ts'
import { drop, outcomeLines, source, stateOf } from './sources.ts'

const Notes = token<string[]>('notes')
const NOTES = "const notes = svc.use({ name: 'notes' })\n"

/** Starts a test host with agents that run one cycle per heartbeat, and a list that plugins write to. */
async function testHostWithNotes(agents: readonly string[] = ['ada'], phase?: (cycle: Cycle) => void) {
  const notes: string[] = []
  const module = definePlugin({
    name: 'room',
    setup(svc) {
      svc.provide(Notes, notes)
      if (phase) svc.tap('context_assembly', 'room', phase)
    },
  })
  const builtins = [memoryScheduler(agents).plugin, module]
  const home = await testHost({ builtins })
  await waitUntilIdle(home)
  return Object.assign(home, { notes })
}

async function removePlugin(home: TestHost, file: string) {
  await rm(join(home.root, 'plugins', file), { recursive: true })
  expect((await home.kernel.host.apply()).map(({ outcome }) => outcome)).toEqual(['removed'])
}

it('handlers of every event are added and removed with their plugin', async () => {
  await using home = await testHostWithNotes()
  const { hooks } = home.kernel
  const names = [...hooks.events().keys()]
  expect(names.length).toBeGreaterThan(10)
  const emitAll = () => Promise.all(names.map(name => hooks.emit(name as 'beat', { beat: 1 })))
  const ledger = leakLedger(home)
  const listening = `${NOTES} for (const name of svc.events.keys()) svc.on(name, () => void notes.push(name))`
  await drop(home, { 'ears.ts': source('ears', listening) })
  home.notes.length = 0
  await emitAll()
  expect(home.notes.sort()).toEqual(names.sort())
  await removePlugin(home, 'ears.ts')
  home.notes.length = 0
  await emitAll()
  expect(home.notes).toEqual([])
  expect(ledger.diff().filter(line => line !== 'timer')).toEqual([])
})

it.each([...PHASES])(
  'a guard on %s is added and removed with its plugin, and follows failClosed when it throws',
  async phase => {
    const results: string[] = []
    await using home = await testHostWithNotes(['ada'], cycle => {
      cycle.pursuing = phase !== 'goal_generation'
    })
    home.kernel.hooks.on('cycle_end', ({ result }) => void results.push(result))
    const cycle = async () => {
      results.length = 0
      await runHeartbeat(home)
      return results.at(-1)
    }
    const guard = (body: string, failClosed: boolean) =>
      source('gate', `svc.guard('${phase}', { shouldProceed() { ${body} } }, { failClosed: ${failClosed} })`)
    expect(await cycle()).not.toBe('guarded')
    await drop(home, { 'gate.ts': guard('return false', false) })
    expect(await cycle()).toBe('guarded')
    await drop(home, { 'gate.ts': guard("throw new Error('no luck')", true) })
    expect(await cycle()).toBe('guarded')
    await drop(home, { 'gate.ts': guard("throw new Error('no luck')", false) })
    expect(await cycle()).not.toBe('guarded')
    await removePlugin(home, 'gate.ts')
    expect(await cycle()).not.toBe('guarded')
  },
)

it('a tap on each phase is added and removed with its plugin', async () => {
  await using home = await testHostWithNotes(['ada'], cycle => {
    cycle.pursuing = cycle.cycle_num % 2 === 0
  })
  const taps = `${NOTES} for (const phase of ${JSON.stringify(PHASES)}) svc.tap(phase, 'look', () => void notes.push(phase))`
  await drop(home, { 'looks.ts': source('looks', taps) })
  home.notes.length = 0
  await runHeartbeat(home)
  await runHeartbeat(home)
  expect(new Set(home.notes)).toEqual(new Set(PHASES))
  await removePlugin(home, 'looks.ts')
  home.notes.length = 0
  await runHeartbeat(home)
  expect(home.notes).toEqual([])
})

it('a wake source is added, replaced and removed with its plugin', async () => {
  await using home = await testHostWithNotes()
  let cycles = 0
  home.kernel.hooks.on('cycle_start', () => void cycles++)
  const mailbox = (version: string) =>
    source(
      'mailbox',
      `${NOTES} svc.wakeSource({ name: 'mailbox', wait: signal => new Promise(resolve => {
         svc.use({ name: 'mail' }).ring = resolve
         notes.push('${version} waits')
         signal.addEventListener('abort', () => { notes.push('${version} ended'); resolve('never mind') })
       }) })`,
    )
  const Mail = token<{ ring?: (reason: string) => void }>('mail')
  const mail: { ring?: (reason: string) => void } = {}
  home.kernel.services.provide(Mail, mail, 'test')
  await drop(home, { 'mailbox.ts': mailbox('one') })
  await until(() => home.notes.includes('one waits'))
  mail.ring?.('mail arrived')
  await until(async () => {
    await home.clock.advance(250)
    return cycles === 1
  })
  await drop(home, { 'mailbox.ts': mailbox('two') })
  await until(() => home.notes.includes('two waits'))
  expect(home.notes).toContain('one ended')
  await removePlugin(home, 'mailbox.ts')
  await until(() => home.notes.includes('two ended'))
})

it("a service replaces a builtin's, and the builtin's is back after its removal", async () => {
  const Weather = token<() => string>('weather')
  const builtin = definePlugin({ name: 'weather', setup: svc => void svc.provide(Weather, () => 'rain') })
  await using home = await testHost({ builtins: [builtin] })
  const sunny = (sky: string) => source('sunny', `svc.provide({ name: 'weather' }, () => '${sky}')`)
  await drop(home, { 'sunny.ts': sunny('sun') })
  expect(home.kernel.use(Weather)()).toBe('sun')
  await drop(home, { 'sunny.ts': sunny('more sun') })
  expect(home.kernel.use(Weather)()).toBe('more sun')
  await removePlugin(home, 'sunny.ts')
  expect(home.kernel.use(Weather)()).toBe('rain')
})

it('a configuration section is added with its values, validated, and removed with its plugin', async () => {
  await using home = await testHost({ config: { plugins: { config: { hours: { from: 8 } } } } })
  const { config } = home.kernel
  const hours = (shape: string) =>
    source('hours', '', `config: z.object(${shape}),`).replace('setup(svc)', 'setup(svc, config)')
  expect(config.get('plugins.config.hours.from')).toBeUndefined()
  await drop(home, {
    'hours.ts': hours("{ from: z.number().default(9).meta({ reload: 'applied' }), to: z.number().default(17) }"),
  })
  expect(config.get('plugins.config.hours.from')).toBe(8)
  expect(config.get('plugins.config.hours.to')).toBe(17)
  expect(await config.patch({ plugins: { config: { hours: { from: 7 } } } })).toEqual({
    'plugins.config.hours.from': 'applied',
  })
  expect(outcomeLines(await drop(home, { 'hours.ts': hours('{ from: z.string() }') }))).toEqual(['hours: failed'])
  expect(stateOf(home, 'hours')?.error).toMatch(/plugins\.config\.hours\.from/)
  expect(config.get('plugins.config.hours.to')).toBe(17)
  await removePlugin(home, 'hours.ts')
  expect(config.keys().filter(({ path }) => path.startsWith('plugins.config'))).toEqual([])
})

it('an operation is added, replaced and removed with its plugin as a route and in the OpenAPI document', async () => {
  await using home = await testHost({ builtins: [rest], roles: ['server'] })
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const ask = async (path: string) => {
    const answer = await fetch(url + path)
    return [answer.status, (await answer.json()) as { paths: object }] as const
  }
  const paths = async () => Object.keys((await ask('/openapi.json'))[1].paths)
  const weather = (sky: string) =>
    source(
      'weather',
      `svc.operation({
         name: 'weather.today', summary: 'The weather', input: z.object({ city: z.string() }), output: z.object({ sky: z.string() }),
         http: { method: 'GET', path: '/weather/{city}' }, run: ({ city }) => ({ sky: '${sky} in ' + city }),
       })`,
    )
  expect((await ask('/weather/bonn'))[0]).toBe(404)
  await drop(home, { 'weather.ts': weather('sun') })
  expect(await ask('/weather/bonn')).toEqual([200, { sky: 'sun in bonn' }])
  expect(await paths()).toContain('/weather/{city}')
  await drop(home, { 'weather.ts': weather('rain') })
  expect(await ask('/weather/bonn')).toEqual([200, { sky: 'rain in bonn' }])
  await removePlugin(home, 'weather.ts')
  expect((await ask('/weather/bonn'))[0]).toBe(404)
  expect(await paths()).not.toContain('/weather/{city}')
  expect(home.kernel.list(Operations).map(({ name }) => name)).not.toContain('weather.today')
})

it('commands of plugins are written when a bad plugin and a good one are loaded at once', async () => {
  await using home = await testHost({ builtins: [cli] })
  const wave = `svc.operation({ name: 'wave', summary: 'Wave', input: z.object({}), output: z.string(), cli: { usage: 'wave' }, run: () => '' })`
  // Left by another process of the project with other plugins.
  await home.write({ '.svc/commands.json': '{}' })
  await drop(home, { 'bad.ts': source('bad', 'throw new Error("no luck")'), 'good.ts': source('good', wave) })
  expect(home.logged('was not written')).toEqual([])
  expect(await readFile(join(home.root, '.svc/commands.json'), 'utf8')).toContain('"wave"')
})

it("a goal strategy chooses the agent's next goal until its plugin is removed", async () => {
  let own = 0
  await using home = await testHostWithModel(request =>
    asksForGoal(request)
      ? text(JSON.stringify({ goal: `Own idea number ${++own}, of the ${'abcdefgh'[own]}${own} kind`, reasoning: '' }))
      : toolCall('finish_goal', { summary: 'done' }),
  )
  const objectives: string[] = []
  home.kernel.hooks.on('goal_generated', ({ objective }) => void objectives.push(objective))
  await spawn(home)
  home.kernel.heartbeat.start()
  const next = async () => {
    const count = objectives.length
    await until(async () => {
      await runHeartbeat(home)
      return objectives.length > count
    })
    return objectives.at(-1)
  }
  expect(await next()).toMatch(/^Own idea/)
  const strategy = `svc.goalStrategy({ generateGoal: ({ cycle_num }) => ({ objective: 'Water plant number ' + cycle_num + ' of row ' + cycle_num * 7, cost_usd: 0, tokens: 0 }) })`
  await drop(home, { 'gardener.ts': source('gardener', strategy) })
  expect(await next()).toMatch(/^Water plant/)
  await removePlugin(home, 'gardener.ts')
  await until(async () => (await next())?.startsWith('Own idea'))
})

it('agents see a dropped tool in their next model request, use it, and no longer see it once it is removed', async () => {
  const dice = source(
    'dice',
    `svc.toolkit({ name: 'dice', tools: [tool({ name: 'roll', description: 'Rolls a die.', parameters: z.object({}), execute: () => 'it is a four' })] })`,
  )
  const offered: boolean[] = []
  const steps = [
    async (home: TestHost) => {
      await drop(home, { 'dice.ts': dice })
      return toolCall('list_dir', {})
    },
    async () => toolCall('roll', {}),
    async (home: TestHost, prompt: string) => {
      expect(prompt).toContain('it is a four')
      await removePlugin(home, 'dice.ts')
      return toolCall('roll', {})
    },
    async (_: TestHost, prompt: string) => {
      expect(prompt).toContain('there is no tool \\"roll\\"')
      return toolCall('finish_goal', { summary: 'done' })
    },
  ]
  await using home = await testHostWithModel(request => {
    if (asksForGoal(request)) return text(JSON.stringify({ goal: 'Roll a die until the tool is gone', reasoning: '' }))
    offered.push(request.body.tools?.some(each => each.function.name === 'roll') ?? false)
    return steps[offered.length - 1]!(home, JSON.stringify(request.body.messages))
  })
  await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'goal_completed')
  expect(offered).toEqual([false, true, true, false])
})

it('a model provider of a plugin is listed until its plugin is removed', async () => {
  await using home = await testHostWithModel(() => text('from the builtin provider'))
  const provider = source(
    'parrot',
    `svc.add(point('model_providers', { key: each => each.name }), {
       name: 'parrot',
       availability: async () => ({ available: true, reason: null }),
       async *stream() { yield { type: 'text', text: 'squawk' } },
     })`,
  )
  const listModels = async () => JSON.stringify(await home.kernel.invoke('models.list'))
  expect(await listModels()).not.toContain('parrot')
  await drop(home, { 'parrot.ts': provider })
  expect(await listModels()).toContain('parrot')
  await removePlugin(home, 'parrot.ts')
  expect(await listModels()).not.toContain('parrot')
})

it('a name that moved from svc to a module still works with a warning, and is the same value there', async () => {
  const plugins = {
    'before.ts': `import { definePlugin, Stressors, turns } from 'svc'
      export default definePlugin({
        name: 'before',
        setup(svc) {
          svc.add(Stressors, { name: 'draught', description: 'It is cold.', condition: 'It is warm.' })
          svc.log.info({}, typeof turns)
        },
      })`,
    'now.ts': `import { definePlugin, token } from 'svc'
      import { Stressors } from 'svc/suffering'
      export default definePlugin({ name: 'now', setup: svc => void svc.provide(token('point'), Stressors) })`,
  }
  await using home = await testHost({ plugins })
  expect(home.kernel.host.list().map(({ name, state }) => [name, state])).toEqual([
    ['before', 'live'],
    ['now', 'live'],
  ])
  expect(home.kernel.use(token('point'))).toBe(Stressors)
  expect(home.log.filter(({ level }) => level > 30).map(({ msg }) => msg)).toEqual([
    expect.stringMatching(/before\.ts: Stressors has moved; import it from 'svc\/suffering'$/),
  ])
  expect(home.logged('function')).toHaveLength(1)
})
