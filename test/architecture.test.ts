import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, it } from 'vitest'
import { MODULES } from '../build/modules.js'
import { importable } from '../embed/importable.ts'
import * as known from '../embed/public.ts'
import * as exported from '../index.ts'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Pairs of classes that belong together, with a file each. */
const PARTNERS = [
  'builtins/observability/recordings/recording/recorder.ts → builtins/observability/recordings/recording/recorded-context.ts → builtins/observability/recordings/recording/recorder.ts',
  'builtins/platform/cluster/scheduler.ts → builtins/platform/cluster/store.ts → builtins/platform/cluster/scheduler.ts',
  'builtins/platform/store/sqlite/database.ts → builtins/platform/store/sqlite/other-processes.ts → builtins/platform/store/sqlite/database.ts',
  'embed/agent.ts → embed/standalone.ts → embed/agent.ts',
]

/**
 * Entry points, which combine modules or are shipped as files of their own; they do not belong to the module of their
 * folder.
 */
const COMPOSED = [
  'builtins/index.ts',
  'builtins/migrations.ts',
  'builtins/interfaces/cli/program.ts',
  'builtins/interfaces/cli/svc.ts',
  'builtins/interfaces/rest/client.ts',
]

/** The only place that may import each npm package. `test/` and `build/` are free. */
const HOMES: Record<string, string | string[]> = {
  zod: 'kernel/',
  tapable: 'kernel/hooks.ts',
  jiti: 'builtins/platform/plugin-files/compiler.ts',
  chokidar: 'builtins/platform/plugin-files/watch.ts',
  picomatch: 'builtins/tools/toolkits/file/',
  pino: 'builtins/lib/log.ts',
  yaml: 'builtins/lib/yaml.ts',
  'better-sqlite3': 'builtins/platform/store/',
  umzug: 'builtins/platform/store/',
  pg: 'builtins/platform/cluster/',
  ajv: 'builtins/core/runtime/schema-thread.js',
  'ajv-formats': 'builtins/core/runtime/schema-thread.js',
  openai: 'builtins/core/models/',
  fastify: 'builtins/interfaces/rest/',
  'fastify-sse-v2': 'builtins/interfaces/rest/',
  'eventsource-parser': 'builtins/',
  undici: 'builtins/safety/net/',
  'ipaddr.js': 'builtins/safety/net/',
  croner: 'builtins/platform/schedules/',
  stemmer: 'builtins/core/memory/search/',
  diff: 'builtins/tools/toolkits/file/',
  sharp: 'builtins/core/images/',
  '@modelcontextprotocol/sdk': ['builtins/interfaces/mcp/', 'builtins/tools/mcp-client/'],
  '@anthropic-ai/sdk': 'builtins/core/models/',
  clipanion: 'builtins/interfaces/cli/',
  'fast-string-width': 'builtins/interfaces/cli/',
  '@opentelemetry/api': 'builtins/observability/telemetry/',
  '@opentelemetry/sdk-trace-base': 'builtins/observability/telemetry/',
  '@opentelemetry/sdk-metrics': 'builtins/observability/telemetry/',
  '@opentelemetry/resources': 'builtins/observability/telemetry/',
  '@opentelemetry/exporter-trace-otlp-proto': 'builtins/observability/telemetry/',
  '@opentelemetry/exporter-metrics-otlp-proto': 'builtins/observability/telemetry/',
}

/** Globals that the ports replace: plugins use `svc.ports` and `svc.clock`, so that a run can control them. */
const RAW_GLOBALS = [
  'Date.now',
  'performance.now',
  'Math.random',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'fetch',
  'process.env',
  'crypto.randomUUID',
]
const RAW_MODULES = /^(node:)?(fs|child_process|timers)(\/promises)?$/

interface Import {
  /** Name as written. */
  name: string
  /** File that the name refers to, relative to the root; undefined for packages. */
  file: string | undefined
  type: boolean
  /** Whether it is re-exported. */
  exported: boolean
  lazy: boolean
}

interface Source {
  path: string
  text: string
  imports: Import[]
}

const sources = ['kernel', 'builtins', 'plugins', 'examples']
  .filter(name => existsSync(join(ROOT, name)))
  .flatMap(sourcesBelow)
