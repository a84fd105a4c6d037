import { pino } from 'pino'

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

/** A text without these values. The longer ones go first: another may be their beginning, and would leave the rest. */
export function maskText(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(formsOf)
    .sort((a, b) => b.length - a.length)
    .reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}

function written(secret: string): string {
  return JSON.stringify(secret).slice(1, -1)
}

/** A secret as it is, and as it stands in a text that is JSON, or holds some: arguments of a call within a message. */
function formsOf(secret: string): string[] {
  const form = written(secret)
  return form === secret ? [secret] : [secret, form, written(form)]
}

/** Shorter values could not be told from other text. */
const SHORTEST_SECRET = 8

/** JSON without the values of these secrets in its texts. */
export function maskJson(json: string, secrets: readonly string[]): string {
  const inside = secrets.filter(
    secret => secret.length >= SHORTEST_SECRET && formsOf(secret).some(form => json.includes(written(form))),
  )
  if (inside.length === 0) return json
  const masked = (_: string, value: unknown) => (typeof value === 'string' ? maskText(value, inside) : value)
  return JSON.stringify(JSON.parse(json), masked)
}

/** Providers' keys are secrets wherever they come from. */
const SECRET_NAME = /(_API_KEY|_TOKEN|_SECRET|_PASSWORD)$/

/** The values in an environment that must show nowhere; too short ones are no secrets, and would mask half of the text. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value && value.length >= SHORTEST_SECRET ? [value] : [],
  )
}
