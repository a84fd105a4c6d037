import { printable } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/** Returns the log writer of a kernel in this process: it prints each line as a warning. */
export function warningsOn(terminal: Terminal): (line: string) => void {
  return line => {
    const { msg } = JSON.parse(line) as { msg?: string }
    terminal.err(printable(`svc: warning: ${msg}`))
  }
}
