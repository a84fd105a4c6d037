#!/usr/bin/env node
// Makes dist/: the program, the package's entry point and its types, and the commands as data.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { lazyFields, scriptOf, small } from './build-pieces.js'
import { MODULES } from './modules.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = createRequire(import.meta.url)('../package.json')
const TELEMETRY = ['api', 'sdk-trace-base', 'sdk-metrics', 'resources']
  .concat(['exporter-trace-otlp-proto', 'exporter-metrics-otlp-proto'])
  .map(name => `@opentelemetry/${name}`)
/** What cannot be bundled: it has a binary, loads its own files, or is for those who want it. */
const EXTERNAL = ['better-sqlite3', 'jiti', 'vitest', 'pg', 'sharp', '@anthropic-ai/sdk', ...TELEMETRY]

/** Never called. The package reads its own files where it lies: a bundler that goes on here finds no such module, and says so. */
const UNBUNDLED = `()=>import('svc cannot be bundled, as it reads files beside its own: keep it external (esbuild: --external:svc)')`

/** By which pieces are entered. */
const ENTRIES = {
  program: 'builtins/interfaces/cli/program.ts',
  index: 'index.ts',
  testing: 'test/support/index.ts',
  commands: 'builtins/interfaces/cli/built.ts',
  ...Object.fromEntries(Object.entries(MODULES).map(([name, file]) => [`module-${name}`, file])),
}

/** The API client, which is a file of its own. */
const CLIENT = 'builtins/interfaces/rest/client.ts'

/** The kernel's files that need no package. */
const LIGHT = ['errors', 'near', 'ports', 'scope', 'services'].map(name => join(root, 'kernel', `${name}.ts`))
/**
 * A file that takes only these files' exports from `#kernel` gets only them: esbuild puts whole files into pieces, so the
 * command line would otherwise load zod to print its help.
 */
const lightKernel = {
  name: 'light-kernel',
  async setup({ onResolve, onLoad }) {
    const names = new Set()
    for (const file of LIGHT) {
      const text = await readFile(file, 'utf8')
      for (const [, name] of text.matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)) names.add(name)
    }
    onResolve({ filter: /^#kernel$/ }, async ({ importer, kind }) => {
      if (kind !== 'import-statement') return undefined
      const [, taken] = /import \{([^}]*)\} from '#kernel'/.exec(await readFile(importer, 'utf8')) ?? []
      const values = taken
        ?.split(',')
        .map(name => name.trim().split(' as ')[0])
        .filter(name => name && !name.startsWith('type '))
      return values?.every(name => names.has(name))
        ? { path: 'light', namespace: 'kernel', sideEffects: false }
        : undefined
    })
    onLoad({ filter: /./, namespace: 'kernel' }, () => ({
      contents: LIGHT.map(file => `export * from ${JSON.stringify(file)}`).join('\n'),
      resolveDir: root,
    }))
  },
}

/** Of a CommonJS package that is imported lazily, esbuild keeps the default export only; Node gives its names too. */
const lazyNames = {
  name: 'lazy-names',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z@]/ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || EXTERNAL.includes(path)) return undefined
      return { path, namespace: 'lazy' }
    })
    onLoad({ filter: /./, namespace: 'lazy' }, async ({ path }) => {
      const all = await import(path)
      const names = Object.keys(all).filter(name => name !== 'default' && /^[\w$]+$/.test(name))
      const lines = [`import * as all from ${JSON.stringify(path)}`, `export const { ${names} } = all`]
      if ('default' in all) lines.push('export default all.default')
      return { contents: lines.join('\n'), resolveDir: root }
    })
  },
}

/**
 * What packages bring and nothing here asks for: umzug's command line (700 kB), Fastify's compilers of JSON Schema (its
 * routes have none), and zod's sentences in languages other than English.
 */
const unused = {
  name: 'unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/cli$/ }, ({ importer }) => (importer.includes('/umzug/lib/') ? nothing : undefined))
    const compilers = /^@fastify\/(ajv|fast-json-stringify)-compiler$/
    onResolve({ filter: compilers }, ({ importer }) => (importer.includes('/fastify/') ? nothing : undefined))
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
    // Fastify's router compiles a function for every piece of a path, which is half of what its routes cost.
    onLoad({ filter: /\/find-my-way\/lib\/node\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const contents = text.replace(
        /return new Function\('path', 'i'.*/,
        'return (path, i) => path.startsWith(prefix, i)',
      )
      if (contents === text) throw new Error(`${path} compiles prefixes in another way; see what is to be done`)
      return { contents }
    })
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {}' }))
  },
}
const nothing = { path: 'nothing', namespace: 'unused' }