const within = (...folders: string[]) =>
  sources.filter(({ path }) => folders.some(folder => path.startsWith(`${folder}/`)))
const modules = within('builtins').filter(({ path }) => !COMPOSED.includes(path))
const front = [sourceOf('index.ts'), ...sourcesBelow('embed')]

describe('allowed imports', () => {
  it('the kernel imports no files outside kernel/', () => {
    const strangers = offences(within('kernel'), ({ file }) => file !== undefined && !file.startsWith('kernel/'))
    expect(strangers).toEqual([])
  })

  it("a builtin imports only the kernel, libraries, its own folder, and others' contracts and statements", () => {
    const strangers = offences(modules, ({ name, file }, { path }) => {
      if (name === '#kernel' || name.startsWith('#lib/')) return false
      // The store runs the migrations of all modules, whichever of them are enabled.
      if (name === '#migrations') return !path.startsWith('builtins/platform/store/')
      if (name === 'svc') return true
      if (file === undefined || file.startsWith(`${moduleOf(path)}/`)) return false
      return !['contract.ts', 'statements.ts'].includes(basename(file))
    })
    expect(strangers).toEqual([])
  })

  it('a library imports only the kernel and other libraries', () => {
    const strangers = offences(within('builtins/lib'), ({ name, file }) => {
      return name !== '#kernel' && file !== undefined && !file.startsWith('builtins/lib/')
    })
    expect(strangers).toEqual([])
  })

  it('a contract has no behaviour and, except for types, imports only the kernel, libraries and contracts', () => {
    const contracts = modules.filter(({ path }) => basename(path) === 'contract.ts')
    expect(contracts.length).toBeGreaterThan(0)
    const strangers = offences(contracts, ({ name, file, type, exported }, { path }) => {
      // A contract may re-export functions of its own folder.
      if (exported && file?.startsWith(`${dirname(path)}/`)) return false
      return !type && name !== '#kernel' && !name.startsWith('#lib/') && basename(file ?? '') !== 'contract.ts'
    })
    expect(strangers).toEqual([])
    // A function longer than a conversion or a check belongs in a file of its own.
    const functions = /^(?:export )?(?:async )?function (\w+)[\s\S]*?^\}$/gm
    const long = contracts.flatMap(({ path, text }) =>
      [...text.matchAll(functions)]
        .filter(([body]) => body.split('\n').length > 6)
        .map(([, name]) => `${path}: ${name}`),
    )
    expect(long).toEqual([])
    const sql = /`?(?:SELECT [\w*(]|INSERT INTO |DELETE FROM |UPDATE \w+ SET )/
    expect(contracts.filter(({ text }) => sql.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('plugins and examples import only svc, Node modules, and files of their own folder', () => {
    const strangers = offences(within('plugins', 'examples'), ({ name, file }, { path }) => {
      if (file !== undefined) return !file.startsWith(`${path.split('/').slice(0, 2).join('/')}`)
      return !/^svc(\/|$)/.test(name) && !name.startsWith('node:')
    })
    expect(strangers).toEqual([])
  })

  it('each npm package is imported from one place only', () => {
    const strangers = offences(within('kernel', 'builtins'), ({ name, file, type }, { path }) => {
      if (type || file !== undefined || name.startsWith('node:') || name.startsWith('#')) return false
      const home = HOMES[packageOf(name)]
      return ![home ?? []].flat().some(folder => path.startsWith(folder))
    })
    expect(strangers).toEqual([])
  })

  it('no files except the known pairs import each other in a cycle', () => {
    expect(circles([...sources, ...front])).toEqual(PARTNERS)
  })

  it('no modules import each other in a cycle', () => {
    const names = [...new Set(modules.map(({ path }) => moduleOf(path)))]
    const graph = names.map(name => {
      const imports = modules.filter(({ path }) => moduleOf(path) === name).flatMap(source => source.imports)
      const others = imports.filter(({ file }) => file?.startsWith('builtins/') && !COMPOSED.includes(file))
      const edges = others.map(each => ({ ...each, file: moduleOf(each.file!) })).filter(({ file }) => file !== name)
      return { path: name, text: '', imports: edges }
    })
    expect(graph.flatMap(({ imports }) => imports).length).toBeGreaterThan(500)
    expect(circles(graph)).toEqual([])
  })
})

describe('sources of nondeterminism', () => {
  /** The ports, the timers of plugins' own code, and a thread that no run needs to control. */
  const FREE = [
    'builtins/lib/system-files.ts',
    'builtins/lib/system-ports.ts',
    'builtins/platform/plugin-files/plugin-timers.ts',
    'builtins/platform/plugin-files/package-timers.ts',
    'builtins/core/runtime/schema-thread.js',
  ]
  const held = within('kernel', 'builtins', 'plugins').filter(({ path }) => ![...FREE, ...COMPOSED].includes(path))

  it('only the ports use raw globals', async () => {
    const found = await Promise.all(
      held.map(async ({ path, text }) => (await rawGlobals(text)).map(raw => `${path}: ${raw}`)),
    )
    expect(found.flat()).toEqual([])
  })

  it('only the ports import modules for files, processes and timers', () => {
    expect(offences(held, ({ name, type }) => RAW_MODULES.test(name) && !type)).toEqual([])
  })

  it('the check finds raw globals, and ignores code that only looks like them', async () => {
    const guilty = 'const a = Date.now() + new Date().getTime(); fetch(`x`); globalThis.setTimeout(() => {}, 1)'
    expect(await rawGlobals(guilty)).toEqual(['Date.now', 'fetch', 'globalThis.setTimeout', 'new Date()'])
    const innocent = `// Date.now()
      import { fetch } from './own.ts'
      const text = 'new Date() and Math.random()'
      export const use = (clock: { fetch(): void }, Date: never) => [fetch(), clock.fetch(), text, Date]
      export const then = new globalThis.Date(0)`
    expect(await rawGlobals(innocent)).toEqual([])
  })
})

describe('public API', () => {
  /** Maximum number of values in `svc`, without deprecated ones. */
  const VALUES = 80

  it('svc exports no more values than the limit', () => {
    const values = Object.keys(known).sort()
    console.log(`svc: ${values.length} values: ${values.join(', ')}`)
    expect(values.length).toBeLessThanOrEqual(VALUES)
  })

  it('svc and svc/<module> export exactly the names in kernel/public-names.txt', async () => {
    const modules = Object.entries({ ...(await importable()), svc: known })
    const text = modules.map(([name, values]) => [name, ...Object.keys(values).sort()].join('\n  '))
    await expect(`${text.sort().join('\n')}\n`).toMatchFileSnapshot('kernel/public-names.txt')
  })

  it('each contract is published as svc/<module>, and no earlier export of svc is missing', async () => {
    const contracts = modules.flatMap(({ path }) => (path === `${moduleOf(path)}/contract.ts` ? [path] : []))
    const published = Object.values(MODULES)
    expect(contracts.filter(path => !published.includes(path))).toEqual([])
    const names = Object.values(await importable()).flatMap(values => Object.keys(values))
    expect(Object.keys(exported).filter(name => !names.includes(name))).toEqual([])
  })

  it('every error has the name under which it is exported', async () => {
    const all = Object.values(await importable()).flatMap(values => Object.entries(values))
    const errors = all.filter(([, value]) => typeof value === 'function' && 'code' in value)
    expect(errors.length).toBeGreaterThan(50)
    expect(errors.filter(([name, made]) => (made as { name: string }).name !== name)).toEqual([])
  })

  it('every error has a unique code in snake_case', () => {
    const code = sources.map(({ text }) => text.replace(/^\s*\*.*$/gm, '')).join('\n')
    const codes = [...code.matchAll(/\bdefineError\(\{\s*code: '([^']*)'/g)].map(([, name]) => name!)
    expect(codes).toHaveLength([...code.matchAll(/\bdefineError\(\{/g)].length)
    expect(codes.filter(name => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([])
    expect(codes.filter((name, n) => codes.indexOf(name) !== n)).toEqual([])
  })

  it('the lock file contains no registry URLs', () => {
    expect(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
  })
})

describe('documentation of the sources', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

  it("each module has a README titled with its plugin's name, and is in the list of all modules", () => {
    const list = read('builtins/README.md')
    const folders = modules.filter(({ path }) => path === `${moduleOf(path)}/index.ts`).map(({ path }) => dirname(path))
    expect(folders.filter(folder => !list.includes(`(${relative('builtins', folder)}/README.md)`))).toEqual([])
    const named = folders.map(folder => read(`${folder}/README.md`).split('\n', 1)[0])
    const names = folders.map(folder => /^ {2}name: '(.*)'/m.exec(read(`${folder}/index.ts`))?.[1])
    expect(named).toEqual(names.map(name => `# ${name}`))
  })

  it('the dependency page lists each package', () => {
    const { dependencies, peerDependencies } = JSON.parse(read('package.json'))
    const first = read('docs/dependencies.md')
      .split('\n')
      .map(row => row.split('|')[1] ?? '')
    const documented = first.flatMap(cell => cell.split(',').map(name => name.trim()))
    const names = Object.keys({ ...dependencies, ...peerDependencies })
    const isDocumented = (name: string) =>
      documented.includes(name) || documented.includes(name.replace('@opentelemetry/', ''))
    expect(names.filter(name => !isDocumented(name))).toEqual([])
  })

  it("each file of the kernel is listed in the kernel's README", () => {
    const list = read('kernel/README.md')
    expect(within('kernel').filter(({ path }) => !list.includes(`\`${basename(path)}\``))).toEqual([])
  })

  /** Folders with many files of one kind. */
  const LISTS = ['builtins/lib', 'builtins/tools/toolkits', 'docs', 'examples']

  it('only the listed folders have more than 18 entries', () => {
    const folders = [
      'builtins',
      'build',
      'dashboard',
      'docs',
      'embed',
      'examples',
      'kernel',
      'plugins',
      'profiles',
      'test',
    ]
    const below = folders.flatMap(folder => [
      folder,
      ...readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter(entry => entry.isDirectory())
        .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name))),
    ])
    const large = below.filter(folder => readdirSync(join(ROOT, folder)).length > 18)
    expect(large.sort()).toEqual(LISTS)
  })
})

