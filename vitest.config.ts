import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

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
    // Much of the time they wait for processes of their own.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Far more than any test needs: what hangs is to be found, not what is slow on a busy machine.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    reporters: ['default', './test/support/reporter.ts'],
  },
})
