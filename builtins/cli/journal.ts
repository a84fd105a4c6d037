import { join } from 'node:path'
import type { Ports } from '#kernel'
import { isDetached } from './detached.ts'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'

/** A log that has become longer is set aside when the next process starts, in bytes. */
const LONGEST = 10 * 1024 * 1024

export interface Journal {
  readonly file: string
  /** Takes whole lines of JSON. */
  write(line: string): void
  close(): Promise<void>
}

/**
 * Where a long-running process logs to: `logs/svc.log`, and standard error: as JSON, for people on a terminal as text.
 * A disk that is full loses lines, and stops nothing.
 */
export async function openJournal({ files, env }: Ports, root: string, terminal: Terminal): Promise<Journal> {
  const folder = join(root, 'logs')
  const file = join(folder, 'svc.log')
  await files.mkdir(folder, { recursive: true, mode: 0o700 })
  const { size } = await files.stat(file).catch(() => ({ size: 0 }))
  if (size > LONGEST) await files.rename(file, `${file}.1`)
  const stream = (await files.open(file, 'a', 0o600)).createWriteStream()
  stream.on('error', () => {})
  // There, standard error is this file.
  const echo = !isDetached(env)
  return {
    file,
    write(line) {
      stream.write(line)
      if (echo) terminal.err(terminal.watched ? forPeople(line, terminal) : line.trimEnd())
    },
    close: () => new Promise(done => stream.end(() => done())),
  }
}

function forPeople(line: string, { style }: Terminal): string {
  const { level, time, agent_id, plugin, msg } = JSON.parse(line) as {
    level: number
    time: string
    agent_id?: string
    plugin?: string
    msg?: string
  }
  const clock = style.dim(new Date(time).toTimeString().slice(0, 8))
  const weight = level >= 50 ? style.red('error ') : level >= 40 ? style.yellow('warning ') : ''
  const who = agent_id ?? plugin
  return `${clock} ${weight}${who ? `${style.bold(printable(who))} ` : ''}${printable(msg ?? '')}`
}
