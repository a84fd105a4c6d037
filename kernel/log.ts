export type Log = Pick<import('pino').Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'child' | 'level'>

export interface LogOptions {
  level?: string
  /** Takes whole lines of JSON; standard error by default, and for a line on which it throws. */
  write?: (line: string) => void
  /** Returns the values that must never be written; called for each line. */
  secrets?: () => readonly string[]
}
