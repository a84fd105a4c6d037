import { pino } from 'pino'
import type { Log, LogOptions } from '#kernel'
import { escapeForJson, maskText } from '#lib/secrets'

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
