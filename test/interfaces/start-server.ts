import { onTestFinished } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import { BUILTINS } from '../../builtins/index.ts'
import { type TestHostOptions, testHost } from '../support/index.ts'
import { type Ask, ask } from './rest/rest-server.ts'

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
  const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  const { hostname, port } = new URL(url)
  return Object.assign(home, {
    url,
    port: Number(port),
    ask: (path: string, asked: Ask = {}) => ask({ hostname, port, path, ...asked }),
  })
}
