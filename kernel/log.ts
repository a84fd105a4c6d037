import { pino } from 'pino'
import { maskText, written } from './secrets.ts'

export type Log = Pick<import('pino').Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>

export interface LogOptions {
  level?: string
  /** Takes whole lines of JSON; standard error unless told, and for a line of which it throws. */
  write?: (line: string) => void
  /** Values that must never be written, asked for at each line. */
  secrets?: () => readonly string[]
}

/** JSON lines with a fixed set of fields, redacted by value. */
export function createLog(options: LogOptions = {}): Log {
  const toStderr = (line: string) => void process.stderr.write(line)
  const { write = toStderr } = options
  const stream = {
    write(line: string) {
      const secrets = options.secrets?.() ?? []
      // A secret stands in the line as JSON writes it.
      const masked = maskText(line, secrets.map(written))
      try {
        write(masked)
      } catch {
        // Where it cannot be logged, the work goes on all the same.
        toStderr(masked)
      }
    },
  }
  return pino({ level: options.level ?? 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}
