import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import authoring from '#interfaces/authoring/index'
import docs from '#interfaces/docs/index'
import mcp from '#interfaces/mcp/index'
import { project } from '../../cli/project.ts'
import { example } from '../../examples/example.ts'
import { leakLedger, type TestHostOptions, testHost } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'
import { AGENT_MODULES } from '../core/models/model-host.ts'

interface Check {
  plugin: string
  file: string
  needs: string[]
  config: { key: string; default: unknown; env: string | null; secret: boolean; reload: string }[]
  registers: { kind: string; name: string; detail: Record<string, unknown> }[]
  resources: string[][]
}

const asks = (place: string) =>
  `svc.operation({ name: 'draft.do', summary: 'x', input: z.object({ id: z.string() }), output: z.any(), run: () => 1, ${place} })`

/** Writes `source` to a draft outside the plugin folder and returns its check. */
async function check(source: string, options: TestHostOptions = {}): Promise<Check> {
  const files = { 'drafts/draft.ts': source }
  await using home = await testHost({
    ...options,
    builtins: [...AGENT_MODULES, authoring, docs, mcp],
    files,
    roles: ['cli'],
  })
  return (await home.kernel.invoke('plugins.check', { file: 'drafts/draft.ts' })) as Check
}

const plugin = (setup: string, more = '') => `import { definePlugin, z } from 'svc'
export default definePlugin({ name: 'draft', ${more} setup(svc) { ${setup} } })
`

describe('the registrations in a check', () => {
  it('list every kind of example plugin', async () => {
    const of = async (name: string) => check(example(name)[name]!)
    expect((await of('hook.ts')).registers).toEqual([{ kind: 'listens', name: 'goal_completed', detail: {} }])
    expect((await of('guard-fail-closed.ts')).registers).toEqual([
      { kind: 'guards', name: 'goal_pursuit/permit', detail: { fails: 'closed' } },
    ])
    expect((await of('guard-fail-open.ts')).registers[0]!.detail).toEqual({ fails: 'open' })
    expect((await of('wake-source.ts')).registers).toMatchObject([{ kind: 'wake_sources', name: 'inbox' }])
    expect((await of('goal-strategy.ts')).registers).toMatchObject([{ kind: 'goal_strategies', name: 'goal-list' }])
    expect((await of('service.ts')).registers).toMatchObject([{ kind: 'services', name: 'profiles' }])
    expect((await of('model-provider.ts')).registers).toMatchObject([{ kind: 'model_providers', name: 'parrot' }])
    expect((await of('resource.ts')).resources).toEqual([['daemon']])
    expect((await of('config.ts')).config).toMatchObject([
      {
        key: 'plugins.config.greeter.greeting',
        default: 'Good day',
        env: 'GREETING',
        secret: false,
        reload: 'applied',
      },
      { key: 'plugins.config.greeter.token', default: '', env: null, secret: true, reload: 'restart_required' },
    ])
  })

  it('show tools with their schemas, and operations with their routes and commands', async () => {
    const toolkit = await check(example('toolkit.ts')['toolkit.ts']!)
    expect(toolkit.registers[0]).toMatchObject({
      kind: 'toolkits',
      detail: { tools: [{ name: 'convert_distance', parameters: { required: ['value', 'from', 'to'] } }] },
    })
    const operation = await check(example('operation.ts')['operation.ts']!)
    expect(operation.registers[0]).toMatchObject({
      kind: 'operations',
      name: 'agents.tally',
      detail: {
        http: 'GET /tally',
        cli: ['svc tally'],
        mcp: true,
        input: { properties: { dead: { type: 'boolean' } } },
      },
    })
  })

  it('include needs, new events, taps and the processes of resources', async () => {
    const found = await check(
      plugin(
        "svc.event('drafted', z.object({})); svc.tap('cleanup', 'sweep', () => {}); svc.start(() => {}, { in: ['server', 'cli'] })",
        "needs: ['store'],",
      ),
    )
    expect(found.needs).toEqual(['store'])
    expect(found.registers.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['events drafted', 'taps cleanup'])
    expect(found.resources).toEqual([['server', 'cli']])
  })
})

