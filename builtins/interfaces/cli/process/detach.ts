import { join } from 'node:path'
import { SvcError } from '#kernel'
import type { Context } from '../context.ts'
import { makeFolder } from '../project/make-files.ts'
import { SPAWNED } from '../project/trust.ts'
import { DETACHED, type Message } from './detached.ts'

/** Time limit for the start of the process that replaces a killed one, in milliseconds. */
const SUCCESSOR_MS = 30_000
const LOOK_MS = 100

/** Starts a command in a separate process, and returns once it is ready. @throws SvcError with the error of that process */
export async function detach(root: string, words: readonly string[], context: Context): Promise<number> {
  const { ports, terminal } = context
  const logs = join(root, 'logs')
  await makeFolder(ports.files, logs, 0o700)
  // Receives the runtime's output in a crash; everything else is logged. Not the log file, because that is rotated.
  const log = await ports.files.open(join(logs, 'stderr.log'), 'a', 0o600)
  const child = ports.spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words, '--root', root], {
    cwd: root,
    detached: true,
    env: { ...ports.env, [DETACHED]: '1', [SPAWNED]: '1' },
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  const message = await new Promise<Message>(resolve => {
    child.once('message', sent => resolve(sent as Message))
    child.once('error', error => resolve({ failed: error.message, exit: 1 }))
    child.once('close', async (code, signal) => {
      const failed = {
        failed: `the process ended; ${join(logs, 'svc.log')} or stderr.log may say why`,
        exit: code ?? 1,
      }
      resolve((signal === 'SIGKILL' && (await successor(root, context))) || failed)
    })
  })
  await log.close()
  if ('failed' in message) {
    throw new SvcError(message.failed, { code: 'not_started', status: 500, exit: message.exit })
  }
  if (child.connected) child.disconnect()
  child.unref()
  terminal.out(message.ready)
  return 0
}

/**
 * Waits for the process that replaces a killed one: the watchdog kills a process that a plugin blocks and starts
 * another without the plugin.
 */
async function successor(root: string, { program, ports }: Context): Promise<Message | undefined> {
  const until = ports.clock.monotonic() + SUCCESSOR_MS
  while (ports.clock.monotonic() < until) {
    const found = await program.findDaemon(ports, join(root, '.svc'))
    if (found?.alive) {
      const why = `a plugin blocked the first process; ${join(root, 'logs', 'svc.log')} names the plugin`
      return { ready: `The daemon runs with PID ${found.holder.pid} (${why}).` }
    }
    await ports.clock.sleep(LOOK_MS)
  }
  return undefined
}