describe('code quality', () => {
  it('no source contains a mark of unfinished work', () => {
    const marks = /\b(TODO|FIXME|XXX|HACK)\b|[Nn]ot (yet )?implemented/
    expect(lines([...sources, ...front], line => marks.test(line))).toEqual([])
  })

  it('no source uses the type any or suppresses type errors', () => {
    const escapes = /@ts-(ignore|nocheck|expect-error)|:\s*any\b(?!\s+\w)|\bas any\b|<any[,>]|, any>/
    expect(lines([...sources, ...front], line => escapes.test(withoutStrings(line)))).toEqual([])
  })

  it('no file of the kernel is longer than 400 lines', () => {
    expect(within('kernel').filter(({ text }) => text.split('\n').length - 1 > 400)).toEqual([])
  })

  const LONGEST_FUNCTION = 60
  /** Functions that only declare things, one after another: tools, or what a plugin adds. */
  const DECLARES = /^(setup|base|\w*(Toolkit|Tools))$/
  /** Longer functions, each with the reason. */
  const LONG: Record<string, string> = {
    'builtins/core/agents/block-reasons.ts agentBlockReasons': 'a list of ten reasons, one object each',
    'builtins/core/goals/generation/generation.ts generate': 'the steps of one phase, in their order',
    'builtins/core/goals/pursuit/pursuit.ts pursue': 'one case for each end of a pursuit',
    'builtins/core/models/call/call.ts callModel': 'one loop of attempts that share their time limit and spend',
    'builtins/core/models/providers/anthropic.ts anthropic': 'a provider: functions around one client',
    'builtins/core/models/providers/openai.ts openaiCompatible': 'a provider: functions around one client',
    'builtins/core/models/providers/probe.ts probe': 'functions around one remembered answer of a server',
    'builtins/core/runtime/loop/turn.ts runAll': 'one turn: calls that run at once, and what their ends decide',
    'builtins/interfaces/rest/listener/listener.ts createListener': 'handlers around the state of one server',
    'builtins/lab/demos/detective-report.ts caseReport': 'one page of HTML',
    'builtins/observability/recordings/replay/fork.ts fork': 'the steps of one fork, whose resources end in reverse',
    'builtins/observability/recordings/replay/playback.ts #replayEntry': 'one case for each kind of entry',
  }

  it('a function longer than 60 lines only declares things, or has a listed reason', () => {
    const long = [...sources, ...front].filter(({ path }) => !path.endsWith('.d.ts')).flatMap(longFunctions)
    const unexplained = long.filter(({ path, name }) => !DECLARES.test(name) && !LONG[`${path} ${name}`])
    expect(unexplained).toEqual([])
  })

  it('the check reports a long function with its name', () => {
    const text = `const table = { lookUp: () => {${'\n'.repeat(LONGEST_FUNCTION)}} }\nfunction short() {}`
    expect(longFunctions({ path: 'a.ts', text, imports: [] })).toEqual([{ path: 'a.ts', name: 'lookUp', lines: 61 }])
  })

  /**
   * Returns the functions of a file with too many lines. A function without a name takes the name of its key or
   * variable.
   */
  function longFunctions({ path, text }: Source): { path: string; name: string; lines: number }[] {
    const found: { path: string; name: string; lines: number }[] = []
    const visit = (node: Node, name: string) => {
      const isFunction = /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type) && node.body
      const lines = text.slice(node.start, node.end).split('\n').length
      if (isFunction && lines > LONGEST_FUNCTION) found.push({ path, name: node.id?.name ?? name, lines })
      for (const part of Object.values(node).flat()) {
        if (isNode(part)) visit(part, node.key ? text.slice(node.key.start, node.key.end) : (node.id?.name ?? name))
      }
    }
    visit(parseAst(text, { lang: 'ts' }) as unknown as Node, '')
    return found
  }

  it('each operation of a module is an exported constant named after the operation', () => {
    // Created for one caller each, from its parameters: a terminal's context, or the operation that it stands for.
    const MADE = ['builtins/interfaces/cli/commands/service/mcp-operations.ts', 'builtins/interfaces/mcp/aliases.ts']
    const files = modules.filter(({ path, text }) => /\b(operation|stream)\(\{/.test(text) && !MADE.includes(path))
    const found = files.flatMap(({ path, text }) => {
      const calls = text.matchAll(/^(.*)\b(?:operation|stream)\(\{(?:\s*name: '([^']+)')?/gm)
      return [...calls].map(([, before, name = '']) => ({ path, before, name }))
    })
    const own = found.filter(({ path }) => path !== 'builtins/lib/stream.ts' && !path.includes('/scaffold/'))
    const camelCase = (name: string) => name.replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase())
    expect(own.length).toBeGreaterThan(150)
    expect(own.filter(({ before, name }) => before !== `export const ${camelCase(name)} = `)).toEqual([])
  })

  /**
   * Size limits, in lines without comments and blanks. The contract is all outside `host/`: plugins are written against
   * it.
   */
  const KERNEL = { code: 1_900, contract: 1_250, files: 22 }

  it('the kernel stays within its size limits', () => {
    const isCode = (line: string) => !/^\s*(\/\/.*|\/?\*.*)?$/.test(line)
    const codeIn = (files: readonly Source[]) => files.flatMap(({ text }) => text.split('\n').filter(isCode)).length
    const [all, host] = [within('kernel'), within('kernel/host')]
    const code = codeIn(all)
    const size = { code, contract: code - codeIn(host), files: all.length }
    console.log(`kernel: ${size.code} lines of code in ${size.files} files, ${size.contract} of them the contract`)
    expect(size.code).toBeLessThanOrEqual(KERNEL.code)
    expect(size.contract).toBeLessThanOrEqual(KERNEL.contract)
    expect(size.files).toBeLessThanOrEqual(KERNEL.files)
  })
})

/** Node of the syntax tree, with the properties that are used here. */
interface Node {
  type: string
  start: number
  end: number
  body?: unknown
  id?: { name?: string } | null
  key?: Node
}

function isNode(value: unknown): value is Node {
  return typeof (value as Node | null)?.type === 'string'
}

function sourcesBelow(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name) && !/node_modules/.test(entry.parentPath))
    .map(entry => sourceOf(relative(ROOT, join(entry.parentPath, entry.name))))
    .sort((a, b) => a.path.localeCompare(b.path))
}

