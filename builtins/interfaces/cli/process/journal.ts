import { join } from 'node:path'
import type { Ports } from '#kernel'
import { type LockPorts, lockFile } from '#lib/lock'
import { makeFolder } from '../project/make-files.ts'
import { printable } from '../screen/printable.ts'
import type { Style, Terminal } from '../screen/terminal.ts'
import { isDetached } from './detached.ts'

/** Log size in bytes above which the file is rotated. */
const LONGEST = 10 * 1024 * 1024
/** Number of rotated files kept; `svc.log.1` is the most recent. */
const KEPT = 5
/** Number of written bytes between checks of the log's length and of a rotation by another process. */
const LOOK_EVERY = 64 * 1024

/** Fields of a log line that people are shown. */
export interface LogLine {
  level: number
  time: string
  agent_id?: string
  plugin?: string
  msg?: string
}

export interface Journal {
  readonly file: string
  /** Writes whole lines of JSON. */
  write(line: string): void
  close(): Promise<void>
}

/**
 * Opens the log of a long-running process: `logs/svc.log`, and standard error as JSON, or as text on a terminal. A full
 * disk loses lines but stops nothing. Several processes may write to one log.
 */
export async function openJournal(ports: Ports, root: string, terminal: Terminal): Promise<Journal> {
  const folder = join(root, 'logs')
  await makeFolder(ports.files, folder, 0o700)
  const log = new RotatingFile(join(folder, 'svc.log'), { ...ports, files: ports.ownFiles })
  await log.open()
  // A detached process has no reader of standard error.
  const echo = !isDetached(ports.env)
  return {
    file: log.file,
    write(line) {
      log.write(line)
      if (echo) terminal.err(terminal.watched ? forPeople(line, terminal.errStyle) : line.trimEnd())
    },
    close: () => log.close(),
  }
}

type FileHandle = Awaited<ReturnType<Ports['files']['open']>>

/** A log file that several processes append to. The first process that finds it too long rotates it. */
class RotatingFile {
  readonly file: string
  readonly #ports: LockPorts
  #handle: FileHandle | undefined
  /** Inode of the open file; differs from the file at the same path after a rotation. */
  #inode = 0
  /** Whether the last line was written only in part, as on a full disk; the next line then starts on a new one. */
  #torn = false
  #written = 0
  #looking: Promise<void> | undefined

  constructor(file: string, ports: LockPorts) {
    this.file = file
    this.#ports = ports
  }

  async open(): Promise<void> {
    await this.#rotate()
    await this.#reopen()
  }

  write(line: string): void {
    this.#handle?.appendFile(this.#torn ? `\n${line}` : line).catch(() => {
      // Whether the line was written in part is seen when the file is opened again.
      this.#inode = 0
      this.#lookOnce()
    })
    this.#torn = false
    this.#written += line.length
    if (!this.#handle || this.#written >= LOOK_EVERY) this.#lookOnce()
  }

  async close(): Promise<void> {
    await this.#looking
    await this.#handle?.close()
  }

  #lookOnce(): void {
    this.#written = 0
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
  }

  /**
   * Rotates or reopens the file where needed. Until then, and after a failure such as a full disk, lines go to the old
   * file.
   */
  async #look(): Promise<void> {
    try {
      await this.#rotate()
      const found = await this.#ports.files.stat(this.file).catch(() => undefined)
      if (found?.ino !== this.#inode) await this.#reopen()
    } catch {}
  }

  async #reopen(): Promise<void> {
    const handle = await this.#ports.files.open(this.file, 'a+', 0o600)
    const { ino, size } = await handle.stat()
    this.#torn = size > 0 && (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] !== 10
    const before = this.#handle
    this.#inode = ino
    this.#handle = handle
    await before?.close()
  }

  /** Rotates the file under a lock, so that only one of several processes does. */
  async #rotate(): Promise<void> {
    if (!(await this.#isLong())) return
    const { files } = this.#ports
    const release = await lockFile(`${this.file}.lock`, this.#ports)
    try {
      if (!(await this.#isLong())) return
      const name = (n: number) => (n === 0 ? this.file : `${this.file}.${n}`)
      for (let n = KEPT - 1; n > 0; n--) await files.rename(name(n), name(n + 1)).catch(() => {})
      await files.rename(this.file, name(1))
    } finally {
      await release()
    }
  }

  async #isLong(): Promise<boolean> {
    const { size } = await this.#ports.files.stat(this.file).catch(() => ({ size: 0 }))
    return size > LONGEST
  }
}

/** Formats a log line for people. */
export function forPeople(line: string, style: Style): string {
  const { level, time, agent_id, plugin, msg } = JSON.parse(line) as LogLine
  const clock = style.dim(new Date(time).toTimeString().slice(0, 8))
  const weight = level >= 50 ? style.red('error ') : level >= 40 ? style.yellow('warning ') : ''
  const who = agent_id ?? plugin
  return `${clock} ${weight}${who ? `${style.bold(printable(who))} ` : ''}${printable(msg ?? '')}`
}
