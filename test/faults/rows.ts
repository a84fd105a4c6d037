import type { Look } from '#platform/store/contract'
import { ownInvariants } from '../support/simulation/checks/invariants.ts'

/** Returns the faults in the rows of a database, as messages: integrity errors and violated invariants. */
export function brokenRows(look: Look): string[] {
  const faults: string[] = []
  const none = (what: string, rows: readonly unknown[]) => {
    if (rows.length > 0) faults.push(`${what} ${JSON.stringify(rows).slice(0, 500)}`)
  }
  none(
    'The file is whole.',
    look.all<{ integrity_check: string }>('PRAGMA integrity_check').filter(row => row.integrity_check !== 'ok'),
  )
  none('Whatever a row names is there.', look.all('PRAGMA foreign_key_check'))
  for (const { promise, broken } of ownInvariants()) {
    const found = broken(look)
    if (found !== undefined) faults.push(`${promise} ${found.slice(0, 500)}`)
  }
  return faults
}
