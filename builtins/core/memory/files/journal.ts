import { dirname } from 'node:path'
import type { Log, Ports } from '#kernel'
import { lockFile } from '#lib/lock'
import { replaceFile } from '#lib/yaml'

/** Read at a time. */
const CHUNK = 256 * 1024
/** The event loop has a turn after this much reading, in milliseconds. */
const TURN_MS = 8
/** Number of bytes before the end of the last look that the next one compares. */
const MARK = 64

/** Lines of JSON that several write and read, wherever they are. */
export type Lines = Pick<Journal, 'catchUp' | 'append' | 'replace' | 'rewind'>

type Handle = Awaited<ReturnType<Ports['files']['open']>>

export interface JournalParts {
  ports: Pick<Ports, 'files' | 'stampOf' | 'clock' | 'spawn'>
  log: Log
}

/**
 * A file of JSON lines that several processes append to. What others wrote is read from where the last look ended; a file
 * that was written anew, or changed in its place, is read from its beginning. A torn line at the end, from a process that
 * was killed, is ended by the next append and set aside at the next reading.
 */
export class Journal {
  readonly #file: string
  readonly #parts: JournalParts
  /** Which file was read: a number of a file that is gone may come again, its time of birth with it does not. */
  #known = ''
  #read = 0
  #changedMs = 0
  /** As the file was looked at when all of it was known; undefined while nothing is. */
  #stamp: string | undefined
  /** What stood before `#read`. */
  #mark = Buffer.alloc(0)

  constructor(file: string, parts: JournalParts) {
    this.#file = file
    this.#parts = parts
  }

