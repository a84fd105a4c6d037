import { join, resolve } from 'node:path'
import { type OperationCall, operation, type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { DaemonRunningError } from '#platform/daemon/contract'
import { DatabaseImages, FileExistsError, Store, StoreSchema } from '#platform/store/contract'
import {
  AlreadyMovedError,
  MoveFailedError,
  MoveTargetError,
  NoClusterError,
  NodesAtWorkError,
  OpenElsewhereError,
  TargetInUseError,
  UncopyableTablesError,
} from '../contract.ts'
import { nodesOf } from '../nodes.ts'
import { place } from '../postgres/connection.ts'
import { requireExclusive, waitUntilExclusive } from './exclusive.ts'
import { backUp, moveBack, moveTo, restore } from './move.ts'
import { DROP_PACKED_FILES, unpack } from './unpack.ts'

const POSTGRES = /^postgres(ql)?:\/\//

function url(svc: PluginHandle) {
  if (!nodesOf(svc)) throw new NoClusterError()
  return String(svc.config.get('store.url'))
}

const backups = (svc: PluginHandle) => join(svc.project.svc, 'backups')

const stamp = (svc: PluginHandle) => svc.clock.now().toISOString().replaceAll(/[-:Z]/g, '').replaceAll(/[T.]/g, '-')

const still = (svc: PluginHandle, wait: boolean, { progress, signal }: Pick<OperationCall, 'progress' | 'signal'>) =>
  wait ? waitUntilExclusive(svc, nodesOf(svc), { report: progress, signal }) : requireExclusive(svc, nodesOf(svc))

const inUse = [DaemonRunningError, NodesAtWorkError, OpenElsewhereError]

const Report = z.object({ file: z.string(), version: z.int(), bytes: z.int() })

export const clusterMove = operation({
  name: 'cluster.move',
  summary: 'Move the database to PostgreSQL, or back',
  description: 'Copies every row and compares the copy; the source is not changed.',
  input: z.object({
    to: z
      .string()
      .optional()
      .describe("Target database, as in postgres://user@host/name; .svc/svc.db for the project's own file"),
    back: z.boolean().default(false).describe("Move the database into the project's own file"),
    switch: z.boolean().default(false).describe('Update store.url in .svc/config.yaml after the copy was compared'),
    wait: z.boolean().default(false).describe('Wait until no other process has the database open, instead of failing'),
  }),
  output: z.object({
    to: z.string(),
    engine: z.enum(['postgres', 'sqlite']),
    tables: z.int(),
    rows: z.int(),
    files: z.int(),
    kept: z
      .string()
      .nullable()
      .describe("Path to which the project's previous file was moved; null if none was replaced"),
    switched: z.boolean(),
    overridden: z.boolean().describe('Whether SVC_STORE_URL is set, which takes precedence over .svc/config.yaml'),
  }),
  errors: [...inUse, AlreadyMovedError, MoveTargetError, TargetInUseError, MoveFailedError, UncopyableTablesError],
  cli: { usage: 'db move', example: 'db move --to postgres://svc@db1/svc' },
  async run({ to, back, switch: switched, wait }, call) {
    const { svc } = call
    const { project, config } = svc
    const file = back || (to !== undefined && resolve(project.root, to) === project.database)
    const elsewhere = nodesOf(svc) !== undefined
    if (file && !elsewhere)
      throw new MoveTargetError({ here: 'already in its SQLite file', to: '--to postgres://user@host/name' })
    if (!file && elsewhere) throw new AlreadyMovedError()
    if (!file && !POSTGRES.test(to ?? ''))
      throw new MoveTargetError({ here: 'in its SQLite file', to: '--to postgres://user@host/name' })
    await still(svc, wait, call)
    const overridden = Boolean(svc.ports.env.SVC_STORE_URL)
    if (file) {
      const moved = await moveBack(svc, url(svc), join(backups(svc), `svc-replaced-${stamp(svc)}`))
      if (switched) await config.unset('store.url')
      return { ...moved, to: project.database, engine: 'sqlite' as const, switched, overridden }
    }
    const moved = await moveTo(svc, to!, svc.use(StoreSchema))
    if (switched) await config.patch({ store: { url: to! } })
    return { ...moved, to: place(to!), engine: 'postgres' as const, kept: null, switched, overridden }
  },
  render({ to, engine, tables, rows, files, switched, overridden, kept }) {
    const there = `${pluralize(rows, 'row')} of ${pluralize(tables, 'table')} and ${pluralize(files, 'file')} were copied to ${to} and compared.`
    const before = kept === null ? '' : ` The previous file is kept as ${kept}.`
    const variable = overridden ? ' SVC_STORE_URL is set and takes precedence over it.' : ''
    if (switched) return `${there}${before} .svc/config.yaml was updated.${variable}`
    return `${there}${before} Use it with: ${engine === 'sqlite' ? 'unset SVC_STORE_URL' : 'export SVC_STORE_URL=<the same URL>'}`
  },
})

export const clusterBackup = operation({
  name: 'cluster.backup',
  summary: 'Back up a PostgreSQL database to a file',
  description: 'The backup is a snapshot of one moment; other processes can write meanwhile.',
  input: z.object({ file: z.string().optional() }),
  output: Report,
  errors: [NoClusterError, FileExistsError, MoveFailedError, UncopyableTablesError],
  run: async ({ file }, { svc }) => backUp(svc, url(svc), resolve(file ?? join(backups(svc), `svc-${stamp(svc)}.db`))),
})

export const clusterRestore = operation({
  name: 'cluster.restore',
  summary: 'Restore a PostgreSQL database from a backup',
  description: 'The current contents of the database are backed up first.',
  input: z.object({ file: z.string() }),
  output: z.object({ file: z.string(), tables: z.int(), rows: z.int(), kept: z.string() }),
  errors: [NoClusterError, ...inUse, MoveFailedError, UncopyableTablesError],
  async run({ file }, call) {
    const { svc } = call
    await still(svc, false, call)
    const kept = join(backups(svc), `svc-replaced-${stamp(svc)}.db`)
    await backUp(svc, url(svc), kept)
    return { ...(await restore(svc, url(svc), resolve(file))), file: resolve(file), kept }
  },
})

export const clusterCheck = operation({
  name: 'cluster.check',
  summary: "Check a PostgreSQL database's integrity",
  input: z.object({}),
  output: z.object({
    at: z.string(),
    version: z.int(),
    rows: z.int(),
    faults: z.array(z.string()),
  }),
  errors: [NoClusterError],
  async run(_, { svc }) {
    const at = place(url(svc))
    const store = svc.use(Store)
    const tables = await store.all<{ name: string }>(
      'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename',
    )
    const faults: string[] = []
    let rows = 0
    for (const { name } of tables) {
      // Casting the row to text reads all of its columns.
      const sql = `SELECT count(*) AS n, sum(length(CAST(t AS text))) AS size FROM "${name}" t`
      const [found] = await store.all<{ n: number }>(sql).catch(error => {
        faults.push(`${name} cannot be read (${(error as Error).message})`)
        return []
      })
      rows += found?.n ?? 0
    }
    const [broken] = await store.all<{ n: number | null }>(
      'SELECT checksum_failures AS n FROM pg_stat_database WHERE datname = current_database()',
    )
    if (broken?.n) faults.push(`${broken.n} pages failed their checksum`)
    return { at, version: svc.use(StoreSchema).length, rows, faults }
  },
})

export const clusterUnpack = operation({
  name: 'cluster.unpack',
  summary: 'Write the files of a PostgreSQL backup to a folder',
  input: z.object({}),
  output: z.object({ files: z.int() }),
  async run(_, { svc }) {
    const image = await svc.use(DatabaseImages).open(svc.project.database)
    try {
      if (image.all("SELECT 1 FROM sqlite_master WHERE name = 'svc_files'").length === 0) return { files: 0 }
      const files = await unpack(svc, image, join(backups(svc), `svc-replaced-${stamp(svc)}-files`))
      await image.write(DROP_PACKED_FILES.map(sql => ({ sql })))
      return { files }
    } finally {
      image.close()
    }
  },
})

export const moveOperations = [clusterMove, clusterBackup, clusterRestore, clusterCheck, clusterUnpack]
