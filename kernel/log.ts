import { pino } from 'pino'

export type Log = Pick<import('pino').Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>

export interface LogOptions {
  level?: string
  /** Takes whole lines of JSON; standard error unless told. */
  write?: (line: string) => void
  /** Values that must never be written, asked for at each line. */
  secrets?: () => readonly string[]
}

/** JSON lines with a fixed set of fields, redacted by value. */
export function createLog(options: LogOptions = {}): Log {
  const write = options.write ?? (line => void process.stderr.write(line))
  const stream = {
    write(line: string) {
      const secrets = options.secrets?.() ?? []
      // A secret stands in the line as JSON writes it.
      const written = secrets.map(secret => JSON.stringify(secret).slice(1, -1))
      write(written.reduce((text, secret) => text.replaceAll(secret, '***'), line))
    },
  }
  return pino({ level: options.level ?? 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream)
}
