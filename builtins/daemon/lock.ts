import { createServer, type Server } from 'node:net'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { type PluginHandle, type Undo, z } from '#kernel'
import { defineEffect, Store } from '../store/contract.ts'
import { DaemonRunningError, type Holder } from './contract.ts'
import { findDaemon, isAlive, parseHolder } from './holder.ts'
import { others } from './nodes.ts'

const ROW = { namespace: 'daemon', key: 'holder' }

/** Puts this holder in the place of the one that was found dead, or of none; refused when another was faster. */
export const takeDaemon = defineEffect({
  name: 'daemon.take',
  schema: z.object({ holder: z.string(), instead: z.string().nullable() }),
  mustChange: true,
  statements: ({ holder, instead }) => [
    instead === null
      ? {
          sql: 'INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key) DO NOTHING',
          params: [ROW.namespace, ROW.key, holder],
        }
      : {
          sql: 'UPDATE plugin_values SET value = ? WHERE namespace = ? AND key = ? AND value = ?',
          params: [holder, ROW.namespace, ROW.key, instead],
        },
  ],
})
/** Leaves the place, if it is still this holder's. */
export const leaveDaemon = defineEffect({
  name: 'daemon.leave',
  schema: z.object({ holder: z.string() }),
  statements: ({ holder }) => [
    {
      sql: 'DELETE FROM plugin_values WHERE namespace = ? AND key = ? AND value = ?',
      params: [ROW.namespace, ROW.key, holder],
    },
  ],
})

/** Listens on a socket of this process's own, which the system closes however it ends. @returns the release */
export async function holdLock(svc: PluginHandle, holder: Holder): Promise<Undo> {
  const path = resolve(svc.project.svc, holder.lock)
  const server = await hold(svc, path)
  return async () => {
    await new Promise(done => server.close(done))
    if (isAbsolute(holder.lock)) await svc.ports.files.rm(dirname(path), { recursive: true, force: true })
  }
}

/**
 * Makes this process, which holds its lock, the project's only daemon. Who that is is a row, changed by compare-and-set. So of
 * several starters one wins, and what a dead one left (sockets, PID files, a PID that another process has now) never counts.
 * @returns the end of that
 * @throws DaemonRunningError naming the one that runs
 */
export async function takePlace(svc: PluginHandle, holder: Holder): Promise<Undo> {
  await take(svc, holder)
  return async () => {
    await svc
      .use(Store)
      .apply([leaveDaemon({ holder: JSON.stringify(holder) })])
      .catch(() => {})
  }
}

async function take(svc: PluginHandle, holder: Holder): Promise<void> {
  const { ports, project } = svc
  // Also without the row, as after the database was set aside, a living daemon is one.
  const described = await findDaemon(ports, project.svc)
  if (described?.alive) throw new DaemonRunningError({ pid: described.holder.pid })
  const [joined] = await others(svc)
  if (joined) throw new DaemonRunningError({ pid: joined.holder.pid })
  for (;;) {
    const row = await svc
      .use(Store)
      .get<{ value: string }>('SELECT value FROM plugin_values WHERE namespace = ? AND key = ?', [
        ROW.namespace,
        ROW.key,
      ])
    const other = row && parseHolder(row.value)
    if (other && (await isAlive(project.svc, other))) throw new DaemonRunningError({ pid: other.pid })
    const taken = await svc
      .use(Store)
      .apply([takeDaemon({ holder: JSON.stringify(holder), instead: row?.value ?? null })])
    if (!taken) continue
    if (other) await ports.files.rm(resolve(project.svc, other.lock), { force: true }).catch(() => {})
    return
  }
}

function hold(svc: PluginHandle, path: string): Promise<Server> {
  const server = createServer(visitor => visitor.destroy())
  // The heartbeat keeps the process alive, not the lock.
  server.unref()
  return new Promise((opened, failed) => {
    server.once('error', failed)
    server.listen(path, () => {
      svc.ports.files.chmod(path, 0o600).then(() => opened(server), failed)
    })
  })
}

/** The system cuts longer paths of sockets silently; the REST socket is made in a folder below, which takes some bytes more. */
const LONGEST_SOCKET_PATH = 100

/** Where the daemon's sockets lie: in `.svc/`, or in the runtime directory when the project's path is too long. */
export async function socketPlace(svc: PluginHandle, id: string): Promise<{ lock: string; socket: string }> {
  const { ports, project } = svc
  const lock = `${id}.lock`
  if (Buffer.byteLength(join(project.svc, lock)) <= LONGEST_SOCKET_PATH) return { lock, socket: 'daemon.sock' }
  const runtime = ports.env.XDG_RUNTIME_DIR || ports.env.TMPDIR || '/tmp'
  const folder = await ports.files.mkdtemp(join(runtime, 'svc-'))
  return { lock: join(folder, 'lock'), socket: join(folder, 'sock') }
}
