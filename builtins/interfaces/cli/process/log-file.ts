import { join } from 'node:path'
import type { Ports } from '#kernel'

const CHUNK = 64 * 1024
/** Interval between checks of a followed file, in milliseconds. */
const LOOK_MS = 250
/** Number of rotated files that are read, the most recent first. */
const SET_ASIDE = 5

type Handle = Awaited<ReturnType<Ports['files']['open']>>

export interface Tail {
  /** Requested lines, oldest first. */
  lines: string[]
  /** Inode of the file and offset up to which it was read. */
  at: { inode: number; offset: number } | undefined
}

/** The log of a project's long-running processes, including its rotated files. */
export class LogFile {
  readonly file: string
  readonly #ports: Pick<Ports, 'files' | 'clock'>

  constructor(root: string, ports: Pick<Ports, 'files' | 'clock'>) {
    this.file = join(root, 'logs', 'svc.log')
    this.#ports = ports
  }

  /** Returns the last matching lines. Reads from the end, so that the size of the log does not matter. */
  async tail(count: number, isWanted: (line: string) => boolean): Promise<Tail> {
    const found: string[] = []
    let at: Tail['at']
    for (let n = 0; n <= SET_ASIDE && (found.length < count || n === 0); n++) {
      const handle = await this.#ports.files.open(n === 0 ? this.file : `${this.file}.${n}`, 'r').catch(() => undefined)
      if (!handle) continue
      try {
        const { size, ino } = await handle.stat()
        if (n === 0) at = { inode: ino, offset: size }
        for await (const line of backwards(handle, size)) {
          if (found.length >= count) break
          if (isWanted(line)) found.push(line)
        }
      } finally {
        await handle.close()
      }
    }
    return { lines: found.reverse(), at }
  }

  /** Yields the lines after a position until the signal is aborted, also across a rotation. */
  async *follow(from: Tail['at'], signal: AbortSignal): AsyncGenerator<string> {
    const { files, clock } = this.#ports
    let handle: Handle | undefined
    let { inode, offset } = from ?? { inode: 0, offset: 0 }
    try {
      while (!signal.aborted) {
        const next = await files.stat(this.file).catch(() => undefined)
        handle ??= await this.#openAs(inode)
        const lines = handle && (await readOn(handle, offset))
        if (lines && lines.length > 0) {
          offset += lines.length
          for (const line of splitLines(lines)) if (line.length > 0) yield line.toString('utf8')
          // A rotated file is left only at its end.
        } else if (next && next.ino !== inode) {
          await handle?.close()
          handle = await files.open(this.file, 'r').catch(() => undefined)
          inode = next.ino
          offset = 0
        } else await clock.sleep(LOOK_MS, signal)
      }
    } finally {
      await handle?.close()
    }
  }

  /** Opens the file with this inode, also when it has been rotated meanwhile. */
  async #openAs(inode: number): Promise<Handle | undefined> {
    for (const file of [this.file, `${this.file}.1`]) {
      const handle = await this.#ports.files.open(file, 'r').catch(() => undefined)
      if (handle && (await handle.stat()).ino === inode) return handle
      await handle?.close()
    }
    return undefined
  }
}

async function readOn(handle: Handle, offset: number): Promise<Buffer> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.max(0, Math.min(size - offset, CHUNK * 16)))
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset)
  // Only whole lines are taken, so that no multi-byte character is split.
  const part = bytes.subarray(0, bytesRead)
  const end = part.lastIndexOf(0x0a) + 1
  return part.subarray(0, end === 0 && bytesRead === CHUNK * 16 ? bytesRead : end)
}

/** Yields the lines of a file, the last one first. */
async function* backwards(handle: Handle, size: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - CHUNK)
    const part = Buffer.alloc(end - begin)
    await handle.read(part, 0, part.length, begin)
    const lines = splitLines(Buffer.concat([part, rest]))
    rest = begin > 0 ? lines.shift()! : Buffer.alloc(0)
    for (const line of lines.reverse()) if (line.length > 0) yield line.toString('utf8')
    end = begin
  }
}

function splitLines(bytes: Buffer): Buffer<ArrayBuffer>[] {
  const lines: Buffer<ArrayBuffer>[] = []
  let begin = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, begin)) {
    lines.push(Buffer.from(bytes.subarray(begin, at)))
    begin = at + 1
  }
  return [...lines, Buffer.from(bytes.subarray(begin))]
}
