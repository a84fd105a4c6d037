import { join } from 'node:path'
import { SvcError } from '#kernel'
import type { Context } from './context.ts'
import { DETACHED, type Message } from './detached.ts'

/** Starts a command in a process of its own, and returns once that is up. @throws SvcError, the one that it failed with */
export async function detach(root: string, words: readonly string[], { ports, terminal }: Context): Promise<number> {
  const logs = join(root, 'logs')
  await ports.files.mkdir(logs, { recursive: true, mode: 0o700 })
  const log = await ports.files.open(join(logs, 'svc.log'), 'a', 0o600)
  const child = ports.spawn(process.execPath, [...process.execArgv, process.argv[1]!, ...words, '--root', root], {
    cwd: root,
    detached: true,
    env: { ...ports.env, [DETACHED]: '1' },
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  })
  const message = await new Promise<Message>(resolve => {
    child.once('message', sent => resolve(sent as Message))
    child.once('error', error => resolve({ failed: error.message, exit: 1 }))
    child.once('close', code =>
      resolve({ failed: `the process ended; ${join(logs, 'svc.log')} may say why`, exit: code ?? 1 }),
    )
  })
  await log.close()
  if ('failed' in message) {
    throw new SvcError(message.failed, { code: 'not_started', status: 500, exit: message.exit })
  }
  child.disconnect()
  child.unref()
  terminal.out(message.ready)
  return 0
}
