import { join } from 'node:path'
import type { Ports } from '#kernel'

type Files = Ports['files']

/** A line that is longer is none of ours: it is skipped without being held in memory. In bytes. */
export const LONGEST_LINE = 1024 * 1024
/** How much is read at a time, in bytes: parsing it keeps the event loop for a few milliseconds. */
const CHUNK = 128 * 1024
const NEWLINE = 10

/** One file of a run's log. Its name says the seq of its first line, so that a reader finds its place by names alone. */
export interface Segment {
  path: string
  first: number
}

export function segmentPath(folder: string, first: number): string {
  return join(folder, segmentName(first))
}

export function segmentName(first: number): string {
  return `log-${String(first).padStart(15, '0')}.jsonl`
}

/** A run's files, oldest first; none when it has no folder. */
export async function segmentsOf(files: Files, folder: string): Promise<Segment[]> {
  const names = await files.readdir(folder).catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap(name => {
      const match = /^log-(\d{15})\.jsonl$/.exec(name)
      return match ? [{ path: join(folder, name), first: Number(match[1]) }] : []
    })
    .sort((a, b) => a.first - b.first)
}

/** The seq of a line that we wrote; undefined for anything else. */
export function seqOf(line: string): number | undefined {
  const match = /^\{"seq":(\d{1,15}),.*\}$/.exec(line)
  if (!match) return undefined
  try {
    JSON.parse(line)
    return Number(match[1])
  } catch {
    return undefined
  }
}

/** How much of a file's end is looked at for its last line, in bytes: more than our lines usually have. */
const GLANCE = 64 * 1024

/** The seq of a log's last whole line, at a glance; undefined when that is not enough to tell. */
export async function lastSeqAt(files: Files, folder: string): Promise<number | undefined> {
  const path = (await segmentsOf(files, folder)).at(-1)?.path
  if (!path) return undefined
  const handle = await files.open(path, 'r')
  try {
    const { size } = await handle.stat()
    const bytes = Buffer.alloc(Math.min(size, GLANCE))
    await handle.read(bytes, 0, bytes.length, size - bytes.length)
    const [last = ''] = bytes.toString('utf8', 0, bytes.lastIndexOf(NEWLINE)).split('\n').slice(-1)
    return seqOf(last)
  } finally {
    await handle.close()
  }
}

export interface ScanOptions {
  files: Files
  signal?: AbortSignal
  /** Takes one line without its newline; false ends the scan. The bytes are its own only until it returns. */
  take: (line: Buffer) => boolean
  /** Called for a line that is too long, with its length without the newline. */
  skip: (bytes: number) => void
}

/**
 * Reads a file line by line, in pieces that are read off the event loop. A last line without its newline is still being
 * written, and is left for the next time.
 * @returns false when `take` ended it
 */
export async function scanLines(path: string, { files, signal, take, skip }: ScanOptions): Promise<boolean> {
  const handle = await files.open(path, 'r')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK)
    let begun: Buffer = Buffer.alloc(0)
    /** How much of a line that is too long has been let go. */
    let dropped = 0
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await handle.read(chunk, 0, CHUNK)
      if (bytesRead === 0) return true
      const bytes = chunk.subarray(0, bytesRead)
      let from = 0
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
        const line = begun.length > 0 ? Buffer.concat([begun, bytes.subarray(from, end)]) : bytes.subarray(from, end)
        from = end + 1
        if (dropped > 0) skip(dropped + line.length)
        else if (!take(line)) return false
        begun = Buffer.alloc(0)
        dropped = 0
      }
      begun = Buffer.concat([begun, bytes.subarray(from)])
      if (begun.length > LONGEST_LINE || dropped > 0) {
        dropped += begun.length
        begun = Buffer.alloc(0)
      }
    }
  } finally {
    await handle.close()
  }
}

/**
 * The lines of a file from its end on, in pieces that are read off the event loop; those of one piece are in the order of the
 * file. A last line without its newline is left out; of a line that is too long only the beginning comes.
 */
export async function* linesFromEnd(
  path: string,
  { files, signal }: Pick<ScanOptions, 'files' | 'signal'>,
): AsyncGenerator<Buffer[]> {
  const handle = await files.open(path, 'r')
  try {
    let { size: end } = await handle.stat()
    /** The rest of a line that begins before `end`, with its newline; undefined until the last newline was found. */
    let rest: Buffer | undefined
    while (end > 0) {
      signal?.throwIfAborted()
      const start = Math.max(0, end - CHUNK)
      const bytes = Buffer.allocUnsafe(end - start)
      await handle.read(bytes, 0, bytes.length, start)
      end = start
      const whole = rest ? Buffer.concat([bytes, rest]) : bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1)
      if (whole.length === 0) continue
      const from = start > 0 ? whole.indexOf(NEWLINE) + 1 : 0
      rest = from > LONGEST_LINE ? whole.subarray(from - 1, from) : whole.subarray(0, from)
      const lines = [...linesIn(whole.subarray(from))]
      if (lines.length > 0) yield lines
    }
  } finally {
    await handle.close()
  }
}

function* linesIn(bytes: Buffer): Generator<Buffer> {
  let from = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
    yield bytes.subarray(from, end)
    from = end + 1
  }
}
