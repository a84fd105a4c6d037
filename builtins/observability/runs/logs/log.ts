import { unlessMissing } from '#lib/unless-code'
import { join } from 'node:path'
import type { Ports } from '#kernel'

type Files = Ports['files']

/** Maximum length of a line, in bytes. Longer ones are not ours and are skipped without being kept in memory. */
export const LONGEST_LINE = 1024 * 1024
/** Number of bytes read at once; parsing them blocks the event loop for a few milliseconds. */
const CHUNK = 128 * 1024
const NEWLINE = 10

/**
 * One file of a run's log. Its name contains the seq of its first line, so that readers find their position by names
 * alone.
 */
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

/** Returns a run's log files, oldest first; none if it has no folder. */
export async function segmentsOf(files: Files, folder: string): Promise<Segment[]> {
  const names = await files.readdir(folder).catch(unlessMissing)
  return (names ?? [])
    .flatMap(name => {
      const match = /^log-(\d{15})\.jsonl$/.exec(name)
      return match ? [{ path: join(folder, name), first: Number(match[1]) }] : []
    })
    .sort((a, b) => a.first - b.first)
}

/** Returns the seq of a log line; undefined for anything else. */
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

/** Number of bytes at the end of a file that are searched for the last line: more than a usual line has. */
const GLANCE = 64 * 1024

/**
 * Returns the seq of a log's last complete line from the end of its last file; undefined if that part is not enough.
 */
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
  /** Called with a line without its newline; false ends the scan. The bytes are valid only until it returns. */
  take: (line: Buffer) => boolean
  /** Called for a line that is too long, with its length without the newline. */
  skip: (bytes: number) => void
}

/**
 * Reads a file line by line, in chunks, off the event loop. A last line without a newline is still being written and is
 * ignored.
 * @returns false if `take` ended it
 */
export async function scanLines(path: string, { files, signal, take, skip }: ScanOptions): Promise<boolean> {
  const handle = await files.open(path, 'r')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK)
    let begun: Buffer = Buffer.alloc(0)
    /** Number of dropped bytes of a line that is too long. */
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
 * Yields the lines of a file from its end on, read in chunks off the event loop; lines of one chunk are in file order.
 * A last line without a newline is left out; only the beginning of a line that is too long is included.
 */
export async function* linesFromEnd(
  path: string,
  { files, signal }: Pick<ScanOptions, 'files' | 'signal'>,
): AsyncGenerator<Buffer[]> {
  const handle = await files.open(path, 'r')
  try {
    let { size: end } = await handle.stat()
    /** End of a line that begins before `end`, with its newline; undefined until the last newline is found. */
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