/** `svc.ts` is no piece: in `dist/` it imports the entry points that lie beside it. */
const entryPoints = {
  name: 'entry-points',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: `./${basename(path, '.ts')}.js`, external: true },
    )
  },
}

// While one works on the page: that alone, in its place.
if (process.argv[2] === 'dashboard') {
  await bundleDashboard(join(root, 'dist'))
  process.exit()
}

// Built aside and moved, so that a build in progress or a failed one leaves the last good one in place.
const cache = join(root, 'node_modules', '.cache')
await mkdir(cache, { recursive: true })
const made = await mkdtemp(join(cache, 'svc-dist-'))

const node = { platform: 'node', target: 'node20', ...small }
const quiet = { legalComments: 'none', logLevel: 'warning' }
const bundled = { ...node, ...quiet, absWorkingDir: root, bundle: true, conditions: ['svc-source'], outdir: made }

try {
  await Promise.all([
    bundle().then(writeCommands),
    bundleClient(),
    writeTypes(),
    writeModuleTypes(),
    bundleDashboard(made),
    copyExplorers(),
    copyLifeEvents(),
  ])
  await replace(join(root, 'dist'), made)
} finally {
  await rm(made, { recursive: true, force: true })
}

/** One bundle in pieces: a process loads what it needs, and all entries share the same classes and tokens. See `pieces.ts`. */
async function bundle() {
  const { outputFiles, metafile } = await build({
    ...bundled,
    entryPoints: ENTRIES,
    // Flat, so that code finds the package's other files at the same place, whichever piece it lands in.
    chunkNames: 'part-[hash]',
    splitting: true,
    format: 'esm',
    external: EXTERNAL,
    plugins: [lightKernel, lazyNames, lazyFields, unused],
    keepNames: true,
    write: false,
    metafile: true,
  })
  const facts = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
  const pieces = await Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const name = basename(path)
      return [name, await scriptOf(name, text, facts.get(name).imports)]
    }),
  )
  const hash = createHash('sha256')
  for (const [name, text] of pieces.sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(text)
    await writeFile(join(made, name.replace(/js$/, 'cjs')), text)
    if (!(name.slice(0, -3) in ENTRIES)) continue
    const entry = `import{piece}from'./pieces.js';export const{${facts.get(name).exports}}=piece('./${name}');${UNBUNDLED}\n`
    await writeFile(join(made, name), entry)
  }
  const define = { BUILD: JSON.stringify(hash.digest('hex').slice(0, 16)) }
  const alone = { ...bundled, format: 'esm', plugins: [lightKernel] }
  await build({ ...alone, entryPoints: { watchdog: 'builtins/platform/watchdog/thread.ts' } })
  await build({ ...alone, entryPoints: ['builtins/core/runtime/schema-thread.js'] })
  await build({ ...alone, entryPoints: ['build/pieces.ts'], define })
  await build({ ...alone, entryPoints: ['builtins/interfaces/cli/svc.ts'], plugins: [entryPoints] })
  await chmod(join(made, 'svc.js'), 0o755)
  await chmod(made, 0o755)
}

/** The client alone, for browsers too: one file, with nothing of Node in it. */
async function bundleClient() {
  await build({
    absWorkingDir: root,
    entryPoints: [CLIENT],
    outfile: join(made, 'client.js'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    ...small,
    ...quiet,
  })
}

/** The dashboard: its page, one script, the worker that follows what happens for all tabs, and one stylesheet. */
async function bundleDashboard(place) {
  const source = join(root, 'dashboard')
  const folder = join(place, 'dashboard')
  const options = {
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  }
  await build({
    ...options,
    entryPoints: {
      dashboard: 'dashboard/main.tsx',
      feed: 'dashboard/api/feed-worker.ts',
    },
    outdir: folder,
    tsconfig: join(source, 'tsconfig.json'),
  })
  // Browsers of the last years nest selectors and tell light from dark by themselves.
  await build({
    ...options,
    target: 'esnext',
    entryPoints: { dashboard: 'dashboard/styles/index.css' },
    outdir: folder,
  })
  for (const file of ['index.html', 'icon.svg']) await cp(join(source, file), join(folder, file))
  await compressPages(folder)
}

/** Compresses a folder's pages, scripts and styles beside themselves, as hard as it goes: they are served so (rest/pages.ts). */
async function compressPages(folder) {
  const names = (await readdir(folder)).filter(name => /\.(html|js|css|svg)$/.test(name))
  await Promise.all(
    names.map(async name => {
      const bytes = await readFile(join(folder, name))
      await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }))
      await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(bytes))
    }),
  )
}

