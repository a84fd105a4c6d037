import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

// Other worlds, more and longer ones than there is time for beside all tests: npm run simulate -- --seeds 5000 --from 10001
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '100001' },
    cycles: { type: 'string', default: '30' },
  },
})
const { status } = spawnSync('npx', ['vitest', 'run', 'test/simulation/seeds-'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SVC_TEST_WORLDS: values.seeds,
    SVC_TEST_SEED_FROM: values.from,
    SVC_TEST_WORLD_CYCLES: values.cycles,
  },
})
process.exit(status ?? 1)
