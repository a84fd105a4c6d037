import { dirname } from 'node:path'
import type { Ports } from '#kernel'
import { unlessMissing } from '#lib/unless-code'

/** Size in bytes at which a file is rotated. */
const ROTATE_BYTES = 10 * 1024 * 1024
/** Number of rotated files kept for each file. */
const KEPT = 4
/** Maximum number of bytes at the end of a file that are searched for its last whole line. */
const LOOK_BACK_BYTES = 1024 * 1024

type Files = Ports['files']

export interface JournalOptions {
  files: Files
  /** Path of the file, without the extension `.jsonl`. */
  path: string
  /** Called when unreadable data was moved aside. */
  warn: (problem: string) => void
  rotateBytes?: number
}

/**
 * An append-only file of JSON lines, each with a rising `seq`. Before each append, an incomplete write at its end, left
 * by a crash, is cut off and kept in a `.corrupt` file beside it.
 */
export class Journal {
  readonly #options: JournalOptions
  readonly #file: string
  #size = 0
  #last: number | undefined

  constructor(options: JournalOptions) {
    this.#options = options
    this.#file = `${options.path}.jsonl`
  }

  /** Returns the seq of the last line; 0 for a new file. */
  async last(): Promise<number> {
    this.#last ??= (await this.#repair(this.#file)) ?? (await this.#repair(this.#rotatedPath(1))) ?? 0
    return this.#last
  }

  /** Appends lines whose seqs come after `last`. @param durable waits until they are on the disk */
  async append(lines: readonly { seq: number }[], durable: boolean): Promise<void> {
    if (lines.length === 0) return
    const { files, rotateBytes = ROTATE_BYTES } = this.#options
    await this.last()
    if (this.#size >= rotateBytes) await this.#rotate()
    const bytes = Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
    const open = () => files.open(this.#file, 'a', 0o600)
    let handle = await open().catch(unlessMissing)
    if (!handle) {
      await files.mkdir(dirname(this.#file), { recursive: true, mode: 0o700 })
      handle = await open()
    }
    try {
      await handle.appendFile(bytes)
      if (durable) await handle.datasync()
    } finally {
      // After a failed write, the end of the file is checked again.
      await handle.close().finally(() => (this.#last = undefined))
    }
    this.#size += bytes.length
    this.#last = lines.at(-1)!.seq
  }

  #rotatedPath(n: number): string {
    return `${this.#options.path}.${n}.jsonl`
  }

  async #rotate(): Promise<void> {
    const { files } = this.#options
    for (let n = KEPT; n > 0; n--) {
      await files.rename(n === 1 ? this.#file : this.#rotatedPath(n - 1), this.#rotatedPath(n)).catch(unlessMissing)
    }
    this.#size = 0
  }

  /**
   * Cuts off an incomplete line at the end of a file.
   * @returns the seq of its last line; undefined when it has none
   */
  async #repair(file: string): Promise<number | undefined> {
    const { files, warn } = this.#options
    const handle = await files.open(file, 'r+').catch(unlessMissing)
    if (!handle) return undefined
    try {
      const { size } = await handle.stat()
      const begin = Math.max(0, size - LOOK_BACK_BYTES)
      const bytes = Buffer.alloc(size - begin)
      await handle.read(bytes, 0, bytes.length, begin)
      const { end, seq } = lastLine(bytes)
      if (end === 0 && begin > 0) {
        await files.rename(file, `${file}.corrupt`)
        warn(`${file} has no readable line at its end; the whole file was moved to ${file}.corrupt`)
        return undefined
      }
      if (file === this.#file) this.#size = begin + end
      if (end < bytes.length) {
        await files.appendFile(`${file}.corrupt`, Buffer.concat([bytes.subarray(end), Buffer.from('\n')]), {
          mode: 0o600,
        })
        await handle.truncate(begin + end)
        warn(`the end of ${file} was not a readable line; it was moved to ${file}.corrupt`)
      }
      return seq
    } finally {
      await handle.close()
    }
  }
}

/** Returns where the last readable line ends, and its seq. */
function lastLine(bytes: Buffer): { end: number; seq: number | undefined } {
  let end = bytes.lastIndexOf(10) + 1
  while (end > 0) {
    const begin = end < 2 ? 0 : bytes.lastIndexOf(10, end - 2) + 1
    const seq = seqOf(bytes.subarray(begin, end))
    if (seq !== undefined) return { end, seq }
    end = begin
  }
  return { end: 0, seq: undefined }
}

function seqOf(line: Buffer): number | undefined {
  try {
    const { seq } = JSON.parse(line.toString('utf8')) as { seq?: unknown }
    return typeof seq === 'number' ? seq : undefined
  } catch {
    return undefined
  }
}
