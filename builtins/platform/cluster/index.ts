import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { definePlugin } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { Effects, SharedFiles, StoreEngines } from '#platform/store/contract'
import { ClusterConfig } from './config.ts'
import { clusterCheck } from './doctor.ts'
import { FILE_EFFECTS, sharedFiles } from './files.ts'
import { NodesToken, nodesOf } from './nodes.ts'
import { openCluster } from './open.ts'
import { clusterOperations } from './operations.ts'

export default definePlugin({
  name: 'cluster',
  description: 'PostgreSQL as the database, for several machines with the same agents.',
  fixed: true,
  config: ClusterConfig,
  setup(svc, config) {
    const project = createHash('sha256').update(svc.project.root).digest('hex').slice(0, 8)
    const place = `${hostname()}/${project}:`
    for (const scheme of ['postgres', 'postgresql']) {
      svc.add(StoreEngines, {
        scheme,
        async open(parts) {
          const opened = await openCluster(svc, parts, config, place)
          svc.provide(NodesToken, opened.scheduler.nodes)
          svc.provide(SharedFiles, sharedFiles(opened.store))
          return opened
        },
      })
    }
    for (const effect of FILE_EFFECTS) svc.add(Effects, effect.kind)
    svc.add(
      DoctorChecks,
      clusterCheck(() => nodesOf(svc)),
    )
    for (const operation of clusterOperations) svc.operation(operation)
  },
})
