import { dirname } from 'node:path'
import { type Log, lockFile, type Ports, replaceFile } from '#kernel'

/** How much of the file is read before the event loop has a turn. */
const CHUNK = 256 * 1024

export interface JournalParts {
  ports: Pick<Ports, 'files' | 'clock' | 'spawn'>
  log: Log
}

/**
 * A file of JSON lines that several processes append to. What others wrote is read from where the last look ended; a file
 * that was written anew is read from its beginning. A torn line at the end, from a process that was killed, is ended by
 * the next append and set aside at the next reading.
 */
export class Journal {
  readonly #file: string
  readonly #parts: JournalParts
  /** Which file was read: a number of a file that is gone may come again, its time of birth with it does not. */
  #known = ''
  #read = 0

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
    const { files, clock } = this.#parts.ports
    const stat = await files.stat(this.#file).catch(() => undefined)
    const { ino = 0, birthtimeMs = 0, size = 0 } = stat ?? {}
    const found = `${ino} ${birthtimeMs}`
    if (found !== this.#known || size < this.#read) {
      this.#known = found
      this.#read = 0
      anew()
    }
    if (size === this.#read) return false
    const handle = await files.open(this.#file, 'r')
    const broken: string[] = []
    try {
      let rest: Buffer = Buffer.alloc(0)
      for (let at = this.#read; ; ) {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, at)
        if (bytesRead === 0) break
        at += bytesRead
        const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
        const end = text.lastIndexOf(10) + 1
        for (const each of text.subarray(0, end).toString('utf8').split('\n')) take(each, line, broken)
        this.#read += end
        rest = text.subarray(end)
        await clock.yield()
      }
    } finally {
      await handle.close()
    }
    if (broken.length > 0) await this.#setAside(broken)
    return broken.length > 0
  }

  /** Appends values, each a line, in one write. */
  append(values: readonly unknown[]): Promise<void> {
    const { files } = this.#parts.ports
    return this.#locked(async () => {
      await files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
      const handle = await files.open(this.#file, 'a+', 0o600)
      try {
        const { size } = await handle.stat()
        const last = size > 0 ? (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] : 10
        const lines = values.map(value => `${JSON.stringify(value)}\n`).join('')
        await handle.appendFile(last === 10 ? lines : `\n${lines}`)
      } finally {
        await handle.close()
      }
    })
  }

  /** Writes the file anew, beside and renamed. @param values asked for under the lock, when all that others wrote has been read */
  replace(values: () => Promise<readonly unknown[]>): Promise<void> {
    return this.#locked(async () => {
      const lines = (await values()).map(value => `${JSON.stringify(value)}\n`)
      await replaceFile(this.#parts.ports.files, this.#file, lines.join(''))
    })
  }

  async #locked(work: () => Promise<void>): Promise<void> {
    await this.#parts.ports.files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
    const release = await lockFile(`${this.#file}.lock`, this.#parts.ports)
    try {
      await work()
    } finally {
      await release()
    }
  }

  async #setAside(broken: readonly string[]): Promise<void> {
    const corrupt = `${this.#file}.corrupt`
    this.#parts.log.warn({}, `${this.#file} has ${broken.length} broken lines; they are set aside in ${corrupt}`)
    await this.#parts.ports.files.appendFile(corrupt, `${broken.join('\n')}\n`, { mode: 0o600 })
  }
}

function take(text: string, line: (value: unknown) => void, broken: string[]): void {
  if (text.trim() === '') return
  try {
    line(JSON.parse(text))
  } catch {
    broken.push(text)
  }
}
