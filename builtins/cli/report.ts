import { SvcError, sentenceOf } from '#kernel'
import { printable, printableLine } from './printable.ts'
import type { Terminal } from './terminal.ts'

/**
 * Tells of an error on standard error: one sentence, and a line for each thing in the input that it has not named.
 * @returns the exit code
 */
export function report(error: unknown, terminal: Terminal): number {
  const sentence = sentenceOf(error)
  terminal.err(`${terminal.errStyle.red('svc:')} ${printable(sentence)}`)
  if (!(error instanceof SvcError)) return 1
  for (const { path, message } of error.errors) {
    if (!sentence.includes(message)) terminal.err(printableLine(path ? `  ${path}: ${message}` : `  ${message}`))
  }
  return error.exit
}
