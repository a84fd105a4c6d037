import type { TaskEnd } from '#lib/task-end'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'

const AGAIN = '[the answer starts over]'

/**
 * Prints an answer: on a terminal as it arrives, elsewhere only the final output, so that programs read nothing else.
 */
export class GrowingAnswer {
  readonly #terminal: Terminal
  #shown = ''

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  grow(text: string): void {
    if (this.#terminal.columns === undefined) return
    const part = printable(text)
    this.#shown += part
    this.#terminal.grow(part)
  }

  /** Discards the text shown so far: erases it where all of it is on the screen, else prints a line that says so. */
  reset(): void {
    if (this.#shown !== '' && !this.#terminal.shrink()) this.#terminal.part(`\n${AGAIN}\n`)
    this.#shown = ''
  }

  /** Prints a line about a tool call on standard error. The text before it is no answer, and stays. */
  call(line: string): void {
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#terminal.part('\n')
    this.#terminal.settle()
    this.#shown = ''
    this.#terminal.err(this.#terminal.errStyle.dim(printable(line)))
  }

  end({ output = '' }: TaskEnd): void {
    const whole = printable(output)
    if (this.#shown !== whole) this.reset()
    this.#terminal.settle()
    if (this.#shown === '') this.#terminal.out(whole)
    else this.#terminal.part('\n')
  }
}
