import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { SvcError } from '#kernel'
import type { SoakedProject } from './soak-project.ts'

/** Log message of a service while its database's files are missing. */
export const REMOVED = /svc\.db\S* was removed or replaced while in use/
/** Time limit to notice, in milliseconds: several times the interval at which a server checks its database. */
const PATIENCE_MS = 10_000
const COUNTED = ['agents', 'goals', 'events', 'nudges', 'spend']

/**
 * Moves the database's files away under the running service, and puts them back.
 * @returns what the service did not notice, acknowledged anyway, or left out of its backup
 */
export async function removeFiles(project: SoakedProject, db: Sqlite.Database): Promise<string[]> {
  const broken: string[] = []
  for (const parts of [['-wal'], ['', '-wal', '-shm']]) {
    const away = join(project.root, 'away')
    const move = async (from: string, to: string) => {
      for (const part of parts) await rename(join(from, `svc.db${part}`), join(to, `svc.db${part}`))
    }
    const home = dirname(project.database)
    await mkdir(away)
    await move(home, away)
    const name = parts.map(part => `svc.db${part}`).join(', ')
    if (!(await becomes(project, 503))) broken.push(`Nothing noticed that ${name} was removed.`)
    const written = await project.client.agents.nudge({ id: 'clerk', message: 'nothing may be written' }).then(
      () => 'it was acknowledged',
      error => (error instanceof SvcError && error.status === 503 ? undefined : String(error)),
    )
    if (written) broken.push(`A write while ${name} was removed: ${written}.`)
    const { file } = await project.client.store.backup()
    const copy = new Sqlite(file, { readonly: true })
    for (const table of COUNTED) {
      const count = (of: Sqlite.Database) => of.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
      if (count(copy) !== count(db)) broken.push(`The backup without ${name} has ${count(copy)} rows of ${table}.`)
    }
    copy.close()
    await rm(file)
    await move(away, home)
    await rm(away, { recursive: true })
    if (!(await becomes(project, 200))) broken.push(`It did not go on with ${name} in its place.`)
  }
  return broken
}

async function becomes(project: SoakedProject, status: number): Promise<boolean> {
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS; await sleep(100)) {
    if ((await fetch(`${project.url}/healthz`)).status === status) return true
  }
  return false
}
