import { dirname, isAbsolute, join, resolve } from 'node:path'
import { type PluginHandle, type Undo, z } from '#kernel'
import { defineEffect, Store } from '#platform/store/contract'
import { swapValue } from '#platform/store/statements'
import { DaemonRunningError, type Holder } from './contract.ts'
import { findDaemon, isAlive, parseHolder } from './holder.ts'
import { listOtherNodes } from './nodes.ts'

const NAMESPACE = 'daemon'
/** Returns the key of the daemon's row; each machine has its own daemon. */
const keyOf = ({ place }: Store) => (place ? `holder ${place}` : 'holder')

/** Replaces the row of a dead daemon, or adds the first row; refused if another process was faster. */
export const takeDaemon = defineEffect({
  name: 'daemon.take',
  schema: z.object({ key: z.string(), holder: z.string(), instead: z.string().nullable() }),
  mustChange: true,
  statements: ({ key, holder, instead }) => swapValue({ namespace: NAMESPACE, key }, instead, holder),
})
/** Removes the daemon's row if it is still this holder's. */
export const leaveDaemon = defineEffect({
  name: 'daemon.leave',
  schema: z.object({ key: z.string(), holder: z.string() }),
  statements: ({ key, holder }) => swapValue({ namespace: NAMESPACE, key }, holder, null),
})

/**
 * Listens on this process's own socket, which the system closes however the process ends.
 * @returns a function that releases the lock
 */
export async function holdLock({ ports, project }: PluginHandle, holder: Holder): Promise<Undo> {
  const path = resolve(project.svc, holder.lock)
  const release = await ports.presence.hold(path)
  await ports.files.chmod(path, 0o600)
  return async () => {
    await release()
    if (isAbsolute(holder.lock)) await ports.files.rm(dirname(path), { recursive: true, force: true })
  }
}

/**
 * Makes this process, which holds its lock, the project's only daemon. A row names the daemon and is changed by
 * compare-and-set. So one of several starters wins, and remains of a dead daemon (sockets, PID files, a reused PID)
 * never count.
 * @returns a function that gives the place up
 * @throws DaemonRunningError naming the running daemon
 */
export async function takePlace(svc: PluginHandle, holder: Holder): Promise<Undo> {
  await take(svc, holder)
  return async () => {
    const store = svc.use(Store)
    await store.apply([leaveDaemon({ key: keyOf(store), holder: JSON.stringify(holder) })]).catch(() => {})
  }
}

async function take(svc: PluginHandle, holder: Holder): Promise<void> {
  const { ports, project } = svc
  // A live daemon without a row counts too, for example after the database was replaced.
  const described = await findDaemon(ports, project.svc)
  if (described?.alive) throw new DaemonRunningError({ pid: described.holder.pid })
  const [joined] = await listOtherNodes(svc)
  if (joined) throw new DaemonRunningError({ pid: joined.holder.pid })
  const store = svc.use(Store)
  const key = keyOf(store)
  for (;;) {
    const row = await store.get<{ value: string }>(
      'SELECT value FROM plugin_values_view WHERE namespace = ? AND key = ?',
      [NAMESPACE, key],
    )
    const other = row && parseHolder(row.value)
    if (other && (await isAlive(ports, project.svc, other))) throw new DaemonRunningError({ pid: other.pid })
    const taken = await store.apply([takeDaemon({ key, holder: JSON.stringify(holder), instead: row?.value ?? null })])
    if (!taken) continue
    if (other) await ports.files.rm(resolve(project.svc, other.lock), { force: true }).catch(() => {})
    return
  }
}

/**
 * Maximum length of a socket path, in bytes; the system cuts longer ones silently. The REST socket in a folder below
 * takes some more bytes.
 */
const LONGEST_SOCKET_PATH = 100

/**
 * Returns the paths of the daemon's sockets: in `.svc/`, or in the runtime directory if the project's path is too long.
 */
export async function socketPlace(svc: PluginHandle, id: string): Promise<{ lock: string; socket: string }> {
  const { ports, project } = svc
  const lock = `${id}.lock`
  if (Buffer.byteLength(join(project.svc, lock)) <= LONGEST_SOCKET_PATH) return { lock, socket: 'daemon.sock' }
  const runtime = ports.env.XDG_RUNTIME_DIR || ports.env.TMPDIR || '/tmp'
  const folder = await ports.files.mkdtemp(join(runtime, 'svc-'))
  return { lock: join(folder, 'lock'), socket: join(folder, 'sock') }
}
