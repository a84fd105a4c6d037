import { join, resolve } from 'node:path'
import type { PluginHandle, Undo } from '#kernel'
import { Store, setValue } from '#platform/store/contract'
import type { Holder } from './contract.ts'
import { findDaemons, isAlive, parseHolder } from './holder.ts'

/**
 * Rows of the processes that drive agents: the name in their leases, and the lock that shows whether they are alive, on
 * the same machine only.
 */
const namespaceOf = ({ place }: Store) => (place ? `daemon_processes ${place}` : 'daemon_processes')

const OTHERS = 'SELECT key, value FROM plugin_values_view WHERE namespace = ? AND key <> ?'

interface Node {
  owner: string
  holder: Holder
}

/** Registers this process as one that drives agents. @returns a function that removes it */
export async function registerNode(svc: PluginHandle, holder: Holder): Promise<Undo> {
  const store = svc.use(Store)
  const key = store.owner
  const namespace = namespaceOf(store)
  await store.apply([setValue({ namespace, key, value: holder })])
  return async () => void (await store.apply([setValue({ namespace, key, value: undefined })]))
}

/** Returns the other processes that drive agents of the project. */
export async function listOtherNodes(svc: PluginHandle): Promise<Node[]> {
  return (await nodesByState(svc)).living
}

/**
 * Returns whether a live process drives agents of the project, this one or another; as far as can be known, on another
 * machine too.
 */
export async function isDriven(svc: PluginHandle): Promise<boolean> {
  const { live, inFlight } = svc.heartbeat
  if (live || inFlight.length > 0 || (await listOtherNodes(svc)).length > 0) return true
  return svc.use(Store).hasOtherDaemons()
}

/** Returns whether other processes have registered; they may be dead. */
export async function hasOtherNodes(svc: PluginHandle): Promise<boolean> {
  const store = svc.use(Store)
  return (await store.get(`${OTHERS} LIMIT 1`, [namespaceOf(store), store.owner])) !== undefined
}

/** Releases leases of dead processes at once, before they expire. @returns the number of leases */
export async function releaseDeadNodes(svc: PluginHandle): Promise<number> {
  const store = svc.use(Store)
  const { gone } = await nodesByState(svc)
  if (gone.length === 0) return 0
  const freed = await store.free(gone.map(({ owner }) => owner))
  await store.apply(gone.map(({ owner }) => setValue({ namespace: namespaceOf(store), key: owner, value: undefined })))
  const { ports, project } = svc
  const left = gone.map(({ holder }) => resolve(project.svc, holder.lock))
  for (const { name, joined, alive } of await findDaemons(ports, project.svc)) {
    if (joined && !alive) left.push(...['json', 'pid', 'sock'].map(end => join(project.svc, `${name}.${end}`)))
  }
  for (const file of left) await ports.files.rm(file, { force: true }).catch(() => {})
  return freed
}

async function nodesByState(svc: PluginHandle): Promise<{ living: Node[]; gone: Node[] }> {
  const store = svc.use(Store)
  const rows = await store.all<{ key: string; value: string }>(OTHERS, [namespaceOf(store), store.owner])
  const living: Node[] = []
  const gone: Node[] = []
  for (const { key: owner, value } of rows) {
    const holder = parseHolder(value)
    const node = { owner, holder: holder ?? { pid: 0, process: '', lock: '', socket: '', started_at: 0 } }
    if (holder && (await isAlive(svc.ports, svc.project.svc, holder))) living.push(node)
    else gone.push(node)
  }
  return { living, gone }
}
