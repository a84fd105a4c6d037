import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Ports, z } from '#kernel'
import { unlessCode } from '#lib/unless-code'
import { type A2AMessage, MessageType } from '../contract.ts'

export type MailboxKind = 'inbox' | 'outbox'

/** Number of bytes read at a time. Longer lines are rejected. */
const CHUNK = 1024 * 1024
/** File size at which a mailbox is rotated, in bytes. */
const ROTATE_BYTES = 10 * 1024 * 1024

/** Pattern of ids and senders, which prompts show unescaped. */
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

/** A message as written to a mailbox file. */
export interface Line {
  id: string
  text: string
}

export function lineOf(message: A2AMessage): Line {
  return { id: message.message_id, text: `${JSON.stringify(message)}\n` }
}

/** Returns the message id of a complete line; undefined when the line is invalid. */
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
  /** Position up to which the file was imported, when known. */
  taken: MailboxPlace | undefined
}

/**
 * One file of JSON lines that several processes append to, and the position up to which it was imported. An incomplete
 * last line is read once it is complete.
 */
export class Mailbox {
  readonly #parts: MailboxParts
  #place: MailboxPlace
  /** File size at the last check, so that an unchanged file is not read again. */
  #seen = -1
  #bad: string[] = []

  constructor(parts: MailboxParts) {
    this.#parts = parts
    this.#place = parts.taken ?? { inode: 0, taken: 0 }
  }

  /** Returns whether the file has content that was not checked yet. */
  async hasNewMail(): Promise<boolean> {
    const { ino, size } = await this.#stat()
    const isAnew = ino !== this.#place.inode || size < this.#place.taken
    if (isAnew) this.#place = { inode: ino, taken: 0 }
    if (size === this.#seen && !isAnew) return false
    this.#seen = size
    return size > this.#place.taken
  }

  /** Returns the complete lines after the imported position, at most one chunk, and the position behind them. */
  async read(): Promise<{ lines: string[]; place: MailboxPlace }> {
    const { inode, taken } = this.#place
    const handle = await this.#parts.files.open(this.#parts.file, 'r')
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, taken)
      const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1
      // More may follow, so the next check reads again.
      if (bytesRead === CHUNK) this.#seen = -1
      if (end === 0 && bytesRead === CHUNK) {
        this.bad(buffer.toString('utf8', 0, 1_000), 'it is longer than 1 MiB')
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

  /** Sets the position up to which the file was imported. */
  acknowledge(place: MailboxPlace): void {
    this.#place = place
  }

  /** Collects an invalid line for `moveBadLines()`; warns about the first. */
  bad(line: string, why: string): void {
    if (this.#bad.length === 0)
      this.#parts.warn(`${this.#parts.file}: an invalid line is moved to the .corrupt file: ${why}`)
    this.#bad.push(line)
  }

  /** Appends the collected invalid lines to a `.corrupt` file next to the mailbox. */
  async moveBadLines(): Promise<void> {
    const bad = this.#bad.splice(0)
    if (bad.length === 0) return
    await this.#parts.files.appendFile(`${this.#parts.file}.corrupt`, `${bad.join('\n')}\n`, { mode: 0o600 })
  }

  /**
   * Appends own lines, except those already in the file, since a crash may have prevented recording them. Only one
   * process may call this at a time.
   * @returns the position behind the lines; undefined when other processes wrote meanwhile, since those lines must be
   * read again
   */
  async append(lines: readonly Line[]): Promise<MailboxPlace | undefined> {
    const { files, file } = this.#parts
    await files.mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await this.#rotate()
    const handle = await files.open(file, 'a+', 0o600)
    try {
      const { ino, size } = await handle.stat()
      const last = size > 0 ? (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] : 10
      // An incomplete last line gets a line break first, so that it does not corrupt the next one.
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

  /** Returns the ids of the messages after the imported position; in a different file, of all messages. */
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
      // Own lines are never longer than a chunk.
      rest = seen.length - end > CHUNK ? Buffer.alloc(0) : seen.subarray(end)
    }
    return ids
  }

  /** Rotates the file when it is large enough and completely imported. */
  async #rotate(): Promise<void> {
    const { files, file } = this.#parts
    const { ino, size } = await this.#stat()
    if (size < ROTATE_BYTES || ino !== this.#place.inode || size !== this.#place.taken) return
    await files.rename(file, file.replace(/\.jsonl$/, '.1.jsonl'))
    this.#place = { inode: 0, taken: 0 }
  }

  async #stat(): Promise<{ ino: number; size: number }> {
    const stat = await this.#parts.files.stat(this.#parts.file).catch(unlessCode('ENOENT', 'ENOTDIR'))
    // A folder or pipe at this path is ignored.
    return stat?.isFile() ? { ino: stat.ino, size: stat.size } : { ino: 0, size: 0 }
  }
}
