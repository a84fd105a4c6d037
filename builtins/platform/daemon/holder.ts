import { join, resolve } from 'node:path'
import type { Ports } from '#kernel'
import { identityOf } from '#lib/identity'
import { type FoundDaemon, type Holder, OWN_NAME } from './contract.ts'

/** Time without a tick after which a daemon counts as stalled, in milliseconds. The loop ticks every half second. */
const STALLED_AFTER_MS = 10_000
const DESCRIPTION = /^(daemon(?:-[0-9a-f]{8})?)\.json$/

type FindPorts = Pick<Ports, 'files' | 'ownFiles' | 'spawn' | 'clock' | 'presence'>

/**
 * Finds the project's daemon by its files in `.svc/`, even if it hangs, and without a kernel. Finds the project's own
 * daemon, or one that joined it and is still alive without it.
 * @returns undefined if no daemon has left a description
 */
export async function findDaemon(ports: FindPorts, svc: string): Promise<FoundDaemon | undefined> {
  const own = await readDaemon(ports, svc, OWN_NAME)
  if (own?.alive) return own
  const all = await findDaemons(ports, svc)
  return all.find(({ alive }) => alive) ?? own
}

/** Finds all daemons that left a description: the project's own first, then those that joined it, oldest first. */
export async function findDaemons(ports: FindPorts, svc: string): Promise<FoundDaemon[]> {
  const names = (await ports.ownFiles.readdir(svc).catch(() => [])).flatMap(name => DESCRIPTION.exec(name)?.[1] ?? [])
  const found = await Promise.all(names.map(name => readDaemon(ports, svc, name)))
  const age = ({ joined, holder }: FoundDaemon) => (joined ? holder.started_at : 0)
  return found.filter(each => each !== undefined).sort((a, b) => age(a) - age(b))
}

async function readDaemon(ports: FindPorts, svc: string, name: string): Promise<FoundDaemon | undefined> {
  const file = join(svc, `${name}.json`)
  try {
    const holder = parseHolder(await ports.ownFiles.readFile(file, 'utf8'))
    if (!holder) return undefined
    const failed = ports.ownFiles.stat(join(svc, `${name}.pid`)).catch(() => undefined)
    const [{ mtimeMs }, fault] = await Promise.all([ports.ownFiles.stat(file), failed])
    return {
      name,
      joined: name !== OWN_NAME,
      holder,
      alive: await isAlive(ports, svc, holder),
      ticked_at: mtimeMs,
      stalled: ports.clock.ms() - mtimeMs > STALLED_AFTER_MS,
      failing: fault?.mtimeMs === mtimeMs,
      isProven: async () => (await identityOf(ports, holder.pid)) === holder.process,
    }
  } catch {
    return undefined
  }
}

export function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, process, lock, socket, serves, detached, dev, unit, started_at } = JSON.parse(text) as Holder
    const texts = [process, lock, socket].every(each => typeof each === 'string')
    // 0 and negative numbers would signal whole groups of processes.
    if (!texts || !Number.isInteger(pid) || pid <= 0) return undefined
    const started = { ...(detached === true ? { detached } : {}), ...(dev === true ? { dev } : {}) }
    return {
      pid,
      process,
      lock,
      socket,
      ...(serves ? { serves } : {}),
      ...started,
      ...(unit ? { unit } : {}),
      started_at,
    }
  } catch {
    return undefined
  }
}

/** Returns whether a process holds the daemon's lock. */
export function isAlive(
  { presence }: Pick<Ports, 'presence'>,
  svc: string,
  holder: Pick<Holder, 'lock'>,
): Promise<boolean> {
  return presence.held(resolve(svc, holder.lock))
}
