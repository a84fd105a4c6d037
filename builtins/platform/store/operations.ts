import { dirname, join } from 'node:path'
import { operation, z } from '#kernel'
import { DiskFullError } from '#lib/errors'
import { DatabaseUnusableError, Store } from './contract.ts'

const DatabaseBackup = z
  .object({
    file: z.string().describe('Path of the backup, in .svc/backups/'),
    version: z.int().describe('Version of the database schema'),
    bytes: z.int(),
    faults: z.array(z.string()).describe('Always empty, because a copy with faults is not kept'),
  })
  .meta({ id: 'DatabaseBackup' })

/**
 * Backs up the database through this process's open connection, which works even if its files were removed. The caller
 * names no path, because a remote caller must not choose where to write.
 */
export const storeBackup = operation({
  name: 'store.backup',
  summary: 'Back up the database to a new file in .svc/backups/',
  description:
    'Used by svc db backup to save the data of a running process whose database was removed. Blocks the process during the copy.',
  input: z.object({}),
  output: DatabaseBackup,
  http: { method: 'POST', path: '/database/backup' },
  errors: [DatabaseUnusableError, DiskFullError],
  async run(_, { svc }) {
    const { keepCopy } = await import('./sqlite/files.ts')
    const stamp = svc.ports.clock.now().toISOString().replaceAll(/[-:Z]/g, '').replaceAll(/[T.]/g, '-')
    // Two requests may come in the same millisecond.
    const target = join(dirname(svc.project.database), 'backups', `${svc.ports.ids.make(`svc-${stamp}`, 4)}.db`)
    return keepCopy(svc.project.database, target, beside => svc.use(Store).copyTo!(beside), svc.ports)
  },
})
