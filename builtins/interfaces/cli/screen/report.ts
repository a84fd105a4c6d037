import { errorMessage, SvcError } from '#kernel'
import { InternalError } from '#lib/errors'
import { printable, printableJson, printableLine } from './printable.ts'
import type { Terminal } from './terminal.ts'

/**
 * Prints an error on standard error: its message, and a line for each input problem that the message does not name. For
 * programs the last line is JSON, with the fields of the API's problem document.
 * @returns the exit code
 */
export function report(error: unknown, terminal: Terminal, json: boolean): number {
  const sentence = errorMessage(error)
  const { code, title, status, errors, exit } = error instanceof SvcError ? error : new InternalError()
  terminal.err(`${terminal.errStyle.red('svc:')} ${printable(sentence)}`)
  for (const { path, message } of errors) {
    if (!sentence.includes(message)) terminal.err(printableLine(path ? `  ${path}: ${message}` : `  ${message}`))
  }
  const problem = { code, title, status, detail: sentence, ...(errors.length > 0 ? { errors } : {}) }
  if (json) terminal.err(printableJson(JSON.stringify({ error: problem })))
  return exit
}
