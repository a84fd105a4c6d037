import { pino } from 'pino'
import type { Log } from '#kernel'
import { escapeForJson, maskText } from '#lib/secrets'

export interface LogOptions {
  level?: string
  /** Takes whole lines of JSON; standard error by default, and for a line on which it throws. */
  write?: (line: string) => void
  /** Returns the values that must never be written; called for each line. */
  secrets?: () => readonly string[]
}

/** Returns a log of JSON lines with a fixed set of fields, redacted by value. */
export function createLog(options: LogOptions = {}): Log {
  const toStderr = (line: string) => void process.stderr.write(line)
  const { write = toStderr } = options
  const stream = {
    write(line: string) {
      const secrets = options.secrets?.() ?? []
      // A secret stands in the line as JSON writes it.
      const masked = maskText(line, secrets.map(escapeForJson))
      try {
        write(masked)
      } catch {
        // A failure to log must not stop the work.
        toStderr(masked)
      }
    },
  }
  return pino({ level: options.level ?? 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}
