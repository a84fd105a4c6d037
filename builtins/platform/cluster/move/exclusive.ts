import { type PluginHandle, SvcError } from '#kernel'
import { Daemon, DaemonRunningError } from '#platform/daemon/contract'
import { Store } from '#platform/store/contract'
import { NodesAtWorkError, OpenElsewhereError } from '../contract.ts'
import type { Nodes } from '../nodes.ts'
import { connectionName } from '../postgres/connection.ts'

/** Interval of checks for other processes, in milliseconds. */
const LOOK_MS = 250

/**
 * Throws while another process has the project's data open: its writes during a copy would be lost.
 * @throws DaemonRunningError, NodesAtWorkError, OpenElsewhereError
 */
export async function requireExclusive(svc: PluginHandle, nodes: Nodes | undefined): Promise<void> {
  const daemons = svc.has(Daemon) ? (await svc.use(Daemon).list()).filter(({ alive }) => alive) : []
  const [first] = daemons
  if (first) throw new DaemonRunningError({ pid: first.holder.pid })
  const owners = nodes ? await findActiveNodes(svc, nodes) : []
  if (owners.length > 0) throw new NodesAtWorkError({ nodes: owners })
  const processes = nodes ? await findConnections(svc) : (await openersOf(svc)).map(pid => `process ${pid}`)
  if (processes.length > 0) throw new OpenElsewhereError({ processes })
}

/**
 * Waits until no other process has the project's data open.
 * @param report called with a message that names the processes
 */
export async function waitUntilExclusive(
  svc: PluginHandle,
  nodes: Nodes | undefined,
  { report, signal }: { report: (sentence: string) => void; signal: AbortSignal },
): Promise<void> {
  for (let reported = ''; ; await svc.clock.sleep(LOOK_MS, signal)) {
    signal.throwIfAborted()
    try {
      return await requireExclusive(svc, nodes)
    } catch (error) {
      const waits = [DaemonRunningError, NodesAtWorkError, OpenElsewhereError].map(({ code }) => code)
      if (!(error instanceof SvcError) || !waits.includes(error.code)) throw error
      if (error.message !== reported) report(error.message)
      reported = error.message
    }
  }
}

/** Returns nodes that are not silent. Those of this place are left out where its daemons are known directly. */
async function findActiveNodes(svc: PluginHandle, nodes: Nodes): Promise<string[]> {
  const { place } = svc.use(Store)
  const rows = (await nodes.list()).filter(each => !each.silent && (each.place !== place || !svc.has(Daemon)))
  return rows.map(({ owner }) => owner)
}

/** Returns other processes that are connected to the shared database. */
async function findConnections(svc: PluginHandle): Promise<string[]> {
  const rows = await svc.use(Store).all<{ name: string }>(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'svc %' AND application_name <> ? ORDER BY name`,
    [connectionName()],
  )
  return rows.map(({ name }) => name.slice('svc '.length))
}

/** Returns other processes of this machine that have the project's file open; none if the system does not show this. */
async function openersOf({ ports: { files }, project }: PluginHandle): Promise<number[]> {
  const file = await files.realpath(project.database).catch(() => project.database)
  const found: number[] = []
  for (const name of await files.readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const open = await files.readdir(`/proc/${name}/fd`).catch(() => [])
    for (const each of open) {
      if ((await files.readlink(`/proc/${name}/fd/${each}`).catch(() => '')) !== file) continue
      found.push(Number(name))
      break
    }
  }
  return found
}
