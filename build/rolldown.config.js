// How the program is bundled (https://rolldown.rs/reference/). It is not minified: errors show lines and names.
import { fileURLToPath } from 'node:url'
import { lazySchemas } from './lazy-schemas.js'
import { MODULES } from './modules.js'
import { runningModules } from './running-modules.js'
import { sharedShapes } from './shared-shapes.js'

/** Cannot be bundled: has a binary, loads its own files, or is optional. */
const EXTERNAL = ['better-sqlite3', 'jiti', 'pg', 'sharp', '@anthropic-ai/sdk', /^@opentelemetry\//, /^vitest(\/|$)/]

/** The package reads files beside its own. A bundler that includes it finds no module of this name, and reports it. */
const UNBUNDLED =
  ";()=>import('svc cannot be bundled, as it reads files beside its own: keep it external (esbuild: --external:svc)')"

/**
 * Leaves out what packages bring and nothing here uses: umzug's command line, Fastify's compilers of JSON Schema (its routes
 * have no schemas), and zod's messages in languages other than English. They are 30 MB of memory.
 */
const unused = {
  name: 'unused',
  resolveId(source, importer) {
    const isCli = source === './cli' && importer?.includes('/umzug/lib/')
    return isCli || /^@fastify\/(ajv|fast-json-stringify)-compiler$/.test(source) ? '\0unused' : undefined
  },
  load(id) {
    if (/\/zod\/v4\/locales\/index\.js$/.test(id)) return "export { default as en } from './en.js'"
    return id === '\0unused' ? 'export {}' : undefined
  },
}

/**
 * Escapes all characters that are not ASCII: V8 keeps each character of a file that has one such in two bytes, which takes
 * 5 MB more.
 */
const ascii = {
  name: 'ascii',
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type === 'chunk') file.code = file.code.replace(/[^\0-\x7f]/g, escaped)
    }
  },
}

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** @type {import('rolldown').RolldownOptions} */
export default {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  input: {
    svc: 'builtins/interfaces/cli/svc.ts',
    index: 'index.ts',
    testing: 'test/support/index.ts',
    commands: 'builtins/interfaces/cli/built.ts',
    'source-hashes': 'builtins/platform/plugin-files/checkout/sources.ts',
    watchdog: 'builtins/platform/watchdog/thread.ts',
    'schema-thread': 'builtins/core/runtime/schema-thread.js',
    ...Object.fromEntries(Object.entries(MODULES).map(([name, file]) => [`module-${name}`, file])),
  },
  platform: 'node',
  external: EXTERNAL,
  transform: { target: 'node20' },
  resolve: { conditionNames: ['svc-source', 'import', 'node', 'default'] },
  plugins: [runningModules, lazySchemas, unused, ascii, process.versions.node.startsWith('20.') && sharedShapes],
  logLevel: 'warn',
  output: {
    format: 'esm',
    // Flat, so that code finds the package's other files at the same place, whichever chunk it lands in.
    chunkFileNames: 'part-[hash].js',
    codeSplitting: {
      groups: [
        // Command-line calls without a kernel load this one file, and not zod: none of it imports the whole kernel.
        {
          name: 'light',
          test: new RegExp(
            `/(${[
              'kernel/(errors|did-you-mean|ports|scope|services)',
              'lib/(daemon-files|identity|keyed-random|pluralize|project|sleep|system-files|system-ports|system-presence|trust)',
              'cli/(scaffold/kinds|operations/invoke-masked|parsing/(hidden|help)|process/(detached|warnings))',
              'cli/screen/(interrupt|printable|table|task-end|waiting|width)',
            ].join('|')})\\.ts$`,
          ),
        },
        // Each start needs all contracts and what they import. In files of their own they take 30 ms longer.
        { name: 'contracts', test: /\/builtins\/(?!interfaces\/cli\/).*\/contract\.ts$/ },
      ],
    },
    comments: false,
    postFooter: ({ isEntry, name }) => (isEntry && name !== 'svc' ? UNBUNDLED : ''),
  },
}
