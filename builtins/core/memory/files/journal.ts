import { dirname } from 'node:path'
import type { Log, Ports } from '#kernel'
import { lockFile } from '#lib/lock'
import { refuseSpecial } from '#lib/regular'
import { unlessMissing } from '#lib/unless-code'
import { replaceFile } from '#lib/yaml'

/** Number of bytes per read. */
const CHUNK = 256 * 1024
/** Reading time after which the event loop may run, in milliseconds. */
const TURN_MS = 8
/** Number of bytes before the end of the last read that the next one compares. */
const MARK = 64

/** A log of JSON lines that several processes append to, in a file or a database. */
export type Lines = Pick<Journal, 'catchUp' | 'append' | 'replace' | 'rewind'>

type Handle = Awaited<ReturnType<Ports['files']['open']>>

export interface JournalParts {
  ports: Pick<Ports, 'files' | 'stampOf' | 'clock' | 'spawn'>
  log: Log
}

/**
 * A file of JSON lines that several processes append to. New lines are read from the end of the last read; a file that
 * was rewritten is read from its beginning. An incomplete last line, from a process that was killed, is ended by the
 * next append and skipped by the next read.
 */
export class Journal {
  readonly #file: string
  readonly #parts: JournalParts
  /** Identity of the file that was read: inode and time of birth, because an inode may be reused. */
  #known = ''
  #read = 0
  #changedMs = 0
  /** Stamp of the file when all of it was read; undefined before. */
  #stamp: string | undefined
  /** The last bytes before position `#read`, to detect a rewritten file. */
  #mark = Buffer.alloc(0)

  constructor(file: string, parts: JournalParts) {
    this.#file = file
    this.#parts = parts
  }

  /**
   * Reads new lines. @param line called with each line's value, in order @param anew called before the first line if
   * the file was replaced @returns whether broken lines were skipped, so that the file should be rewritten without them
   */
  async catchUp(line: (value: unknown) => void, anew: () => void): Promise<boolean> {
    const { files, stampOf } = this.#parts.ports
    // This runs before each operation and rarely finds a change; an asynchronous stat takes ten times as long.
    const stamp = stampOf(this.#file)
    if (stamp !== undefined && stamp === this.#stamp) return false
    this.#stamp = undefined
    const seen = await files.stat(this.#file).catch(unlessMissing)
    if (seen) refuseSpecial(seen, this.#file)
    if (seen ? this.#isRead(seen) : this.#known === '') {
      this.#stamp = stamp
      return false
    }
    const broken: string[] = []
    const handle = seen && (await files.open(this.#file, 'r').catch(unlessMissing))
    try {
      // The file may have been replaced between stat and open.
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
   * Appends values, one line each, in one write. @param line called with each value if no other process has written
   * since the last read; the lines count as read then
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
   * Rewrites the file through a temporary file. What is written counts as read. @param values called under the lock,
   * after all lines were read
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

  /** Makes the next read start at the beginning. */
  rewind(): void {
    this.#known = ''
    this.#stamp = undefined
  }

  /**
   * Marks all of the file as read. @param end last bytes of the file, at least those that the next read compares @param
   * stamp taken before `stat`
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
    // Another file, or one rewritten at the same size.
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
    this.#parts.log.warn({}, `${this.#file} has ${broken.length} broken lines; they were moved to ${corrupt}`)
    await this.#parts.ports.files.appendFile(corrupt, `${broken.join('\n')}\n`, { mode: 0o600 })
  }
}

type Stat = Record<'ino' | 'birthtimeMs' | 'size' | 'mtimeMs', number>

const nameOf = ({ ino, birthtimeMs }: Stat) => `${ino} ${birthtimeMs}`

function take(text: string, line: (value: unknown) => void, broken: string[]): void {
  if (text.trim() === '') return
  try {
    line(JSON.parse(text))
  } catch {
    broken.push(text)
  }
}