describe('a check without side effects', () => {
  it('keeps nothing of the plugin, starts none of its resources and leaves its live version running', async () => {
    const started = "svc.start(() => { svc.log.info({}, 'started') }, { in: ['cli'] });"
    const files = { 'plugins/draft.ts': plugin(`${started} svc.on('beat', () => {})`) }
    await using home = await testHost({ builtins: [authoring], files, roles: ['cli'] })
    const before = home.kernel.host.list()
    const ledger = leakLedger(home)
    await home.write({
      'plugins/draft.ts': plugin(`${started} svc.on('beat', () => {}); svc.on('cycle_end', () => {})`),
    })
    const found = (await home.kernel.invoke('plugins.check', { file: 'plugins/draft.ts' })) as Check
    expect(found.registers.map(({ name }) => name)).toEqual(['beat', 'cycle_end'])
    expect(ledger.diff()).toEqual([])
    expect(home.kernel.host.list()).toMatchObject(before.map(({ name, registered }) => ({ name, registered })))
    expect(home.logged('started')).toHaveLength(1)
    expect(home.kernel.hooks.get('cycle_end').taps).toEqual([])
  })
})

describe('the error of a plugin that cannot be loaded', () => {
  const cases: [what: string, source: string, says: RegExp][] = [
    ['syntax', 'export default {\n  name: \n}', /draft\.ts:\d/],
    ['a throw at load', "\nthrow new Error('no luck')", /draft\.ts:2\): no luck/],
    ['a throw in setup', plugin("\n throw new Error('not today')"), /draft\.ts:3\): not today/],
    ['a missing import', "import './nowhere.ts'\nexport default {}", /draft\.ts.*nowhere/],
    ['no default export', 'export const name = 1', /has no default export; write: export default definePlugin/],
    ['a bad name', 'export default { name: "My Plugin", setup() {} }', /lower-case letters, digits and hyphens/],
    [
      'the database in setup, where no new process has it yet',
      `import { Store } from 'svc/store'\n${plugin('svc.use(Store)')}`,
      /the database opens after setup: call svc\.use\(Store\) where you need it/,
    ],
    ['an async setup', plugin('return Promise.resolve()'), /setup is async/],
    ['an event that no one declares', plugin("svc.on('cycle_sart', () => {})"), /cycle_start/],
    [
      'a need that is not met',
      plugin('', "needs: ['nobody'],"),
      /needs "nobody", which is not live; add it, or take it out/,
    ],
    [
      'a need that is misspelt',
      plugin('', "needs: ['goal'],"),
      /needs "goal", which is not live; did you mean "goals"/,
    ],
    [
      'a name that is taken',
      'export default { name: "store", setup() {} }',
      /the name "store" is taken by a part of the program \(to replace it, add replaces: 'store'\); give this plugin another/,
    ],
    [
      'a contribution whose name is taken',
      plugin("svc.toolkit({ name: 'notepad', tools: [] })"),
      /"draft" adds "notepad" to toolkits, but "toolkit-notepad" already did/,
    ],
    [
      'a route that another operation has, by whatever names of its parameters',
      plugin(asks("http: { method: 'DELETE', path: '/agents/{id}' }")),
      /"draft" adds "draft\.do" to operations with DELETE \/agents\/\{\}, but "agents\.delete" of "agents" already has it/,
    ],
    [
      'a route where a page is',
      plugin(asks("http: { method: 'GET', path: '/docs' }")),
      /"draft" adds "draft\.do" to operations with GET \/docs, but "\/docs" of "docs" already has it/,
    ],
    [
      'a route where another protocol is spoken',
      plugin(asks("http: { method: 'POST', path: '/mcp' }")),
      /"draft" adds "draft\.do" to operations with POST \/mcp, but "\/mcp" of "mcp" already has it/,
    ],
    [
      'a command that another operation has',
      plugin(asks("cli: { usage: 'pause <id>' }")),
      /"draft" adds "draft\.do" to operations with svc pause <>, but "agents\.pause" of "agents" already has it/,
    ],
    [
      'a route that is none',
      plugin(asks("http: { method: 'GET', path: 'draft' }")),
      /"GET draft"; write one such as GET/,
    ],
    [
      'a parameter of a route that the input does not have',
      plugin(asks("http: { method: 'GET', path: '/draft/{nr}' }")),
      /path \/draft\/\{nr\} of the operation "draft\.do" uses the field "nr", which its input does not have/,
    ],
    [
      'an argument of a command that the input does not have',
      plugin(asks("cli: { usage: 'draft <nr>' }")),
      /command "draft <nr>" of the operation "draft\.do" uses the field "nr", which its input does not have/,
    ],
    [
      'a contribution that lacks what its point asks for',
      plugin('svc.add(SwarmPolicies, { name: "p" })', '').replace('z }', 'SwarmPolicies, z }'),
      /drafts\/draft\.ts:2\): the contribution of "draft" to swarm_policies needs act\(\)/,
    ],
    [
      'a guard that judges nothing',
      plugin("svc.guard('goal_pursuit', {})"),
      /drafts\/draft\.ts:2\): the contribution of "draft" to guards needs shouldProceed\(\)/,
    ],
    ['no guard', plugin("svc.guard('goal_pursuit')"), /to guards needs shouldProceed\(\)/],
    [
      'a wake source that waits for nothing',
      plugin("svc.wakeSource({ name: 'x' })"),
      /contribution of "draft" to wake_sources needs wait\(\)/,
    ],
    [
      'a goal strategy that is a function',
      plugin("svc.goalStrategy(async () => 'x')"),
      /contribution of "draft" to goal_strategies needs generateGoal\(\)/,
    ],
    [
      'a toolkit without tools',
      plugin("svc.toolkit({ name: 'x' })"),
      /contribution of "draft" to toolkits needs tools, an array/,
    ],
    [
      'a tool that does not say what it does',
      plugin("svc.toolkit({ name: 'x', tools: [{ name: 'y', parameters: z.object({}), execute() {} }] })"),
      /the tool "y" of toolkit "x" needs description: '…', parameters/,
    ],
    [
      'a tool with another name for its function',
      plugin(
        "svc.toolkit({ name: 'x', tools: [{ name: 'y', description: 'Y.', parameters: z.object({}), run() {} }] })",
      ),
      /the tool "y" of toolkit "x" needs .* and execute\(\)/,
    ],
    [
      'a tool whose arguments are no object, which no model can be given',
      plugin(
        "svc.toolkit({ name: 'x', tools: [tool({ name: 'y', description: 'Y.', parameters: z.string(), execute() {} })] })",
      ).replace('z }', 'tool, z }'),
      /the parameters of the tool "y" of toolkit "x" are not an object, which models require: write parameters: z\.object/,
    ],
    [
      'a parameter that JSON does not have',
      plugin(
        "svc.toolkit({ name: 'x', tools: [tool({ name: 'y', description: 'Y.', parameters: z.object({ of: z.object({ day: z.date().optional() }) }), execute() {} })] })",
      ).replace('z }', 'tool, z }'),
      /the parameter "of\.day" of the tool "y" of toolkit "x" is a date, which no model can send as JSON/,
    ],
    [
      'a contribution that is undefined',
      plugin('svc.add(PromptSections, undefined)').replace('z }', 'PromptSections, z }'),
      /the contribution of "draft" to prompt_sections is undefined/,
    ],
    [
      'a contribution to no point',
      plugin("svc.add('prompt_sections', {})"),
      /"draft" names no point to add to; import/,
    ],
    [
      'a guard that is added as it is',
      plugin("svc.add(Guards, { name: 'x', phase: '*', shouldProceed: () => true })").replace('z }', 'Guards, z }'),
      /the contribution of "draft" to guards needs failClosed\(\); failed\(\)/,
    ],
    [
      'an operation that does nothing',
      plugin("svc.operation({ name: 'x' })"),
      /contribution of "draft" to operations needs run\(\)/,
    ],
    [
      'an operation without a summary, which help shows',
      plugin("svc.operation({ name: 'x', input: z.object({}), output: z.string(), run: () => '' })"),
      /the operation "x" needs summary, input: z\.object/,
    ],
    [
      'an operation whose input no request can contain',
      plugin(
        "svc.operation({ name: 'x.y', summary: 'Do it', input: z.object({ since: z.date() }), output: z.string(), http: { method: 'POST', path: '/x' }, run: () => '' })",
      ),
      /the field "since" of the operation "x\.y" is a date, which no request can contain as JSON/,
    ],
    [
      'an operation whose output JSON would lose',
      plugin(
        "svc.operation({ name: 'x.y', summary: 'Do it', input: z.object({}), output: z.object({ of: z.map(z.string(), z.string()) }), cli: { usage: 'x' }, run: () => ({ of: new Map() }) })",
      ),
      /the output of the operation "x\.y" has the field "of", which is a map; JSON has none: return a string/,
    ],
    [
      'a handler that is none',
      plugin("svc.on('goal_completed')"),
      /contribution of "draft" to goal_completed needs handler\(\)/,
    ],
    [
      'a service without its methods',
      plugin('return { budget: { status() {}, reset() {}, isExceeded() {} } }', "replaces: 'budget',"),
      /the contribution of "draft" to the service budget needs warnings\(\); shareLeft\(\)/,
    ],
    ['a tap without a function', plugin("svc.tap('beat', 'x')"), /contribution of "draft" to beat needs fn\(\)/],
    ['a resource without a start', plugin('svc.start()'), /contribution of "draft" to resources needs start\(\)/],
    [
      'a contribution that has nothing',
      plugin('svc.add(PromptSections, {})').replace('z }', 'PromptSections, z }'),
      /the contribution of "draft" to prompt_sections needs name, a string; stage, a number; prompts, an array; text\(\)/,
    ],
    [
      'a task type without tools',
      plugin('svc.add(TaskTypes, { name: "anvils", words: { anvil: 2 } })').replace('z }', 'TaskTypes, z }'),
      /draft\.ts:2\): tools: is missing/,
    ],
    [
      'a command that is a text',
      plugin(asks("cli: 'a <id>'")),
      /command without usage; set it as in cli: \{ usage: 'weather/,
    ],
    [
      'a command that reaches no daemon',
      plugin(asks("reach: 'daemon', cli: { usage: 'draft <id>' }")),
      /"draft\.do" runs in the daemon, which its command reaches by a route; add one such as/,
    ],
    [
      'a command that the program has',
      plugin(asks("cli: { usage: 'new plugin <id>' }")),
      /"draft\.do" has the command "new plugin", but svc new plugin is a command of the program; choose other words/,
    ],
    [
      'a field that is an option of every command',
      plugin(asks("cli: { usage: 'draft <id>' }").replace('id: z.string()', 'id: z.string(), json: z.boolean()')),
      /"draft\.do" has the field "json", but every command has an option --json; give the field another name/,
    ],
    [
      'a command without words',
      plugin(asks("cli: { usage: '<id>' }")),
      /has no valid command in "<id>"; write one such as/,
    ],
  ]
  it.each(cases)('names the problem: %s', async (_, source, says) => {
    await expect(check(source)).rejects.toThrow(says)
  })

  it('names the step and the fault of a migration, which runs in a database in memory', async () => {
    const table = 'CREATE TABLE draft_rows (id TEXT PRIMARY KEY)'
    const migrations = (...steps: string[]) =>
      check(plugin(`svc.migrations(${JSON.stringify(steps)})`, "needs: ['store'],"))
    expect((await migrations(table, 'CREATE INDEX draft_by ON draft_rows (id)')).registers).toMatchObject([
      { kind: 'plugin_migrations', name: 'draft' },
    ])
    await expect(migrations(table, 'CREATE INDEX draft_by ON draft_row (id)')).rejects.toThrow(
      /^Step 2 of the migrations of draft \(\/.*\.ts\) did not run: no such table: main\.draft_row\.$/,
    )
    await expect(migrations(`${table}; SELECT 1`)).rejects.toThrow(/Step 1 of .* more than one statement/)
  })

  it('names a bad configuration value and its line in the file', async () => {
    const source = plugin('', 'config: z.object({ n: z.number().default(1) }),')
    const config = 'plugins:\n  config:\n    draft:\n      n: many\n'
    await expect(check(source, { config })).rejects.toThrow(/config\.yaml:4/)
  })
})

