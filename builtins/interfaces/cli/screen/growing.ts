import type { End } from '../process/end.ts'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'

const AGAIN = '[the answer is started again]'

/**
 * Shows an answer: on a terminal as it grows, elsewhere its output once it is known, so that what a program reads is the
 * output and nothing else.
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

  /** Takes back what was shown: erased where all of it is on the screen, else followed by a line that says so. */
  reset(): void {
    if (this.#shown !== '' && !this.#terminal.shrink()) this.#terminal.part(`\n${AGAIN}\n`)
    this.#shown = ''
  }

  end({ output = '' }: End): void {
    const whole = printable(output)
    if (this.#shown !== whole) this.reset()
    this.#terminal.settle()
    if (this.#shown === '') this.#terminal.out(whole)
    else this.#terminal.part('\n')
  }
}
