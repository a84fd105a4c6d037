import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Ports, z } from '#kernel'
import { type A2AMessage, MessageType } from './contract.ts'

export type MailboxKind = 'inbox' | 'outbox'

/** So much is read at a time; a line that is longer is no message. */
const CHUNK = 1024 * 1024
/** A file of this size is set aside, and a new one begun. */
const ROTATE_BYTES = 10 * 1024 * 1024

/** Ids and senders stand in prompts as they are. */
const NAME = /^[\w.:-]{1,128}$/

/** A line as other programs write it. Missing fields have the defaults of a new message. */
export const ForeignLine = z.object({
  message_id: z.string().regex(NAME),
  type: z.string().toLowerCase().pipe(MessageType),
  from_agent: z.string().regex(NAME).optional(),
  to_agent: z.string().min(1).max(128).optional(),
  subject: z.string().default(''),
  body: z.string(),
  reply_to: z
    .string()
    .max(128)
    .nullish()
    .transform(value => value ?? undefined),
  priority: z.coerce.number().int().min(0).max(9).default(4),
  metadata: z.record(z.string(), z.unknown()).default({}),
  ts: z.string().optional(),
})

export type ForeignLine = z.output<typeof ForeignLine>

/** A message as it stands in a mailbox. */
export interface Line {
  id: string
  text: string
}

export function lineOf(message: A2AMessage): Line {
  return { id: message.message_id, text: `${JSON.stringify(message)}\n` }
}

/** The id of a message that stands in a line whole. */
function idOf(line: string): string | undefined {
  try {
    const { message_id } = JSON.parse(line) as { message_id?: unknown }
    return typeof message_id === 'string' ? message_id : undefined
  } catch {
    return undefined
  }
}

export interface MailboxPlace {
  inode: number
  taken: number
}

export interface MailboxParts {
  files: Ports['files']
  file: string
  warn: (problem: string) => void
  /** Up to where it was taken in, when that is known. */
  taken: MailboxPlace | undefined
}

/** One file of JSON lines that several processes append to, and how far it was taken in. A torn line at its end waits for its rest. */
export class Mailbox {
  readonly #parts: MailboxParts
  #place: MailboxPlace
  /** What was seen of its size, so that nothing is read twice for nothing. */
  #seen = -1
  #bad: string[] = []

  constructor(parts: MailboxParts) {
    this.#parts = parts
    this.#place = parts.taken ?? { inode: 0, taken: 0 }
  }

  /** Whether there is something in it that was not looked at. */
  async hasNewMail(): Promise<boolean> {
    const { ino, size } = await this.#stat()
    const isAnew = ino !== this.#place.inode || size < this.#place.taken
    if (isAnew) this.#place = { inode: ino, taken: 0 }
    if (size === this.#seen && !isAnew) return false
    this.#seen = size
    return size > this.#place.taken
  }

  /** The whole lines after the place up to which it was taken in, at most a chunk, and the place behind them. */
  async read(): Promise<{ lines: string[]; place: MailboxPlace }> {
    const { inode, taken } = this.#place
    const handle = await this.#parts.files.open(this.#parts.file, 'r')
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, taken)
      const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1
      // More may follow: it is looked at again.
      if (bytesRead === CHUNK) this.#seen = -1
      if (end === 0 && bytesRead === CHUNK) {
        this.bad(buffer.toString('utf8', 0, 1_000), 'has a line of more than 1 MiB')
        await this.moveBadLines()
        return { lines: [], place: { inode, taken: taken + bytesRead } }
      }
      const lines = buffer
        .toString('utf8', 0, end)
        .split('\n')
        .filter(line => line.trim() !== '')
      return { lines, place: { inode, taken: taken + end } }
    } finally {
      await handle.close()
    }
  }

  /** It was taken in up to there. */
  acknowledge(place: MailboxPlace): void {
    this.#place = place
  }

  /** Notes a line that is not taken in. */
  bad(line: string, why: string): void {
    if (this.#bad.length === 0) this.#parts.warn(`${this.#parts.file}: a line was set aside: ${why}`)
    this.#bad.push(line)
  }

  /** Keeps the bad lines in a file beside it. */
  async moveBadLines(): Promise<void> {
    const bad = this.#bad.splice(0)
    if (bad.length === 0) return
    await this.#parts.files.appendFile(`${this.#parts.file}.corrupt`, `${bad.join('\n')}\n`, { mode: 0o600 })
  }

  /**
   * Appends lines of ours, but for those that stand there already: the writer may have been cut off before that was recorded.
   * One process at a time. @returns the place behind them, unless others wrote meanwhile: then they are read again, by id
   */
  async append(lines: readonly Line[]): Promise<MailboxPlace | undefined> {
    const { files, file } = this.#parts
    await files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await this.#rotate()
    const handle = await files.open(file, 'a+', 0o600)
    try {
      const { ino, size } = await handle.stat()
      const last = size > 0 ? (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] : 10
      // A torn line is ended, so that it spoils nothing but itself.
      const isOurs = ino === this.#place.inode ? size === this.#place.taken : size === 0
      const there = isOurs ? new Set<string>() : await this.#idsAfter(handle, ino === this.#place.inode, size)
      const missing = lines.filter(({ id }) => !there.has(id))
      if (missing.length === 0) return undefined
      const bytes = Buffer.from((last === 10 ? '' : '\n') + missing.map(({ text }) => text).join(''))
      await handle.appendFile(bytes)
      const after = size + bytes.length
      if (!isOurs || last !== 10 || (await handle.stat()).size !== after) return undefined
      this.#place = { inode: ino, taken: after }
      this.#seen = after
      return this.#place
    } finally {
      await handle.close()
    }
  }

  /** The ids of the messages that stand behind the place up to which it was taken in; in another file all of them. */
  async #idsAfter(handle: FileHandle, isSame: boolean, size: number): Promise<Set<string>> {
    const ids = new Set<string>()
    let rest = Buffer.alloc(0)
    for (let at = isSame ? Math.min(this.#place.taken, size) : 0; at < size; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, at)
      if (bytesRead === 0) break
      at += bytesRead
      const seen = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
      const end = seen.lastIndexOf(10) + 1
      for (const line of seen.toString('utf8', 0, end).split('\n')) {
        const id = idOf(line)
        if (id !== undefined) ids.add(id)
      }
      // A line that is longer than a chunk is none of ours.
      rest = seen.length - end > CHUNK ? Buffer.alloc(0) : seen.subarray(end)
    }
    return ids
  }

  /** Only what was taken in wholly is set aside. */
  async #rotate(): Promise<void> {
    const { files, file } = this.#parts
    const { ino, size } = await this.#stat()
    if (size < ROTATE_BYTES || ino !== this.#place.inode || size !== this.#place.taken) return
    await files.rename(file, file.replace(/\.jsonl$/, '.1.jsonl'))
    this.#place = { inode: 0, taken: 0 }
  }

  async #stat(): Promise<{ ino: number; size: number }> {
    const stat = await this.#parts.files.stat(this.#parts.file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
      return undefined
    })
    // A folder or a pipe in its place is not read.
    return stat?.isFile() ? { ino: stat.ino, size: stat.size } : { ino: 0, size: 0 }
  }
}
