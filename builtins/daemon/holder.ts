import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { identityOf, type Ports } from '#kernel'
import { type FoundDaemon, HOLDER_FILE, type Holder } from './contract.ts'

/** After this long without a round of its loop a daemon counts as stalled, in milliseconds. The loop comes round every 250. */
const STALLED_AFTER_MS = 10_000

/**
 * The project's daemon, from what it left in `.svc/`: also when it hangs, and without a kernel.
 * @returns undefined when none has left a description
 */
export async function findDaemon(
  ports: Pick<Ports, 'files' | 'spawn' | 'clock'>,
  svc: string,
): Promise<FoundDaemon | undefined> {
  const file = join(svc, HOLDER_FILE)
  try {
    const holder = parseHolder(await ports.files.readFile(file, 'utf8'))
    if (!holder) return undefined
    const { mtimeMs } = await ports.files.stat(file)
    return {
      holder,
      alive: await isAlive(svc, holder),
      ticked_at: mtimeMs,
      stalled: ports.clock.ms() - mtimeMs > STALLED_AFTER_MS,
      isProven: async () => (await identityOf(ports, holder.pid)) === holder.process,
    }
  } catch {
    return undefined
  }
}

export function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, process, lock, socket, started_at } = JSON.parse(text) as Holder
    const texts = [process, lock, socket].every(each => typeof each === 'string')
    // 0 and negative numbers would signal whole groups of processes.
    return texts && Number.isInteger(pid) && pid > 0 ? { pid, process, lock, socket, started_at } : undefined
  } catch {
    return undefined
  }
}

/** Whether the lock is held: its socket takes connections, also those of a process that is stopped or busy. */
export function isAlive(svc: string, holder: Pick<Holder, 'lock'>): Promise<boolean> {
  return new Promise(settle => {
    const probe = connect(resolve(svc, holder.lock), () => {
      probe.destroy()
      settle(true)
    })
    // Anything but "nobody listens" (a full backlog, a lack of rights) means that somebody does.
    probe.once('error', (error: NodeJS.ErrnoException) => {
      settle(!['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ENOTDIR'].includes(error.code ?? ''))
    })
  })
}
