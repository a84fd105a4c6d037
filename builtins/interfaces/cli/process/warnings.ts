import type { Kernel } from '#kernel'
import type { CliProgram, Context } from '../context.ts'
import { printable } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/** Returns the log writer of a kernel in this process: it prints each line as a warning. */
export function warningsOn(terminal: Terminal): (line: string) => void {
  return line => {
    const { msg } = JSON.parse(line) as { msg?: string }
    terminal.err(printable(`svc: warning: ${msg}`))
  }
}

/** Opens the project for a command, with its log reduced to warnings. */
export function openWithWarnings(
  root: string,
  { program, terminal }: Pick<Context, 'program' | 'terminal'>,
  options: Partial<Parameters<CliProgram['open']>[0]> = {},
): Promise<Kernel> {
  return program.open({ root, roles: ['cli'], log: { level: 'warn', write: warningsOn(terminal) }, ...options })
}
