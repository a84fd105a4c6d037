import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ports } from '#kernel'
import { unlessMissing } from '#lib/unless-code'
import { DatabaseUnusableError } from '../contract.ts'
import { connect } from './connection.ts'
import { FROM_BACKUP } from './damage.ts'
import type { Database } from './database.ts'
import { type OpenPart, openParts } from './holders.ts'
import { lossOf } from './lost.ts'
import { rebuild } from './wal.ts'

/** Number of attempts to copy files that change meanwhile. */
const TRIES = 3

/** A temporary copy that may be opened, written and discarded. */
export interface Snapshot {
  file: string
  discard(): Promise<void>
}

/**
 * Opens a database for reading without changing anything on disk. SQLite itself creates files, recovers the log, and
 * discards the log of an empty main file. So the files are opened in place only if a process already has them open;
 * otherwise a copy is opened.
 */
export async function reading<T>(file: string, ports: Ports, work: (database: Database) => T | Promise<T>): Promise<T> {
  if (!(await isInUse(file, ports))) {
    const copy = await snapshot(file, ports)
    try {
      return await using(copy.file, ports, { shownAs: file }, work)
    } finally {
      await copy.discard()
    }
  }
  return using(file, ports, { readonly: true }, work)
}

/**
 * Copies a database at one point in time, log included. When its files are lost, the copy is made from the files that a
 * running process still has open, or from the log alone.
 * @throws DatabaseUnusableError when these do not hold all data
 */
export async function snapshot(file: string, ports: Ports): Promise<Snapshot> {
  const { files } = ports
  const folder = await files.mkdtemp(join(tmpdir(), 'svc-read-'))
  const copy = join(folder, 'svc.db')
  const discard = () => files.rm(folder, { recursive: true, force: true })
  try {
    const removed = (await openParts(file, ports)).filter(each => each.removed)
    if (removed.length > 0) await copyOpen(file, removed, copy, ports)
    else if (!(await copyQuiet({ main: file, wal: `${file}-wal`, journal: `${file}-journal` }, copy, ports)))
      await using(file, ports, { readonly: true }, database => database.run({ sql: 'VACUUM INTO ?', params: [copy] }))
    if (await lossOf(copy, ports)) await rebuildFrom(file, copy, files)
    return { file: copy, discard }
  } catch (error) {
    await discard()
    throw error
  }
}

async function using<T>(
  file: string,
  { clock }: Ports,
  options: { readonly?: boolean; shownAs?: string },
  work: (database: Database) => T | Promise<T>,
): Promise<T> {
  const database = await connect(file, clock, options)
  try {
    return await database.waiting(() => work(database))
  } finally {
    database.close()
  }
}

/** Returns whether a process has the files open that are at this path now. */
async function isInUse(file: string, ports: Ports): Promise<boolean> {
  const open = await openParts(file, ports)
  return open.length > 0 && !open.some(({ removed }) => removed) && !(await lossOf(file, ports))
}

/** Copies the files that one process has open, also those already removed. */
async function copyOpen(file: string, open: readonly OpenPart[], copy: string, ports: Ports): Promise<void> {
  const { pid } = open[0]!
  const all = (await openParts(file, ports)).filter(each => each.pid === pid)
  const pathOf = (part: string) => all.find(each => each.part === part)?.path
  const paths = { main: pathOf('') ?? file, wal: pathOf('-wal') ?? `${file}-wal`, journal: `${file}-journal` }
  if (await copyQuiet(paths, copy, ports)) return
  const remedy = 'nothing was changed; try again'
  throw new DatabaseUnusableError({ file, problem: `is being written by process ${pid}`, remedy })
}

/** Copies the files until a copy succeeds without a write meanwhile. @returns whether one succeeded */
async function copyQuiet(
  { main, wal, journal }: { main: string; wal: string; journal: string },
  copy: string,
  { files, stampOf }: Ports,
): Promise<boolean> {
  const stamp = () => [main, wal, journal].map(stampOf).join()
  const parts = [
    [main, copy],
    [wal, `${copy}-wal`],
    [journal, `${copy}-journal`],
  ] as const
  for (let tries = 0; tries < TRIES; tries++) {
    const before = stamp()
    for (const [from, to] of parts) {
      await files.rm(to, { force: true })
      await files.copyFile(from, to, files.constants.COPYFILE_FICLONE).catch(unlessMissing)
    }
    if (stamp() === before) return true
  }
  return false
}

/** Rebuilds an unusable copy of the main file from the log. */
async function rebuildFrom(file: string, copy: string, files: Ports['files']): Promise<void> {
  const missing = await rebuild(`${copy}-wal`, copy, files)
  await files.rm(`${copy}-wal`, { force: true })
  if (missing === 0) return
  const problem = `is lost, and its svc.db-wal does not contain all of the data (${missing ?? 'all'} pages are missing)`
  throw new DatabaseUnusableError({ file, problem, remedy: FROM_BACKUP })
}
