import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { definePlugin, z } from '#kernel'
import { DoctorChecks } from '../doctor/contract.ts'
import { Effects, SharedFiles, StoreEngines } from '../store/contract.ts'
import { clusterCheck } from './doctor.ts'
import { FILE_EFFECTS, sharedFiles } from './files.ts'
import type { Nodes } from './nodes.ts'
import { openCluster } from './open.ts'
import { clusterOperations } from './operations.ts'

export default definePlugin({
  name: 'cluster',
  description: 'PostgreSQL as the database: the same agents on several machines.',
  config: z.object({
    lease: z
      .number()
      .min(1)
      .max(600)
      .default(15)
      .describe('Seconds after which others take over what a node that fell silent was driving'),
    listen_url: z
      .string()
      .default('')
      .meta({ env: 'SVC_LISTEN_URL', secret: true })
      .describe(
        'A direct connection to the database, where store.url goes through a pool of transactions; empty: store.url',
      ),
  }),
  setup(svc, config) {
    const project = createHash('sha256').update(svc.project.root).digest('hex').slice(0, 8)
    const place = `${hostname()}/${project}:`
    let nodes: Nodes | undefined
    for (const scheme of ['postgres', 'postgresql']) {
      svc.add(StoreEngines, {
        scheme,
        async open(parts) {
          const opened = await openCluster(svc, parts, config, place)
          nodes = opened.scheduler.nodes
          svc.provide(SharedFiles, sharedFiles(opened.store))
          return opened
        },
      })
    }
    for (const effect of FILE_EFFECTS) svc.add(Effects, effect.kind)
    svc.add(
      DoctorChecks,
      clusterCheck(() => nodes),
    )
    for (const operation of clusterOperations(svc, () => nodes)) svc.operation(operation)
  },
})