it('the check of a live plugin that is a link reports no conflict with itself', async () => {
  const live = plugin('').replace("'draft'", "'live'")
  await using home = await testHost({ builtins: [authoring], files: { 'elsewhere/index.ts': live }, roles: ['cli'] })
  await mkdir(join(home.root, 'plugins'))
  await symlink(join(home.root, 'elsewhere'), join(home.root, 'plugins/live'))
  await home.kernel.host.apply()
  for (const file of ['plugins/live', 'plugins/live/index.ts'])
    expect(await home.kernel.invoke('plugins.check', { file })).toMatchObject({ plugin: 'live' })
})

describe('svc plugins check', () => {
  it('shows keys that must be set as required', async () => {
    const keys = "config: z.object({ city: z.string(), unit: z.string().default('C'), at: z.string().optional() }),"
    const config = 'plugins: { config: { draft: { city: Oslo } } }\n'
    await using dir = await project({ 'drafts/draft.ts': plugin('', keys), '.svc/config.yaml': config })
    const { stdout } = await svc(['plugins', 'check', 'drafts/draft.ts'], { cwd: dir.path })
    const shown = [...stdout.matchAll(/plugins\.config\.draft\.(\w+) +(.*)/g)].map(([, key, value]) => [key, value])
    expect(shown.sort()).toEqual([
      ['at', 'default null'],
      ['city', 'required'],
      ['unit', 'default "C"'],
    ])
  })

  it('prints a table for people and JSON for programs', async () => {
    await using dir = await project({ 'drafts/toolkit.ts': example('toolkit.ts')['toolkit.ts']! })
    const { code, stdout } = await svc(['plugins', 'check', 'drafts/toolkit.ts'], { cwd: dir.path })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^distances \(drafts\/toolkit\.ts\)$/m)
    expect(stdout).toMatch(/^ {2}toolkits {2}distances {2}convert_distance\(value, from, to\)$/m)
    const json = await svc(['plugins', 'check', '--json', 'toolkit.ts'], { cwd: `${dir.path}/drafts` })
    expect(JSON.parse(json.stdout)).toMatchObject({ plugin: 'distances', file: 'drafts/toolkit.ts' })
  })

  it('exits with 1 and the place of the error, also for a name that a live plugin uses', async () => {
    const source = plugin("svc.on('beat', () => {})")
    await using dir = await project({ 'plugins/draft.ts': source, 'drafts/same.ts': source, 'drafts/bad.ts': '\n(' })
    const bad = await svc(['plugins', 'check', 'drafts/bad.ts'], { cwd: dir.path })
    expect(bad).toMatchObject({ code: 1, stdout: '' })
    expect(bad.stderr).toMatch(/drafts\/bad\.ts:2/)
    const taken = await svc(['plugins', 'check', 'drafts/same.ts'], { cwd: dir.path })
    expect(taken.code).toBe(1)
    expect(taken.stderr).toMatch(/the name ".*" is taken by .*plugins\/draft\.ts/)
    const missing = await svc(['plugins', 'check', 'drafts/none.ts'], { cwd: dir.path })
    expect(missing.code).toBe(1)
    expect(missing.stderr).toMatch(/drafts\/none\.ts is neither a file nor a folder with an index\.ts/)
  })

  it('has no route and no MCP tool: only someone at the machine may name files', async () => {
    await using home = await testHost({ builtins: [authoring], roles: ['server'] })
    const { Operations } = await import('#kernel')
    const { http, mcp } = home.kernel.points.find(Operations, 'plugins.check')!
    expect([http, mcp]).toEqual([undefined, undefined])
  })
})
