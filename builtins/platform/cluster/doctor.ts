import { type DoctorCheck, finding } from '#lib/doctor-check'
import type { Nodes } from './nodes.ts'
import { warningsOf } from './operations.ts'

/** Checks whether the nodes of a shared database agree. */
export function clusterCheck(nodes: () => Nodes | undefined): DoctorCheck {
  return {
    name: 'cluster',
    async run() {
      const known = nodes()
      if (!known) return finding.ok('one machine, with an SQLite file')
      const rows = await known.list()
      const [warning, ...more] = warningsOf(rows)
      if (!warning) return finding.ok(`${rows.length} nodes are running, with the same version and configuration`)
      return finding.warn([warning, ...more].join('; '), 'check the nodes with: svc cluster')
    },
  }
}
