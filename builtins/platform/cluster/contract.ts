import { defineError, type Ports } from '#kernel'

export const NoClusterError = defineError({
  code: 'no_cluster',
  status: 409,
  title: 'No cluster',
  message: () =>
    'This project uses an SQLite file on this machine. To use several machines, set store.url or SVC_STORE_URL to a PostgreSQL address, such as postgres://user@host/svc.',
})
/** No node, or more than one, has a name that begins or ends with the given one; list the nodes with: svc cluster */
export const NodeNotFoundError = defineError({
  code: 'node_not_found',
  status: 404,
  title: 'No such node',
  message: (p: { node: string; found: number }) =>
    p.found === 0
      ? `No node's name begins or ends with "${p.node}"; list the nodes with: svc cluster`
      : `The names of ${p.found} nodes begin or end with "${p.node}"; use a longer part of the name.`,
})
export const TargetInUseError = defineError({
  code: 'target_in_use',
  status: 409,
  title: 'Target in use',
  message: (p: { at: string }) =>
    `The database at ${p.at} already has agents or events, so nothing was written; use an empty database.`,
})
export const MoveFailedError = defineError({
  code: 'move_failed',
  status: 409,
  title: 'Move failed',
  message: (p: { table: string; rows: number; arrived: number }) =>
    `The copy of ${p.table} differed from the source in two attempts (${p.rows} rows sent, ${p.arrived} arrived); stop all processes that still write (svc stop, and svc serve, on every machine) and try again.`,
})
export const UncopyableTablesError = defineError({
  code: 'uncopyable_tables',
  status: 409,
  title: 'Tables that cannot be copied',
  message: (p: { problem: string; remedy: string }) => `Nothing was copied: ${p.problem}; ${p.remedy}.`,
})
export const MoveTargetError = defineError({
  code: 'move_target',
  status: 400,
  exit: 2,
  title: 'Target of the move missing',
  message: (p: { here: string; to: string }) =>
    `The data of this project is ${p.here}; specify the target: svc db move ${p.to}`,
})
export const NodesAtWorkError = defineError({
  code: 'nodes_at_work',
  status: 409,
  title: 'Nodes still active',
  message: (p: { nodes: readonly string[] }) =>
    `These nodes drive agents of this database: ${p.nodes.join(', ')}; stop the nodes first (svc stop on each machine; svc cluster lists them).`,
})
export const OpenElsewhereError = defineError({
  code: 'open_elsewhere',
  status: 409,
  title: 'Database in use',
  message: (p: { processes: readonly string[] }) =>
    `The data of this project is in use by ${p.processes.join(', ')} (svc serve, for example); end these processes first, or wait for their end with --wait.`,
})
export const AlreadyMovedError = defineError({
  code: 'already_moved',
  status: 409,
  title: 'Already moved',
  message: () =>
    'The data of this project is already in a database for several machines; unset SVC_STORE_URL and store.url to move its file, or move everything back with: svc db move --back',
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
