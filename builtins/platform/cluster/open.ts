import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { PluginHandle } from '#kernel'
import { packageVersion } from '#lib/package-version'
import type { EngineParts, OpenedStore } from '#platform/store/contract'
import type { ClusterConfig } from './config.ts'
import { Nodes } from './nodes.ts'
import { Connections } from './postgres/connection.ts'
import { migrate } from './postgres/schema.ts'
import { ClusterScheduler } from './scheduler.ts'
import { ClusterStore } from './store.ts'
import { DatabaseClock } from './time.ts'

/**
 * Opens the database that `store.url` names, and brings its schema up to date.
 * @param place the machine and project of this process
 * @throws MissingDependencyError, DatabaseUnreachableError, DatabaseUnusableError
 */
export async function openCluster(
  svc: PluginHandle,
  { url, planner, schema, heartbeat, rest }: EngineParts,
  config: ClusterConfig,
  place: string,
): Promise<OpenedStore & { scheduler: ClusterScheduler }> {
  const { clock } = svc.ports
  const connections = await Connections.open(url, clock)
  try {
    await migrate(connections, schema)
  } catch (error) {
    await connections.close()
    throw error
  }
  const time = new DatabaseClock(clock)
  // Not from the ports: two processes with one seed must not have the same mark for their writes.
  const owner = `${place}${process.pid}-${randomBytes(4).toString('hex')}`
  const store = new ClusterStore(svc, { connections, planner, owner, place, now: () => time.now() })
  const lease_ms = Math.round(config.lease * 1000)
  const version = await packageVersion(svc.ports)
  const nodes = new Nodes({
    connections,
    time,
    silent_ms: lease_ms,
    about: { owner, place, host: hostname(), pid: process.pid, schema_version: schema.length },
    state: async () => ({ version, config: await configHash(svc), in_flight: svc.heartbeat.inFlight.length }),
  })
  const listen_url = config.listen_url || url
  const scheduler = new ClusterScheduler({
    connections,
    store,
    nodes,
    time,
    clock,
    heartbeat,
    rest,
    listen_url,
    lease_ms,
  })
  store.scheduler = scheduler
  return {
    store,
    scheduler,
    async close() {
      await scheduler.close()
      await connections.close()
    },
  }
}

/** Returns a short hash of the configuration file, by which nodes with different files are noticed. */
async function configHash({ ports, project }: PluginHandle): Promise<string> {
  const text = await ports.files.readFile(project.config, 'utf8').catch(() => '')
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
