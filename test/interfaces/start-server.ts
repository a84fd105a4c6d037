import { onTestFinished } from 'vitest'
import { BUILTINS } from '../../builtins/index.ts'
import { type TestHostOptions, testHost } from '../support/index.ts'
import { listen } from './rest/rest-server.ts'

const WORKER = 'name: worker\nrole: does what it likes\nmax_steps: 5\n'

/** Starts all modules with the system clock and listens; all of it is cleaned up after the test. */
export async function startServer(options: TestHostOptions = {}) {
  const home = await testHost({
    roles: ['server'],
    clock: 'system',
    config: { daemon: { heartbeat: 1 }, model: { sim_delay: 0 } },
    ...options,
    builtins: [...BUILTINS, ...(options.builtins ?? [])],
    files: { 'profiles/worker.yaml': WORKER, ...options.files },
  })
  onTestFinished(() => home.close())
  return Object.assign(home, await listen(home.kernel))
}
