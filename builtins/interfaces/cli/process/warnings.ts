import { printable } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/** Where a kernel in this process writes its log: for people each line is a warning. */
export function warningsOn(terminal: Terminal): (line: string) => void {
  return line => {
    const { msg } = JSON.parse(line) as { msg?: string }
    terminal.err(printable(`svc: warning: ${msg}`))
  }
}
