import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with one line that people and machines read alike: `12 passed, 0 failed`. */
export default class CountingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++
      // A file that could not be loaded, or whose own hooks failed, has no failed test to show for it.
      count.failed += module.errors().length
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
    process.stdout.write(`${count.passed} passed, ${count.failed + count.pending + errors.length} failed${skipped}\n`)
  }
}
