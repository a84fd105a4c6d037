/** `npm test` checks and tests everything; `npm test -- memory` runs the tests whose path contains a name, and nothing else. */
import { spawnSync } from 'node:child_process'

function run(...words) {
  const { status } = spawnSync('npx', words, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const names = process.argv.slice(2)
if (names.length === 0) {
  run('biome', 'check', '--diagnostic-level=error', '.')
  run('tsc', '--noEmit')
  run('tsc', '-p', 'dashboard')
}
run('vitest', 'run', ...names)
