import type { Ports } from '#kernel'
import type { HaltedThread } from './halt.ts'

/** Environment variable set for a successor, which depends on the process that it replaced. */
export const SUCCESSOR = 'SVC_SUCCESSOR'
/** Signal with which a blocked successor ends itself, so that another one is started. */
export const HELD_UP = 'SIGALRM'

/**
 * Code that runs in the halted main thread. It closes the sockets, on which only one process can listen, and restores
 * the default action of SIGTERM. Standard streams stay open for the successor.
 */
const RELEASE = `{
  const fs = process.getBuiltinModule('node:fs')
  for (const fd of fs.readdirSync('/dev/fd').map(Number)) {
    try {
      if (fd > 2 && fs.fstatSync(fd).isSocket()) fs.closeSync(fd)
    } catch {}
  }
  process.removeAllListeners('SIGTERM')
}`

/**
 * Keeps this process as the parent of its successors, so that the terminal, its Ctrl-C and its `timeout` still end
 * them. The main thread stays halted until the last successor has ended; the process then exits with that exit code.
 * @throws when the main thread cannot be used, or the successor cannot be started
 */
export async function superviseSuccessors(
  { spawn, env }: Pick<Ports, 'spawn' | 'env'>,
  [program, ...words]: readonly string[],
  halted: HaltedThread,
): Promise<void> {
  await halted.evaluate(RELEASE)
  for (;;) {
    // The IPC channel closes when this process ends.
    const child = spawn(program!, words, {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...env, [SUCCESSOR]: '1' },
    })
    const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
      (resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code, signal) => resolve({ code, signal }))
      },
    )
    if (signal !== HELD_UP) return halted.evaluate(`process.reallyExit(${code ?? 1})`)
  }
}

/** Resolves when the process that this one replaced has ended; never if this one replaced none. */
export function parentEnded({ env }: Pick<Ports, 'env'>): Promise<string> {
  return new Promise(resolve => {
    if (env[SUCCESSOR] !== '1' || !process.channel) return
    process.channel.unref()
    process.once('disconnect', () => resolve('the process that this one replaced has ended'))
  })
}
