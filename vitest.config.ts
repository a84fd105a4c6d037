import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** What starts processes and browsers takes longest: begun last, it would be waited for alone. */
const LONG = ['/test/faults/', '/test/cli/', '/test/browser/', '/test/reload/']
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex(folder => moduleId.includes(folder))
      return at < 0 ? LONG.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^svc$/, replacement: file('index.ts') },
      { find: /^svc\/client$/, replacement: file('client.ts') },
      { find: /^svc\/testing$/, replacement: file('test/support/index.ts') },
      { find: /^#kernel$/, replacement: file('kernel/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    // Much of the time they wait for processes of their own.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Far more than any test needs: what hangs is to be found, not what is slow on a busy machine.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    reporters: ['default', './test/support/reporter.ts'],
  },
})
