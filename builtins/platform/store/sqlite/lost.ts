import { basename } from 'node:path'
import type { Ports } from '#kernel'
import { DatabaseUnusableError } from '../contract.ts'
import { APPLICATION_ID } from '../schema.ts'
import { openParts, type Part } from './holders.ts'

const MAGIC = 'SQLite format 3\0'
const HEADER_BYTES = 108

/**
 * Returns why a database's files must not be opened, or undefined. Either the main file is missing, empty or another
 * program's while a log has data, which SQLite would discard or write into that file; or a running process has a
 * removed file open.
 */
export async function lossOf(
  file: string,
  ports: Pick<Ports, 'files'>,
): Promise<InstanceType<typeof DatabaseUnusableError> | undefined> {
  const sizeOf = async (part: Part) => (await ports.files.stat(file + part).catch(() => undefined))?.size
  const [main, wal, shm] = await Promise.all([sizeOf(''), sizeOf('-wal'), sizeOf('-shm')])
  const strange = main === undefined || wal ? await fileProblem(file, main, ports) : undefined
  // A connection creates the log before its index, and the last one removes the index before the log.
  const isTorn = main === undefined || (wal === undefined) !== (shm === undefined)
  if (!isTorn && !strange) return undefined
  const open = (await openParts(file, ports)).filter(({ removed, part }) => removed || (strange && part === ''))
  const [holder] = open.filter(({ pid }) => pid !== process.pid)
  if (holder) {
    const gone = open.map(({ part }) => part).find(part => !strange || part === '') ?? ''
    const problem = strange ?? `lost its ${basename(file)}${gone}`
    const held = `while process ${holder.pid} still has it open`
    const remedy = 'leave that process running and save its data with: svc db backup'
    return new DatabaseUnusableError({ file, problem: `${problem}, ${held}`, remedy })
  }
  if (!strange || !wal) return undefined
  const problem = `${strange}, while ${(wal / 1024 / 1024).toFixed(1)} MiB of data are in its svc.db-wal`
  const remedy =
    'nothing was changed; save the data of that log with: svc db backup, then restore this or an earlier backup: svc db restore <file>'
  return new DatabaseUnusableError({ file, problem, remedy })
}

/**
 * Returns what is wrong with the main file. A new database has no application id yet while its schema is in the log
 * only.
 */
async function fileProblem(
  file: string,
  size: number | undefined,
  { files }: Pick<Ports, 'files'>,
): Promise<string | undefined> {
  if (size === undefined) return 'is gone'
  if (size === 0) return 'is empty'
  const header = Buffer.alloc(HEADER_BYTES)
  const handle = await files.open(file, 'r')
  try {
    await handle.read(header, 0, HEADER_BYTES, 0)
  } finally {
    await handle.close()
  }
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'is not a database'
  const id = header.readUInt32BE(68)
  const isBlank = id === 0 && header.readUInt32BE(60) === 0 && header.readUInt16BE(103) === 0
  return id === APPLICATION_ID || isBlank ? undefined : 'belongs to another program'
}
