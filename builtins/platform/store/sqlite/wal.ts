import type { Ports } from '#kernel'

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682

type Handle = Awaited<ReturnType<Ports['files']['open']>>

/** Committed transactions of a write-ahead log: the byte offset of each page's newest image. */
interface Log {
  pageSize: number
  /** Number of pages of the database. */
  size: number
  pages: Map<number, number>
}

/**
 * Rebuilds a database whose main file is lost from its write-ahead log. The log holds all pages until SQLite's first
 * checkpoint.
 * Format: https://sqlite.org/fileformat2.html#the_write_ahead_log
 * @returns number of pages with content that are missing in the log; undefined when the log has no committed page of
 * the schema
 */
export async function rebuild(wal: string, target: string, files: Ports['files']): Promise<number | undefined> {
  const from = await files.open(wal, 'r')
  try {
    const log = await readLog(from)
    if (!log?.pages.has(1)) return undefined
    const to = await files.open(target, 'w', 0o600)
    try {
      const page = Buffer.alloc(log.pageSize)
      for (const [number, at] of log.pages) {
        if (number > log.size) continue
        await from.read(page, 0, log.pageSize, at)
        await to.write(page, 0, log.pageSize, (number - 1) * log.pageSize)
      }
      await to.truncate(log.size * log.pageSize)
    } finally {
      await to.close()
    }
    const free = await freePages(from, log)
    let missing = 0
    for (let page = 1; page <= log.size; page++) if (!log.pages.has(page) && !free.has(page)) missing++
    return missing
  } finally {
    await from.close()
  }
}

/** Reads up to the last commit with a valid checksum, as SQLite's recovery does. */
async function readLog(from: Handle): Promise<Log | undefined> {
  const header = Buffer.alloc(HEADER)
  if ((await from.read(header, 0, HEADER, 0)).bytesRead < HEADER) return undefined
  const magic = header.readUInt32BE(0)
  const pageSize = header.readUInt32BE(8)
  if (magic >>> 1 !== MAGIC >>> 1 || pageSize < 512 || pageSize > 65_536) return undefined
  const isBigEndian = (magic & 1) === 1
  let sum = checksum([0, 0], header.subarray(0, 24), isBigEndian)
  if (!isSum(sum, header, 24)) return undefined
  const log: Log = { pageSize, size: 0, pages: new Map() }
  const frame = Buffer.alloc(FRAME_HEADER + pageSize)
  const written = new Map<number, number>()
  for (let at = HEADER; (await from.read(frame, 0, frame.length, at)).bytesRead === frame.length; at += frame.length) {
    const isOfThisLog = frame.subarray(8, 16).equals(header.subarray(16, 24))
    sum = checksum(checksum(sum, frame.subarray(0, 8), isBigEndian), frame.subarray(FRAME_HEADER), isBigEndian)
    if (!isOfThisLog || !isSum(sum, frame, 16)) break
    written.set(frame.readUInt32BE(0), at + FRAME_HEADER)
    const size = frame.readUInt32BE(4)
    if (size === 0) continue
    log.size = size
    for (const [page, place] of written) log.pages.set(page, place)
    written.clear()
  }
  return log
}

/** Returns the pages without content, which SQLite need not have written. */
async function freePages(from: Handle, { pageSize, pages }: Log): Promise<Set<number>> {
  const free = new Set<number>()
  const page = Buffer.alloc(pageSize)
  const read = async (number: number) => {
    const at = pages.get(number)
    if (at !== undefined) await from.read(page, 0, pageSize, at)
    return at !== undefined
  }
  await read(1)
  let trunk = page.readUInt32BE(32)
  while (trunk !== 0 && !free.has(trunk) && (await read(trunk))) {
    free.add(trunk)
    const count = Math.min(page.readUInt32BE(4), pageSize / 4 - 2)
    for (let n = 0; n < count; n++) free.add(page.readUInt32BE(8 + 4 * n))
    trunk = page.readUInt32BE(0)
  }
  return free
}

type Sum = readonly [number, number]

function checksum([first, second]: Sum, bytes: Buffer, isBigEndian: boolean): Sum {
  let a = first
  let b = second
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + b + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at))) >>> 0
    b = (b + a + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4))) >>> 0
  }
  return [a, b]
}

function isSum([a, b]: Sum, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === a && bytes.readUInt32BE(at + 4) === b
}
