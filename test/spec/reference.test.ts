import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { OWN_COMMANDS } from '#interfaces/cli/commands/index'
import type { CommandSpec } from '#interfaces/cli/contract'
import { find } from '#interfaces/cli/parsing/find'
import { commandsOf } from '#interfaces/cli/parsing/tree'
import { configSchema, profileSchema } from '#interfaces/cli/project/schemas'
import { scaffoldProfile } from '#interfaces/cli/scaffold/profile'
import { aliases } from '#interfaces/mcp/aliases'
import { toolName } from '#interfaces/mcp/tools'
import { ProtocolRoutes, StaticRoutes } from '#interfaces/rest/contract'
import { Metrics } from '#observability/metrics/contract'
import { LIFECYCLE } from '#platform/heartbeat/contract'
import { BUILTINS } from '../../builtins/index.ts'
import { errorCatalogue, type Operation, Operations, type PluginState } from '../../kernel/index.ts'
import { type TestHost, testHost } from '../support/index.ts'
import { ROOT } from './authors.ts'
import { cliPage, configPage, errorsPage, eventsPage, meaningsIn, metricsPage, restPage } from './reference.ts'

let home: TestHost
let modules: PluginState[] = []
let operations: Operation[] = []
/** Returns the module that registered a contribution, by the label of its scope. */
const moduleOf = (label: string) => modules.find(({ registered }) => registered.includes(label))?.name ?? 'kernel'
/** The heartbeat is no plugin, so no scope lists its events. */
const moduleOfEvent = (name: string) => (name in LIFECYCLE ? 'heartbeat' : moduleOf(`event ${name}`))
const moduleOfOperation = (name: string) => moduleOf(`${Operations.name}: ${name}`)

beforeAll(async () => {
  home = await testHost({ builtins: BUILTINS, roles: [] })
  modules = home.kernel.host.list()
  operations = [...home.kernel.list(Operations)]
})
afterAll(() => home.close())

const sources = async (...folders: string[]): Promise<[path: string, text: string][]> => {
  const names = await Promise.all(
    folders.map(async folder =>
      (await readdir(join(ROOT, folder), { recursive: true })).map(name => join(folder, name)),
    ),
  )
  const files = names.flat().filter(name => name.endsWith('.ts'))
  return Promise.all(files.map(async file => [file, await readFile(join(ROOT, file), 'utf8')]))
}

/** Compares a page with the file in `docs/reference`; `-u` updates the file. */
const expectPage = (name: string, text: string) => expect(text).toMatchFileSnapshot(`../../docs/reference/${name}.md`)

it("the program's own operations are valid by the schema for operations of plugins", () => {
  for (const definition of operations) expect(() => Operations.options.shape!.parse(definition)).not.toThrow()
})

/** Verbs that begin a summary. Add others if they are imperative. */
const VERBS =
  /^(Abandon|Accept|Add|Answer|Approve|Back up|Benchmark|Cancel|Change|Chat|Check|Close|Compare|Create|Delete|Deny|Diagnose|Disable|Discard|Drain|Enable|Explain|Export|Follow|Freeze|Import|Install|Kill|List|Mark|Merge|Move|Open|Pause|Print|Reload|Remove|Reopen|Replay|Reset|Restart|Restore|Resume|Revoke|Run|Search|Send|Serve|Set|Show|Simulate|Spawn|Start|Stop|Stream|Trust|Undo|Watch|Write) /

it('summaries of operations and commands are imperative and at most 60 characters long', () => {
  const summaries = [...operations, ...OWN_COMMANDS, ...commandsOf(operations)].map(({ summary }) => summary)
  const isGood = (summary: string) => VERBS.test(summary) && summary.length <= 60 && !summary.endsWith('.')
  expect(summaries.filter(summary => !isGood(summary))).toEqual([])
})

it('each operation with a route has a description', () => {
  expect(operations.filter(({ http, description }) => http && !description).map(({ name }) => name)).toEqual([])
})