  /**
   * Reads what came since the last look.
   * @param line called for each line's value, in order
   * @param anew called before the first line when the file is not the one that was read before
   * @returns whether there were broken lines, which were set aside: the file is to be written anew without them
   */
  async catchUp(line: (value: unknown) => void, anew: () => void): Promise<boolean> {
    const { files, stampOf } = this.#parts.ports
    // Before each turn, and nearly always the same: a stat through the pool of threads takes ten times as long.
    const stamp = stampOf(this.#file)
    if (stamp !== undefined && stamp === this.#stamp) return false
    this.#stamp = undefined
    const seen = await files.stat(this.#file).catch(ignoreMissing)
    if (seen ? this.#isRead(seen) : this.#known === '') {
      this.#stamp = stamp
      return false
    }
    const broken: string[] = []
    const handle = seen && (await files.open(this.#file, 'r').catch(ignoreMissing))
    try {
      // What is open now may be another file than the one that was seen.
      const stat = await handle?.stat()
      const same = handle && stat && stat.size >= this.#read && (await this.#isSame(handle, stat))
      if (!same) {
        this.#read = 0
        this.#mark = Buffer.alloc(0)
        anew()
      }
      this.#known = ''
      if (handle && stat) {
        this.#known = nameOf(stat)
        this.#changedMs = stat.mtimeMs
        await this.#readOn(handle, stat.size, line, broken)
        this.#stamp = stamp
      }
    } finally {
      await handle?.close()
    }
    if (broken.length > 0) await this.#moveBrokenLines(broken)
    return broken.length > 0
  }

  /**
   * Appends values, each a line, in one write.
   * @param line called for each as it is read back, where no other process has written since the last look: they count
   * as read then
   */
  append(values: readonly unknown[], line?: (value: unknown) => void): Promise<void> {
    const { files, stampOf } = this.#parts.ports
    return this.#withLock(async () => {
      const handle = await files.open(this.#file, 'a+', 0o600)
      try {
        const before = await handle.stat()
        const { size } = before
        const isRead = line !== undefined && this.#isRead(before)
        const last = size > 0 && !isRead ? (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] : 10
        const lines = values.map(value => `${JSON.stringify(value)}\n`)
        const text = Buffer.from(last === 10 ? lines.join('') : `\n${lines.join('')}`)
        await handle.appendFile(text)
        if (!isRead) return
        const stamp = stampOf(this.#file)
        const after = await handle.stat()
        if (after.size !== size + text.length) return
        this.#readTo(after, Buffer.concat([this.#mark, text]), stamp)
        for (const each of lines) line(JSON.parse(each))
      } finally {
        await handle.close()
      }
    })
  }

  /**
   * Writes the file anew, beside and renamed. What is written counts as read.
   * @param values asked for under the lock, when all that others wrote has been read
   */
  replace(values: () => Promise<readonly unknown[]>): Promise<void> {
    return this.#withLock(async () => {
      const { files, clock, stampOf } = this.#parts.ports
      const lines: string[] = []
      let turn = clock.monotonic()
      for (const value of await values()) {
        lines.push(`${JSON.stringify(value)}\n`)
        if (clock.monotonic() - turn < TURN_MS) continue
        await clock.yield()
        turn = clock.monotonic()
      }
      const text = lines.join('')
      await replaceFile(files, this.#file, text)
      const stamp = stampOf(this.#file)
      this.#readTo(await files.stat(this.#file), Buffer.from(text.slice(-MARK)), stamp)
    })
  }

  /** The next look reads the file from its beginning. */
  rewind(): void {
    this.#known = ''
    this.#stamp = undefined
  }

  /**
   * All of the file is known. @param end at least as much of its end as is compared the next time
   * @param stamp looked at before `stat`
   */
  #readTo(stat: Stat, end: Buffer, stamp: string | undefined): void {
    this.#stamp = stamp
    this.#known = nameOf(stat)
    this.#changedMs = stat.mtimeMs
    this.#read = stat.size
    this.#mark = Buffer.from(end.subarray(-MARK))
  }

  #isRead(stat: Stat): boolean {
    return nameOf(stat) === this.#known && stat.size === this.#read && stat.mtimeMs === this.#changedMs
  }

  async #isSame(handle: Handle, stat: Stat): Promise<boolean> {
    // Nothing was appended, and yet it is another file.
    if (nameOf(stat) !== this.#known || (stat.size === this.#read && stat.mtimeMs !== this.#changedMs)) return false
    const { length } = this.#mark
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, this.#read - length)
    return buffer.equals(this.#mark)
  }

  async #readOn(handle: Handle, size: number, line: (value: unknown) => void, broken: string[]): Promise<void> {
    const { clock } = this.#parts.ports
    let rest: Buffer = Buffer.alloc(0)
    let turn = clock.monotonic()
    for (let at = this.#read; at < size; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, Math.min(CHUNK, size - at), at)
      if (bytesRead === 0) break
      at += bytesRead
      const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
      const end = text.lastIndexOf(10) + 1
      for (const each of text.toString('utf8', 0, end).split('\n')) {
        take(each, line, broken)
        if (clock.monotonic() - turn < TURN_MS) continue
        await clock.yield()
        turn = clock.monotonic()
      }
      this.#read += end
      if (end > 0) this.#mark = Buffer.from(text.subarray(Math.max(0, end - MARK), end))
      rest = text.subarray(end)
    }
  }

  async #withLock(work: () => Promise<void>): Promise<void> {
    const { ports } = this.#parts
    const lock = () => lockFile(`${this.#file}.lock`, ports)
    const release = await lock().catch(async error => {
      if (error.code !== 'ENOENT') throw error
      await ports.files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
      return lock()
    })
    try {
      await work()
    } finally {
      await release()
    }
  }

  async #moveBrokenLines(broken: readonly string[]): Promise<void> {
    const corrupt = `${this.#file}.corrupt`
    this.#parts.log.warn({}, `${this.#file} has ${broken.length} broken lines; they are set aside in ${corrupt}`)
    await this.#parts.ports.files.appendFile(corrupt, `${broken.join('\n')}\n`, { mode: 0o600 })
  }
}

type Stat = Record<'ino' | 'birthtimeMs' | 'size' | 'mtimeMs', number>

const nameOf = ({ ino, birthtimeMs }: Stat) => `${ino} ${birthtimeMs}`

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

function take(text: string, line: (value: unknown) => void, broken: string[]): void {
  if (text.trim() === '') return
  try {
    line(JSON.parse(text))
  } catch {
    broken.push(text)
  }
}
