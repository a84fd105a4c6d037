import type { End } from './end.ts'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'
import { widthOf } from './width.ts'

const AGAIN = '[the answer is started again]'

/**
 * Shows an answer: on a terminal as it grows, elsewhere its output once it is known, so that what a program reads is the
 * output and nothing else.
 */
export class GrowingAnswer {
  readonly #terminal: Terminal
  /** On the terminal since the last line was ended. */
  #shown = ''

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  grow(text: string): void {
    if (this.#terminal.columns === undefined) return
    const part = printable(text)
    this.#shown += part
    this.#terminal.part(part)
  }

  /** Takes back what was shown: erased where all of it is on the screen, else followed by a line that says so. */
  reset(): void {
    if (this.#shown === '') return
    if (!this.#terminal.erase(linesOf(this.#shown, this.#terminal.columns))) this.#terminal.part(`\n${AGAIN}\n`)
    this.#shown = ''
  }

  end({ output = '' }: End): void {
    const whole = printable(output)
    if (this.#shown !== whole) this.reset()
    if (this.#shown === '') this.#terminal.out(whole)
    else this.#terminal.part('\n')
    this.#shown = ''
  }
}

/** Lines of a terminal that a text takes; undefined where that depends on where its tabs stop. */
function linesOf(text: string, columns = 0): number | undefined {
  if (text.includes('\t')) return undefined
  return text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}
