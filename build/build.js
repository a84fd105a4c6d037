#!/usr/bin/env node
// Builds dist/: the program, the package's entry points and their types, and the commands as data.
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

/** The API client, which is bundled separately. */
const CLIENT = 'builtins/interfaces/rest/client.ts'

// Builds only the dashboard, for work on the page.
if (process.argv[2] === 'dashboard') {
  await bundleDashboard(join(root, 'dist'))
  process.exit()
}

// Built in a temporary folder and renamed, so that the last good build stays in place until then.
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

/** Bundles the program and the package's entry points. They share chunks, and so the same classes and tokens. */
async function bundleProgram() {
  await bundle({ ...config, output: { ...config.output, dir: made } })
  await chmod(join(made, 'svc.js'), 0o755)
  await chmod(made, 0o755)
}

/** Bundles the API client to one file without Node modules, for browsers too. */
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
    // Node prints the source line of an uncaught error, which may be the whole file otherwise.
    lineLimit: 120,
    legalComments: 'none',
    logLevel: 'warning',
  })
}

/** Bundles the dashboard: its page, script, stylesheet, and the worker that follows events for all tabs. */
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
  // Current browsers support nesting and light-dark(), so neither is compiled away.
  await build({
    ...options,
    target: 'esnext',
    entryPoints: { dashboard: 'dashboard/styles/index.css' },
    outdir: folder,
  })
  for (const file of ['index.html', 'icon.svg']) await cp(join(source, file), join(folder, file))
  await compressPages(folder)
}

/** Writes .gz and .br files beside pages, scripts and styles; `page-files.ts` serves them. */
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

/** Copies the pages of the API explorers, with the files and licences of the two packages that they use. */
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
  // The only file that ReDoc loads from another server.
  const picture = 'https://cdn.redoc.ly/redoc/logo-mini.svg'
  const script = await readFile(join(redoc, bundle), 'utf8')
  if (!script.includes(picture)) throw new Error(`redoc no longer contains ${picture}; check what it loads instead`)
  const blank = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
  await writeFile(join(folder, 'redoc.standalone.js'), script.replaceAll(picture, blank))
  await compressPages(folder)
}

/** Copies the life-event catalogue. */
async function copyLifeEvents() {
  await cp(join(root, 'builtins/society/economy/life/catalogue'), join(made, 'life-events'), { recursive: true })
}

/**
 * Writes the commands and exit codes, so that the command line loads neither zod nor any module to parse its arguments; the
 * JSON schemas of the configuration and of profiles, for editors; and hashes of the sources, which show a running program
 * which modules have changed.
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
    const owners = Object.fromEntries(svc.kernel.points.list(Operations).map(({ key, owner }) => [key, owner]))
    const exits = Object.fromEntries(errorCatalogue().flatMap(({ code, exit }) => (exit === 1 ? [] : [[code, exit]])))
    await writeFile(join(made, 'commands.json'), `${JSON.stringify({ version, commands, modules, owners, exits })}\n`)
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

/** Type errors are reported here and fail `npm run check`, but do not stop the build. */
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

/** Writes the type declarations of each `svc/<module>`. */
async function writeModuleTypes() {
  const folder = join(made, 'types', 'modules')
  await mkdir(folder, { recursive: true })
  for (const [name, file] of Object.entries(MODULES)) {
    await writeFile(join(folder, `${name}.d.ts`), `export * from '../${file.replace(/ts$/, 'js')}'\n`)
  }
}

/** Replaces a folder. Builds may run at the same time; the last one to end stays. */
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