/** The pages of the API's explorers, with what they take from two packages, and those packages' licences. */
async function copyExplorers() {
  const folder = join(made, 'docs')
  await cp(join(root, 'builtins/interfaces/docs/pages'), folder, { recursive: true })
  const swagger = join(root, 'node_modules', 'swagger-ui-dist')
  const redoc = join(root, 'node_modules', 'redoc')
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js']) await cp(join(swagger, file), join(folder, file))
  for (const file of ['LICENSE', 'NOTICE']) await cp(join(swagger, file), join(folder, `swagger-ui.${file}`))
  await cp(join(redoc, 'LICENSE'), join(folder, 'redoc.LICENSE'))
  const bundle = join('bundles', 'redoc.standalone.js')
  await cp(join(redoc, `${bundle}.LICENSE.txt`), join(folder, 'redoc.standalone.js.LICENSE.txt'))
  // The one thing that ReDoc loads from elsewhere.
  const picture = 'https://cdn.redoc.ly/redoc/logo-mini.svg'
  const script = await readFile(join(redoc, bundle), 'utf8')
  if (!script.includes(picture)) throw new Error(`redoc no longer holds ${picture}; see what it loads instead`)
  const blank = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  await writeFile(join(folder, 'redoc.standalone.js'), script.replaceAll(picture, blank))
  await compressPages(folder)
}

/** What may happen to agents, as data. */
async function copyLifeEvents() {
  await cp(join(root, 'builtins/society/economy/life/catalogue'), join(made, 'life-events'), { recursive: true })
}

/**
 * The builtins' commands and exit codes, so that the command line needs neither zod nor any module to parse its words; and the
 * schemas of the configuration and of profiles, for editors of people who have made no project.
 */
async function writeCommands() {
  const { Svc, Operations, errorCatalogue } = await import(pathToFileURL(join(made, 'index.js')))
  const { commandsOf, configSchema, profileSchema } = await import(pathToFileURL(join(made, 'commands.js')))
  const project = await mkdtemp(join(tmpdir(), 'svc-build-'))
  try {
    const svc = await Svc.open(project, { create: true, roles: [], log: { level: 'warn' } })
    const commands = commandsOf(svc.kernel.list(Operations))
    const modules = svc.kernel.host.list().map(({ name }) => name)
    const exits = Object.fromEntries(errorCatalogue().flatMap(({ code, exit }) => (exit === 1 ? [] : [[code, exit]])))
    await writeFile(join(made, 'commands.json'), `${JSON.stringify({ version, commands, modules, exits })}\n`)
    await mkdir(join(made, 'schema'))
    const schemas = { config: configSchema(svc.kernel.config.keys()), profile: await profileSchema() }
    for (const [name, schema] of Object.entries(schemas)) {
      await writeFile(join(made, 'schema', `${name}.json`), `${JSON.stringify(schema, null, 2)}\n`)
    }
    await svc.close()
  } finally {
    await rm(project, { recursive: true, force: true })
  }
}

/** A type error is reported and fails `npm run check`; it is no reason for there to be no program. */
async function writeTypes() {
  const config = join(made, 'tsconfig.json')
  const compilerOptions = { outDir: join(made, 'types') }
  const files = ['index.ts', CLIENT, 'test/support/index.ts', 'builtins/lib/picomatch.d.ts'].map(file =>
    join(root, file),
  )
  await writeFile(config, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }))
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  const child = spawn(process.execPath, [tsc, '-p', config], { cwd: root, stdio: 'inherit' })
  await new Promise((done, failed) => child.once('error', failed).once('exit', done))
  await rm(config)
}

/** The types of each `svc/<module>`, by its name. */
async function writeModuleTypes() {
  const folder = join(made, 'types', 'modules')
  await mkdir(folder, { recursive: true })
  for (const [name, file] of Object.entries(MODULES)) {
    await writeFile(join(folder, `${name}.d.ts`), `export * from '../${file.replace(/ts$/, 'js')}'\n`)
  }
}

/** Builds may run at the same time: the last one to end is the one that stays. */
async function replace(place, folder) {
  const old = `${folder}-old`
  for (;;) {
    await rename(place, old).catch(() => {})
    try {
      await rename(folder, place)
      break
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    } finally {
      await rm(old, { recursive: true, force: true })
    }
  }
}
