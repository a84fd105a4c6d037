import { printable, printableLine } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/**
 * A status in lines at the bottom of a terminal, with events above them. Without a terminal, events are
 * printed line by line; all on standard error, so that standard output is the report alone.
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

  /** What was shown last stays, and nothing is drawn over it any more. */
  end(): void {
    this.#shown = 0
    this.#lines = []
  }

  #lines: readonly string[] = []

  #render(lines: readonly string[]): void {
    if (!this.#terminal.watched || lines.length === 0) return
    const columns = process.stderr.columns ?? 80
    this.#lines = lines
    this.#shown = lines.length
    // A line that the terminal wraps would be two, and no longer be found.
    for (const line of lines) this.#terminal.err([...printableLine(line)].slice(0, columns - 1).join(''))
  }

  #clear(): void {
    if (this.#shown > 0) process.stderr.write(`\x1b[${this.#shown}A\x1b[J`)
    this.#shown = 0
  }
}
