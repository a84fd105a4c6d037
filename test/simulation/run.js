import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

// More worlds than there is time for beside all other tests: npm run simulate -- --seeds 2000 --from 1
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, from: { type: 'string', default: '1' } },
})
const { status } = spawnSync('npx', ['vitest', 'run', 'test/simulation/seeds.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SVC_TEST_WORLDS: String(Math.ceil(Number(values.seeds) / 3)),
    SVC_TEST_SEED_FROM: values.from,
  },
})
process.exit(status ?? 1)
