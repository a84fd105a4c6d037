import { pino } from 'pino'
import type { Log } from '#kernel'
import { printableJson } from '#lib/sanitize'
import { escapeForJson, maskText } from '#lib/secrets'

export interface LogOptions {
  /** Least level that is written, from `trace` to `fatal`; `silent` writes nothing. Default: `info`. */
  level?: string | undefined
  /** Writes a line of JSON; by default, and when this throws, lines go to standard error. */
  write?: ((line: string) => void) | undefined
  /** Returns the values that must never be written; called for each line. */
  secrets?: () => readonly string[]
}

/** Returns a log that writes JSON lines with a fixed set of fields, and masks secrets. */
export function createLog(options: LogOptions = {}): Log {
  const toStderr = (line: string) => void process.stderr.write(line)
  const { write = toStderr } = options
  const stream = {
    write(line: string) {
      const secrets = options.secrets?.() ?? []
      // The line contains secrets in their JSON-escaped form.
      // A terminal may show the line.
      const masked = printableJson(maskText(line, secrets.map(escapeForJson)))
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
