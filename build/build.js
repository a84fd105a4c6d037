#!/usr/bin/env node
// Makes dist/: the program, the package's entry points and their types, and the commands as data.
import { spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { build as bundle } from 'rolldown'
import { MODULES } from './modules.js'
import config from './rolldown.config.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = createRequire(import.meta.url)('../package.json')

/** The API client, which is a file of its own. */
const CLIENT = 'builtins/interfaces/rest/client.ts'

// While one works on the page: that alone, in its place.
if (process.argv[2] === 'dashboard') {
  await bundleDashboard(join(root, 'dist'))
  process.exit()
}

// Built aside and moved, so that a build in progress or a failed one leaves the last good one in place.
const cache = join(root, 'node_modules', '.cache')
await mkdir(cache, { recursive: true })
const made = await mkdtemp(join(cache, 'svc-dist-'))

try {
  await Promise.all([
    bundleProgram().then(writeCommands),
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

/** The program and the package's entry points, which share their chunks and thereby the same classes and tokens. */
async function bundleProgram() {
  await bundle({ ...config, output: { ...config.output, dir: made } })
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
    minifySyntax: true,
    minifyWhitespace: true,
    // Node shows the line of an error that a program did not catch.
    lineLimit: 120,
    legalComments: 'none',
    logLevel: 'warning',
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
 * The builtins' commands and exit codes, so that the command line needs neither zod nor any module to parse its words; the
 * schemas of the configuration and of profiles, for editors of people who have made no project; and hashes of the sources, by
 * which a running program knows which of its modules were changed.
 */
async function writeCommands() {
  const { Svc, Operations, errorCatalogue } = await import(pathToFileURL(join(made, 'index.js')))
  const { commandsOf, configSchema, profileSchema } = await import(pathToFileURL(join(made, 'commands.js')))
  const { SourceHashes } = await import(pathToFileURL(join(made, 'source-hashes.js')))
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
    const hashes = await new SourceHashes(root, { readdir, readFile, stat }).read()
    await writeFile(join(made, 'sources.json'), JSON.stringify(Object.fromEntries(hashes)))
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