function sourceOf(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path, text, imports: importsOf(path, text) }
}

/** Returns the imports of a file. In formatted code, static imports and exports are at the beginning of a line. */
function importsOf(path: string, text: string): Import[] {
  const fixed = [...text.matchAll(/^(import|export)\s+(type\s)?(?:[^'"`;=()]*?\bfrom\s+)?['"]([^'"]+)['"]/gm)]
  const lazy = [...text.matchAll(/(typeof )?\bimport\(\s*['"]([^'"]+)['"]\s*\)(\.\w+)?/g)]
  return [
    ...fixed.map(([, verb, type, name]) => ({
      name: name!,
      file: fileOf(path, name!),
      type: type !== undefined,
      exported: verb === 'export',
      lazy: false,
    })),
    // `import('pino').Logger` names a type; `(await import('pino')).pino` has a parenthesis before the dot.
    ...lazy.map(([, type, name, member]) => ({
      name: name!,
      file: fileOf(path, name!),
      exported: false,
      lazy: true,
      type: type !== undefined || /^\.[A-Z]/.test(member ?? ''),
    })),
  ]
}

function fileOf(from: string, name: string): string | undefined {
  if (name.startsWith('#') && name !== '#kernel') return `builtins/${name.slice(1)}.ts`
  return name.startsWith('.') ? join(dirname(from), name) : undefined
}

/** Returns the folder of a module: `builtins/core/agents`, `builtins/tools/toolkits/git`, or `builtins/lib`. */
function moduleOf(path: string): string {
  const depth = path.startsWith('builtins/lib/') ? 2 : path.startsWith('builtins/tools/toolkits/') ? 4 : 3
  return path.split('/').slice(0, depth).join('/')
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

function offences(from: readonly Source[], bad: (what: Import, source: Source) => boolean): string[] {
  return from.flatMap(source =>
    source.imports.filter(each => bad(each, source)).map(({ name }) => `${source.path} imports ${name}`),
  )
}

function lines(from: readonly Source[], bad: (line: string) => boolean): string[] {
  return from.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, n) => (bad(line) ? [`${path}:${n + 1}: ${line.trim()}`] : [])),
  )
}

function withoutStrings(line: string): string {
  return line.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|\/\/.*|^\s*\/?\*.*/g, '')
}