describe('configuration keys in the guides', () => {
  it('include each key of a module in the guide of that module', async () => {
    const readmes = (await guides()).filter(([file]) => /^builtins\/.*\/README\.md$/.test(file)).map(([, text]) => text)
    const missing = home.kernel.config.keys().filter(({ path, owner }) => {
      const text = readmes.find(text => text.startsWith(`# ${owner}\n`)) ?? ''
      return owner !== 'kernel' && !new RegExp(`\\b${path.split('.').at(-1)}\\b`).test(text)
    })
    expect(missing.map(({ path }) => path)).toEqual([])
  })

  it('all exist', async () => {
    const paths = home.kernel.config.keys().map(({ path }) => path)
    const sections = new Set(paths.map(path => path.split('.')[0]))
    const isKnown = (name: string) =>
      paths.some(path => `${path}.`.startsWith(`${name}.`) || name.startsWith(`${path}.`))
    const strange = (await guides()).flatMap(([file, text]) =>
      [...text.matchAll(/`([a-z_]+(?:\.[a-z_]+)+)`/g)]
        .map(([, name]) => name!)
        .filter(name => sections.has(name.split('.')[0]) && !/\.(ts|json|pid|sock|yaml)$/.test(name) && !isKnown(name))
        .map(name => `${file}: ${name}`),
    )
    expect(strange).toEqual([])
  })
})

it('links in the guides resolve', async () => {
  const broken = (await guides()).flatMap(([file, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(([, path, heading]) => {
      const target = path === '' ? join(ROOT, file) : join(ROOT, dirname(file), path!)
      if (!existsSync(target)) return [`${file}: ${path}`]
      const headings = heading === undefined ? [] : headingsOf(readFileSync(target, 'utf8'))
      return heading === undefined || headings.includes(heading) ? [] : [`${file}: ${path}#${heading}`]
    }),
  )
  expect(broken).toEqual([])
})

it('source files named in the guides exist, and the kernel guide names all files of the kernel', async () => {
  const filesNamed = (text: string) => [...text.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name]) => name!)
  const folders = ['kernel', 'builtins', 'embed', 'build', 'examples', 'test'].map(async folder =>
    (await readdir(join(ROOT, folder), { recursive: true })).map(name => `/${folder}/${name}`),
  )
  const files = [...(await Promise.all(folders)).flat(), ...(await readdir(ROOT)).map(name => `/${name}`)]
  // Authors may choose any file names.
  const ours = (await guides()).filter(([file]) => /^(README|CONTRIBUTING|SECURITY|kernel|builtins|docs)\b/.test(file))
  const strange = ours.flatMap(([file, text]) =>
    filesNamed(text)
      .filter(name => !files.some(each => each.endsWith(`/${name}`)))
      .map(name => `${file}: ${name}`),
  )
  expect(strange).toEqual([])
  const kernel = (await readdir(join(ROOT, 'kernel'))).filter(name => name.endsWith('.ts'))
  const documented = filesNamed(await readFile(join(ROOT, 'kernel/README.md'), 'utf8'))
  expect(kernel.filter(name => !documented.includes(name))).toEqual([])
})

/** Returns headings in the form of link anchors. */
const headingsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('commands in the guides', () => {
  it('exist and have valid options and arguments', async () => {
    const commands: CommandSpec[] = [...OWN_COMMANDS, ...commandsOf(operations)]
    const lines = (await guides())
      .filter(([file]) => !file.includes('/') || file.startsWith('docs/'))
      .flatMap(([file, text]) => commandLines(text).map(line => [file, line, mistakeIn(line, commands)]))
    expect(lines.length).toBeGreaterThan(80)
    expect(lines.filter(([, , mistake]) => mistake !== undefined)).toEqual([])
  })
})

it('every argument and option of a command has a description', () => {
  const silent = [...OWN_COMMANDS, ...commandsOf(operations)].flatMap(({ path, arguments: places, options }) =>
    [...places, ...options].flatMap(({ field, description }) => (description ? [] : [`${path.join(' ')}: ${field}`])),
  )
  expect(silent).toEqual([])
})

