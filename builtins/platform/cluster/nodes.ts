import { type PluginHandle, token } from '#kernel'
import type { Connections } from './postgres/connection.ts'
import { literal } from './postgres/dialect.ts'
import type { DatabaseClock } from './time.ts'

/** A process that drives agents of this database. */
export interface NodeRow {
  owner: string
  place: string
  host: string
  pid: number
  version: string
  schema_version: number
  /** Hash of the shared configuration, which must be equal on all nodes. */
  config: string
  in_flight: number
  /** Lateness of the agent that waits longest. */
  lag_ms: number
  draining: number
  started_at: number
  seen_at: number
}

/** Provided while the project is in PostgreSQL. */
export const NodesToken = token<Nodes>('cluster/nodes')

/** Returns the nodes; undefined while the project is in its own file. */
export function nodesOf(svc: PluginHandle): Nodes | undefined {
  return svc.has(NodesToken) ? svc.use(NodesToken) : undefined
}

export interface NodesParts {
  connections: Connections
  time: DatabaseClock
  about: Pick<NodeRow, 'owner' | 'place' | 'host' | 'pid' | 'schema_version'>
  /** Values that may change while the process runs. */
  state: () => Promise<Pick<NodeRow, 'version' | 'config' | 'in_flight'>>
  /** Silence after which a node counts as dead, in milliseconds. */
  silent_ms: number
}

/** Rows that describe each node to the others. */
export class Nodes {
  readonly #parts: NodesParts
  #started_at: number | undefined

  constructor(parts: NodesParts) {
    this.#parts = parts
  }

  /** Registers this process as a node. @returns whether it is draining, so that it takes no more agents */
  async appear(): Promise<boolean> {
    const { connections, time, about, state } = this.#parts
    const { version, config, in_flight } = await state()
    const now = time.now()
    this.#started_at ??= now
    const row = { ...about, version, config, in_flight, draining: 0, started_at: this.#started_at, seen_at: now }
    const late = `(SELECT greatest(0, ${time.sql} - coalesce(min(run_at), ${time.sql})) FROM leases WHERE kind = 'agent')`
    const text = `INSERT INTO svc_nodes (${Object.keys(row).join(', ')}, lag_ms) VALUES (${Object.values(row).map(literal).join(', ')}, ${late})
       ON CONFLICT (owner) DO UPDATE SET version = excluded.version, config = excluded.config, in_flight = excluded.in_flight,
         lag_ms = excluded.lag_ms, seen_at = excluded.seen_at RETURNING draining`
    const [written] = await connections.retry(() => connections.query(text))
    return written!.rows[0]?.draining === 1
  }

  /** Removes the row of this process, and rows of nodes that have been silent for long. */
  async leave(): Promise<void> {
    if (this.#started_at === undefined) return
    const { connections, about, time, silent_ms } = this.#parts
    await connections.query(
      `DELETE FROM svc_nodes WHERE owner = ${literal(about.owner)} OR seen_at < ${time.now() - 100 * silent_ms}`,
    )
  }

  /** Returns whether nodes of other machines or projects are active, or those of one place. */
  async hasActiveNodes(place?: string): Promise<boolean> {
    const { connections, about, time, silent_ms } = this.#parts
    const text = `SELECT 1 FROM svc_nodes WHERE place ${place === undefined ? `<> ${literal(about.place)}` : `= ${literal(place)}`} AND seen_at > ${time.sql} - ${silent_ms} LIMIT 1`
    return (await connections.retry(() => connections.query(text)))[0]!.rowCount === 1
  }

  /** Returns the live nodes, in the order in which they joined. */
  async list(): Promise<(NodeRow & { silent: boolean })[]> {
    const { connections, time, silent_ms } = this.#parts
    const text = `SELECT *, seen_at <= ${time.sql} - ${silent_ms} AS silent FROM svc_nodes
      WHERE seen_at > ${time.sql} - ${100 * silent_ms} ORDER BY started_at, owner`
    const [found] = await connections.retry(() => connections.query(text))
    return (found!.rows as unknown as (NodeRow & { silent: number })[]).map(row => ({
      ...row,
      silent: row.silent === 1,
    }))
  }

  /** Starts or ends draining of a node. @returns whether the node exists */
  async drain(owner: string, draining: boolean): Promise<boolean> {
    const { connections } = this.#parts
    const text = `UPDATE svc_nodes SET draining = ${literal(draining)} WHERE owner = ${literal(owner)}`
    return (await connections.retry(() => connections.query(text)))[0]!.rowCount === 1
  }
}
