import type { Ports } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { scanLines, segmentPath, segmentsOf, seqOf } from './log.ts'

export interface LogLine {
  seq: number
  /** JSON, without a newline. */
  text: string
}

export interface LogWriterOptions {
  /** Logs are read by the pool's `files`, because a damaged one is read whole. */
  ports: Pick<Ports, 'files' | 'ownFiles'>
  folder: string
  /** Size after which the log continues in a new file, in bytes. */
  rotateAt: () => number
  /** Called when an unreadable end of a file was moved away. */
  onDamage: (file: string, bytes: number) => void
  /** Whether the run has just begun, so that it has no log yet. */
  anew?: boolean
}

/**
 * Appends to one run's log. The last complete line gives the progress, so a log that was cut, damaged at its end or
 * deleted is written again from there.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  /** Position of the next line, if known. */
  #place: { path: string; size: number; seq: number } | undefined

  #anew: boolean

  constructor(options: LogWriterOptions) {
    this.#options = options
    this.#anew = options.anew ?? false
  }

  /** Returns the seq of the last line; 0 for an empty log. A damaged end is moved away first. */
  async position(): Promise<number> {
    const { ports, folder } = this.#options
    if (this.#place) {
      const { path, size } = this.#place
      const now = await ports.ownFiles.stat(path).catch(() => undefined)
      if (now?.size === size) return this.#place.seq
      this.#place = undefined
    }
    await ports.ownFiles.mkdir(folder, { recursive: true, mode: 0o700 })
    if (this.#anew) return 0
    for (const { path } of (await segmentsOf(ports.files, folder)).reverse()) {
      const end = await this.#repair(path)
      if (!end) continue
      this.#place = { path, ...end }
      return end.seq
    }
    return 0
  }

  /** Appends lines, oldest first. After an error, `position` gives how far the file was written. */
  async append(lines: readonly LogLine[]): Promise<void> {
    const { ports, folder, rotateAt } = this.#options
    const [first, last] = [lines[0], lines.at(-1)]
    if (!first || !last) return
    const place = this.#place
    const next = !place || place.size >= rotateAt()
    const path = next ? segmentPath(folder, first.seq) : place.path
    const bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(''))
    this.#place = undefined
    this.#anew = false
    await ports.ownFiles.appendFile(path, bytes, { mode: 0o600 })
    crashPoint?.('run log appended')
    const size = (next ? 0 : place.size) + bytes.length
    this.#place = { path, size, seq: last.seq }
  }

  /**
   * Cuts a file after its last complete line.
   * @returns undefined if it has none
   */
  async #repair(path: string): Promise<{ size: number; seq: number } | undefined> {
    const {
      ports: { files },
      onDamage,
    } = this.#options
    const end = await lastLine(files, path)
    const { size } = await files.stat(path)
    const keep = end?.size ?? 0
    if (keep === size) return end
    await moveTornLine(files, path, keep)
    await files.truncate(path, keep)
    onDamage(path, size - keep)
    return end
  }
}

/** Returns the last readable line and where it ends. Rotation keeps files short enough to read them whole. */
async function lastLine(files: Ports['files'], path: string): Promise<{ size: number; seq: number } | undefined> {
  let at = 0
  let last: { size: number; seq: number } | undefined
  await scanLines(path, {
    files,
    take(line) {
      at += line.length + 1
      const seq = seqOf(line.toString())
      if (seq !== undefined) last = { size: at, seq }
      return true
    },
    skip(bytes) {
      at += bytes + 1
    },
  })
  return last
}

/** Saves the part that is cut off a file in a file beside it. */
async function moveTornLine(files: Ports['files'], path: string, from: number): Promise<void> {
  const handle = await files.open(path, 'r')
  try {
    for await (const bytes of handle.createReadStream({ start: from, autoClose: false })) {
      await files.appendFile(`${path}.corrupt`, bytes as Buffer, { mode: 0o600 })
    }
  } finally {
    await handle.close()
  }
}
