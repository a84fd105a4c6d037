import { defineError, type Ports } from '#kernel'

export const NoClusterError = defineError({
  code: 'no_cluster',
  status: 409,
  title: 'No cluster',
  message: () =>
    'This project uses an SQLite file on this machine. To use several machines, set store.url or SVC_STORE_URL to a PostgreSQL address, such as postgres://user@host/svc.',
})
export const NodeNotFoundError = defineError({
  code: 'node_not_found',
  status: 404,
  title: 'No such node',
  message: (p: { node: string; found: number }) =>
    p.found === 0
      ? `No node's name begins or ends with "${p.node}"; see them with: svc cluster`
      : `${p.found} nodes' names begin or end with "${p.node}"; say more of it.`,
})
export const TargetInUseError = defineError({
  code: 'target_in_use',
  status: 409,
  title: 'Target in use',
  message: (p: { at: string }) =>
    `The database at ${p.at} has agents or events already, and nothing was written; name one that is empty.`,
})
export const MoveFailedError = defineError({
  code: 'move_failed',
  status: 409,
  title: 'Move failed',
  message: (p: { table: string; rows: number; arrived: number }) =>
    `What arrived of ${p.table} is not what was sent (${p.rows} rows, ${p.arrived} arrived), twice; stop whatever still writes (svc stop, and svc serve, on every machine) and try again.`,
})
export const MoveTargetError = defineError({
  code: 'move_target',
  status: 400,
  exit: 2,
  title: 'Where to',
  message: (p: { here: string; to: string }) =>
    `What this project knows is ${p.here}; say where it is to go: svc db move ${p.to}`,
})
export const NodesAtWorkError = defineError({
  code: 'nodes_at_work',
  status: 409,
  title: 'Nodes at work',
  message: (p: { nodes: readonly string[] }) =>
    `Agents of this database are driven by ${p.nodes.join(', ')}; stop them first (svc stop on each machine; svc cluster shows them).`,
})
export const OpenElsewhereError = defineError({
  code: 'open_elsewhere',
  status: 409,
  title: 'Open elsewhere',
  message: (p: { processes: readonly string[] }) =>
    `What this project knows is in use by ${p.processes.join(', ')}, as by svc serve; end that first, or wait for its end with --wait.`,
})
export const AlreadyMovedError = defineError({
  code: 'already_moved',
  status: 409,
  title: 'Already moved',
  message: () =>
    'This project keeps what it knows in a database of several machines already; unset SVC_STORE_URL and store.url to move its file, or bring all back with: svc db move --back',
})
export const ServerNotStartedError = defineError({
  code: 'server_not_started',
  status: 500,
  title: 'Server not started',
  message: (p: { problem: string; log: string | null }) =>
    `PostgreSQL could not be started: ${p.problem}${p.log === null ? '.' : `; ${p.log} may say why.`}`,
})

/** The project's own PostgreSQL server, while it runs. */
export interface LocalServer {
  /** URL of svc's database on the server, with the password. */
  url: string
  pid: number
}

/** Functions by which the command line controls such a server, whose data is in `.svc/postgres`. */
export interface LocalServers {
  findServer(root: string, ports: Ports): Promise<LocalServer | undefined>
  /**
   * Starts the server, which outlives this process.
   * @throws MissingDependencyError, ServerNotStartedError
   */
  startServer(root: string, ports: Ports): Promise<LocalServer>
  /** @returns whether it ran */
  stopServer(root: string, ports: Ports): Promise<boolean>
  /** Resolves when the server has ended. */
  serverEnded(root: string, ports: Ports, signal: AbortSignal): Promise<void>
}
