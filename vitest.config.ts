import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
// @ts-expect-error It is no TypeScript: the build needs it before there is any.
import { lazySchemas } from './build/lazy-schemas.js'
import { MODULES } from './build/modules.js'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * Folders with tests of the whole program: its commands, pages, requests and files. They have the longest files, longest
 * first.
 */
const PROGRAM = ['browser', 'reload', 'cli', 'safety', 'interfaces', 'faults', 'simulation', 'examples']
const OF_PROGRAM = PROGRAM.map(folder => `test/${folder}/**/*.test.ts`)
/** What a process has done before shows in the processor time of the one, and in the errors that the other finds defined. */
const ALONE = ['safety/guardrails-quality', 'reference'].map(name => `test/spec/${name}.test.ts`)

/** What `svc new plugin` writes where this is checked out. */
const AUTHORS = 'plugins/**/*.test.ts'

/** The first take longest: begun last, they would be waited for alone. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = PROGRAM.findIndex(folder => moduleId.includes(`/test/${folder}/`))
      return at < 0 ? PROGRAM.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  // As in the built program: saves a tenth of the time of opening a kernel.
  plugins: [lazySchemas],
  resolve: {
    alias: [
      { find: /^svc$/, replacement: file('index.ts') },
      { find: /^svc\/client$/, replacement: file('builtins/interfaces/rest/client.ts') },
      { find: /^svc\/testing$/, replacement: file('test/support/index.ts') },
      ...Object.entries(MODULES).map(([name, path]) => ({ find: `svc/${name}`, replacement: file(path) })),
      { find: /^#kernel$/, replacement: file('kernel/index.ts') },
      { find: /^#(.+)$/, replacement: `${file('builtins')}/$1.ts` },
    ],
  },
  test: {
    projects: [
      // Files share a process: loading and compiling all modules anew for each takes as long as its tests.
      {
        extends: true,
        test: {
          name: 'modules',
          include: ['test/**/*.test.ts', AUTHORS],
          exclude: [...ALONE, ...OF_PROGRAM],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'program', include: OF_PROGRAM, isolate: false } },
      { extends: true, test: { name: 'alone', include: ALONE } },
      // What takes minutes by its nature: kills, soaks, thousands of simulated runs, several machines.
      { extends: true, test: { name: 'trials', include: ['test/**/*.trial.ts'] } },
    ],
    // Projects of tests are their own; what the person who runs the tests has configured is neither read nor changed.
    env: { SVC_TRUST_PROJECT: 'true', XDG_CONFIG_HOME: join(tmpdir(), 'svc-test-config') },
    globalSetup: ['test/support/vitest/build.ts', 'test/support/vitest/clean.ts'],
    pool: 'forks',
    // What Vite made of a source is kept for all projects and the next run: a third of what one test file costs.
    experimental: { fsModuleCache: true, fsModuleCachePath: file('node_modules/.cache/vitest') },
    sequence: { sequencer: LongFirst },
    // Much of the time they wait for processes of their own.
    maxWorkers: Math.max(4, availableParallelism()),
    // Far more than any test needs: what hangs is to be found, not what is slow on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: ['minimal', './test/support/vitest/reporter.ts'],
    silent: 'passed-only',
  },
})