describe('JSON schemas for editors', () => {
  const validator = (schema: object) =>
    new Ajv({ allowUnionTypes: true, strict: false, validateFormats: false }).compile(schema)
  /** Returns properties without a description; sections of the configuration need none. */
  const silent = ({ properties = {} }: DescribedSchema, at: string): string[] =>
    Object.entries(properties).flatMap(([name, below]) => {
      const branch = below.anyOf?.find(({ properties }) => properties) ?? below
      const own = below.description === undefined && !(branch.properties && at === 'config') ? [`${at}.${name}`] : []
      return [...own, ...silent(branch, at === 'config' && branch.properties ? 'config' : `${at}.${name}`)]
    })

  it('accept the default configuration and the example, and reject what the program rejects', async () => {
    const schema = configSchema(home.kernel.config.keys())
    const taken = validator(schema)
    expect(taken(home.kernel.config.tree('effective'))).toBe(true)
    expect(taken({ daemon: { budget_usd: 5 }, model: { default_model: 'ollama:llama3.2' } })).toBe(true)
    expect(taken({ plugins: { config: { mine: { any: 'thing' } } } })).toBe(true)
    expect(taken(parse(await readFile(join(ROOT, 'examples/mcp/config.yaml'), 'utf8')))).toBe(true)
    const wrong = [{ daemon: { heartbeat: 'soon' } }, { daemon: { heartbeats: 3 } }, { deamon: {} }, { seed: 0.5 }]
    for (const value of wrong) expect(taken(value), JSON.stringify(value)).toBe(false)
    expect(silent(schema, 'config')).toEqual([])
  })

  it('accept every preset and a new profile, reject invalid profiles, and describe each key', async () => {
    const schema = await profileSchema()
    const taken = validator(schema)
    const presets = (await readdir(join(ROOT, 'profiles'))).filter(name => name.endsWith('.yaml'))
    const texts = await Promise.all(presets.map(name => readFile(join(ROOT, 'profiles', name), 'utf8')))
    for (const text of [...texts, scaffoldProfile('night-watch')]) {
      const place = text.includes('night-watch') ? '../.svc/schema' : '../dist/schema'
      expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${place}/profile.json`)
      expect(taken(parse(text)), text.slice(0, 200)).toBe(true)
    }
    expect(taken(parse(await readFile(join(ROOT, 'examples/mcp/librarian.yaml'), 'utf8')))).toBe(true)
    const unknown = [{ rolle: 'x' }, { persona: { purpos: 'x' } }]
    for (const wrong of [{ max_steps: 0 }, { persona: { happiness: 2 } }, { tools: 'file' }, ...unknown]) {
      expect(taken(wrong), JSON.stringify(wrong)).toBe(false)
    }
    expect(silent(schema, 'profile')).toEqual([])
  })
})

describe('the generated reference', () => {
  it('matches the configuration keys', async () => {
    await expectPage('config', configPage(home.kernel.config.keys()))
  })

  it('matches the events, each of which has a description', async () => {
    const emitting = (await sources('kernel', 'builtins/platform/heartbeat')).map(([, text]) => text).join('\n')
    const passing = new Set([...emitting.matchAll(/\bemit\('(\w+)'/g)].map(([, name]) => name))
    const events = [...home.kernel.hooks.events()].map(([name, schema]) => ({
      name,
      schema,
      module: moduleOfEvent(name),
      passing: passing.has(name),
    }))
    expect(events.filter(({ schema }) => !schema.description).map(({ name }) => name)).toEqual([])
    await expectPage(
      'events',
      eventsPage(
        events,
        operations.filter(({ events }) => events),
      ),
    )
  })

  it('matches the errors, including those of the command line and the client', async () => {
    const files = [
      ...(await sources('kernel', 'builtins', 'embed', 'test/support/simulation')),
      ...(await rootSources()),
    ]
    const defining = files.filter(([, text]) =>
      /^export const \w+ = defineError\(|^const \w+ = defineError\(/m.test(text),
    )
    for (const [file] of defining) await import(/* @vite-ignore */ join(ROOT, file))
    const meanings = new Map(files.flatMap(([, text]) => meaningsIn(text)))
    const errors = errorCatalogue()
    // An error whose message is computed needs a docstring.
    expect(errors.filter(({ code }) => !meanings.has(code)).map(({ code }) => code)).toEqual([])
    await expectPage('errors', errorsPage(errors, meanings, operations))
  })

  it('matches the commands', async () => {
    await expectPage('cli', cliPage([...OWN_COMMANDS, ...commandsOf(operations)], moduleOfOperation))
  })

  it('matches the operations with their routes, commands and tools', async () => {
    const { kernel } = home
    await expectPage(
      'rest',
      restPage({
        operations,
        modules,
        moduleOf: moduleOfOperation,
        toolOf: toolName,
        aliases: aliases(name => kernel.points.find(Operations, name)).map(alias => [
          toolName(alias),
          operations.find(({ output, summary }) => output === alias.output && summary === alias.summary)!.name,
        ]),
        protocols: kernel.list(ProtocolRoutes),
        pages: kernel.list(StaticRoutes).map(({ path }) => path),
      }),
    )
  })

  it('matches the metrics', async () => {
    await expectPage('metrics', metricsPage(home.kernel.list(Metrics)))
  })
})

/** Returns the commands in a guide: lines of its code blocks, and inline code. */
function commandLines(text: string): string[] {
  const blocks = [...text.matchAll(/^```(?:sh)?\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.split('\n'))
  const lines = blocks.map(line => line.replace(/^npx /, '').split(/ {2,}| && | #/)[0]!)
  const inline = [...text.matchAll(/`(svc [^`]+)`/g)].map(([, line]) => line!)
  return [...lines, ...inline].filter(line => /^svc [a-z-]/.test(line))
}

function mistakeIn(line: string, commands: readonly CommandSpec[]): string | undefined {
  const [, ...words] = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!)
  const spec = find(commands, words)
  if (!spec) return words[0] === '--help' ? undefined : 'there is no such command'
  // A command named within a sentence, without its arguments.
  if (spec.path.length === words.length) return undefined
  const placed: string[] = []
  const left = words.slice(spec.path.length)
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (!word.startsWith('-')) placed.push(word)
    else if (!['--json', '--help', '--root'].includes(word)) {
      const option = spec.options.find(({ name, short }) => word === `--${name}` || word === `-${short}`)
      if (!option) return `it takes no ${word}`
      if (option.type !== 'boolean') left.shift()
    }
  }
  if (placed.length < spec.arguments.filter(({ required }) => required).length) return 'an argument is missing'
  if (placed.length > spec.arguments.length && !spec.arguments.at(-1)?.rest) return 'it has a word too many'
  return undefined
}

interface DescribedSchema {
  description?: string
  properties?: Record<string, DescribedSchema>
  anyOf?: DescribedSchema[]
}

/** Returns every guide except the generated pages. */
async function guides(): Promise<[string, string][]> {
  const names = await Promise.all(
    ['builtins', 'docs', 'kernel', 'plugins', 'dashboard', 'examples'].map(async folder =>
      (await readdir(join(ROOT, folder), { recursive: true })).map(name => join(folder, name)),
    ),
  )
  const files = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...names.flat().filter(name => name.endsWith('.md') && !name.startsWith('docs/reference/')),
  ]
  return Promise.all(files.map(async file => [file, await readFile(join(ROOT, file), 'utf8')]))
}

async function rootSources(): Promise<[string, string][]> {
  const names = (await readdir(ROOT)).filter(name => name.endsWith('.ts') && !name.includes('.config.'))
  return Promise.all(names.map(async name => [name, await readFile(join(ROOT, name), 'utf8')]))
}
