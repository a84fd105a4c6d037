import { type OperationContext, operation, type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { isoTime } from '#platform/store/contract'
import { NoClusterError, NodeNotFoundError } from './contract.ts'
import { moveOperations } from './move/operations.ts'
import { type NodeRow, nodesOf } from './nodes.ts'

const Node = z
  .object({
    node: z.string().describe('Name of the node, as in its leases'),
    host: z.string(),
    pid: z.int(),
    version: z.string().describe('Version of svc on the node'),
    schema_version: z.int().describe('Version of the database schema that the node knows'),
    state: z.enum(['at work', 'draining', 'silent']),
    in_flight: z.int().describe('Number of cycles that the node is running'),
    lag_ms: z.int().describe("Delay of the most overdue agent at the node's last heartbeat, in milliseconds"),
    config: z.string().describe("Hash of the node's configuration file"),
    started_at: z.iso.datetime(),
    seen_at: z.iso.datetime(),
  })
  .meta({ id: 'ClusterNode' })
type Node = z.infer<typeof Node>

const Cluster = z.object({
  nodes: z.array(Node),
  warnings: z.array(z.string()).describe('Differences between the nodes, and silent nodes'),
})

function requireNodes(svc: PluginHandle) {
  const found = nodesOf(svc)
  if (!found) throw new NoClusterError()
  return found
}

/** Returns the common parts of the operations that drain a node and take it back. */
const drain = (draining: boolean) => ({
  input: z.object({
    node: z
      .string()
      .min(1)
      .max(200)
      .meta({ examples: ['db2'] })
      .describe('Name of a node, or the beginning or end of its name'),
  }),
  output: z.object({ node: z.string(), draining: z.boolean() }),
  errors: [NodeNotFoundError, NoClusterError],
  async run({ node }: { node: string }, { svc }: OperationContext) {
    const rows = (await requireNodes(svc).list()).filter(({ owner }) => owner.startsWith(node) || owner.endsWith(node))
    if (rows.length !== 1) throw new NodeNotFoundError({ node, found: rows.length })
    await requireNodes(svc).drain(rows[0]!.owner, draining)
    return { node: rows[0]!.owner, draining }
  },
})

export const clusterStatus = operation({
  name: 'cluster.status',
  summary: "List the cluster's nodes",
  description: 'Shows the host, version and cycles of each node, and differences between the nodes.',
  input: z.object({}),
  output: Cluster,
  errors: [NoClusterError],
  http: { method: 'GET', path: '/cluster' },
  cli: { usage: 'cluster' },
  async run(_, { svc }) {
    const rows = await requireNodes(svc).list()
    return { nodes: rows.map(toNode), warnings: warningsOf(rows) }
  },
  render: ({ nodes, warnings }) =>
    nodes.length === 0
      ? 'no node is running; start one with: svc start'
      : [...nodes.map(line), ...warnings.map(each => `! ${each}`)].join('\n'),
})

export const clusterDrain = operation({
  name: 'cluster.drain',
  summary: 'Drain a node',
  description: 'The node takes no more agents. Its running cycles end, and other nodes take over its agents.',
  ...drain(true),
  http: { method: 'POST', path: '/cluster/drain' },
  cli: { usage: 'cluster drain <node>' },
  render: ({ node }) => `${node} takes no more agents; resume it with: svc cluster resume ${node}`,
})

export const clusterResume = operation({
  name: 'cluster.resume',
  summary: 'Resume a drained node',
  description: 'The node takes agents again with its next heartbeat.',
  ...drain(false),
  http: { method: 'POST', path: '/cluster/resume' },
  cli: { usage: 'cluster resume <node>' },
  render: ({ node }) => `${node} takes agents again`,
})

export const clusterOperations = [clusterStatus, clusterDrain, clusterResume, ...moveOperations]

type Row = NodeRow & { silent: boolean }

function toNode(row: Row): Node {
  const { owner, place: _, silent, draining, started_at, seen_at, ...rest } = row
  const state = silent ? 'silent' : draining ? 'draining' : 'at work'
  return { node: owner, ...rest, state, started_at: isoTime(started_at), seen_at: isoTime(seen_at) }
}

/** Returns warnings about differences between the nodes, and about silent nodes. */
export function warningsOf(rows: readonly Row[]): string[] {
  const living = rows.filter(({ silent }) => !silent)
  const differ = (what: string, key: 'version' | 'schema_version' | 'config') =>
    new Set(living.map(row => row[key])).size > 1 ? [`${what} differs between the nodes`] : []
  const gone = rows
    .filter(({ silent }) => silent)
    .map(({ owner, seen_at }) => `${owner} has been silent since ${isoTime(seen_at)}`)
  return [
    ...differ('the version of svc', 'version'),
    ...differ('the schema version', 'schema_version'),
    ...differ('config.yaml', 'config'),
    ...gone,
  ]
}

function line({ node, state, version, in_flight, lag_ms, seen_at }: Node): string {
  return [
    node,
    state,
    `version ${version}`,
    pluralize(in_flight, 'cycle'),
    `${lag_ms} ms late`,
    `seen ${seen_at}`,
  ].join('  ')
}
