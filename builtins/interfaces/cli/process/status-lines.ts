import { printable, printableLine } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/**
 * Status lines at the bottom of a terminal, with events above them. Without a terminal, only events are printed, line
 * by line. Everything goes to standard error, so that standard output holds only the report.
 */
export class StatusLines {
  readonly #terminal: Terminal
  readonly #quiet: boolean
  #shown = 0

  constructor(terminal: Terminal, quiet: boolean) {
    this.#terminal = terminal
    this.#quiet = quiet
  }

  say(line: string): void {
    if (this.#quiet) return
    const below = this.#lines
    this.#clear()
    this.#terminal.err(printable(line))
    this.#render(below)
  }

  show(lines: readonly string[]): void {
    if (this.#quiet || !this.#terminal.watched) return
    this.#clear()
    this.#render(lines)
  }

  /** Leaves the last status on the screen and stops redrawing it. */
  end(): void {
    this.#shown = 0
    this.#lines = []
  }

  #lines: readonly string[] = []

  #render(lines: readonly string[]): void {
    if (!this.#terminal.watched || lines.length === 0) return
    const columns = process.stderr.columns || 80
    this.#lines = lines
    this.#shown = lines.length
    // Cut to the terminal's width: a wrapped line would take two rows, and clearing would miss one.
    for (const line of lines) this.#terminal.err([...printableLine(line)].slice(0, columns - 1).join(''))
  }

  #clear(): void {
    if (this.#shown > 0) process.stderr.write(`\x1b[${this.#shown}A\x1b[J`)
    this.#shown = 0
  }
}