/** Returns the cycles of imports, including those of types, each once. */
function circles(from: readonly Source[]): string[] {
  // Plugin files receive their imports at run time, so these form no cycle of the program. Nor do the types of a
  // contract, in a file whose functions it re-exports.
  const graph = new Map(
    from
      .filter(({ path }) => path !== 'embed/importable.ts')
      .map(({ path, imports }) => {
        const own = ({ type, file }: Import) =>
          type && file?.startsWith(moduleOf(path)) && basename(file) === 'contract.ts'
        return [path, imports.filter(each => !own(each)).flatMap(({ file }) => file ?? [])]
      }),
  )
  const found = new Set<string>()
  const done = new Set<string>()
  const visit = (path: string, above: readonly string[]) => {
    if (above.includes(path)) {
      found.add([...above.slice(above.indexOf(path)), path].join(' → '))
      return
    }
    if (done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...above, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return [...found]
}

/**
 * Returns the raw globals in a text. esbuild replaces only real globals, not strings, comments or names of an own
 * scope.
 */
async function rawGlobals(text: string): Promise<string[]> {
  const names = [...RAW_GLOBALS, ...RAW_GLOBALS.map(name => `globalThis.${name}`)]
  const define = Object.fromEntries([...names, 'Date', 'globalThis.Date'].map((name, n) => [name, `RAW_${n}_`]))
  const { code } = await transform(text, { loader: 'ts', define, tsconfigRaw: {} })
  const found = names.filter((_, n) => code.includes(`RAW_${n}_`))
  const bareDate = new RegExp(`new RAW_(${names.length}|${names.length + 1})_\\(\\)`)
  return [...found, ...(bareDate.test(code) ? ['new Date()'] : [])]
}
