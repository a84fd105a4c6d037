import { basename, dirname, join } from 'node:path'
import type { Ports } from '#kernel'

/** Suffixes of one database's files. */
export const PARTS = ['', '-wal', '-shm'] as const
export type Part = (typeof PARTS)[number]

/** A file of a database that a process has open. */
export interface OpenPart {
  pid: number
  part: Part
  /** Path at which the file can be read, also after it was removed. */
  path: string
  /** Whether the file was removed, or replaced by another one. */
  removed: boolean
}

const REMOVED = ' (deleted)'

/**
 * Returns which of this user's processes have a database's files open, this one included. Works on Linux only; empty
 * elsewhere. Checks only processes with locks, since every SQLite connection holds one.
 */
export async function openParts(file: string, { files }: Pick<Ports, 'files'>): Promise<OpenPart[]> {
  const locks = await files.readFile('/proc/locks', 'utf8').catch(() => '')
  const pids = new Set(
    [...locks.matchAll(/^\d+: (?:POSIX|OFDLCK)\s+\S+\s+\S+\s+(\d+) /gm)].map(([, pid]) => Number(pid)),
  )
  // The system reports a file by its real folder.
  const folder = dirname(file)
  const real = join(await files.realpath(folder).catch(() => folder), basename(file))
  const found = await Promise.all(
    [...pids].map(async pid => {
      const at = `/proc/${pid}/fd`
      const names = await files.readdir(at).catch(() => [])
      const open = names.map(async name => {
        const path = join(at, name)
        const link = await files.readlink(path).catch(() => '')
        const part = PARTS.find(each => link === real + each || link === real + each + REMOVED)
        return part === undefined ? [] : [{ pid, part, path, removed: link.endsWith(REMOVED) }]
      })
      return (await Promise.all(open)).flat()
    }),
  )
  return found.flat()
}
