import type { Terminal } from '../screen/terminal.ts'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
/** Exit codes after signals that end the process: 128 plus the signal's number. */
const ENDS = { SIGTERM: 143, SIGHUP: 129 } as const

/**
 * A terminal as a full-screen page. Draws only lines that changed, reports keys as they are pressed, and restores the
 * terminal however the process ends.
 */
export class Screen implements Disposable {
  readonly #terminal: Terminal
  #drawn: readonly string[] = []
  #open = false
  readonly #leave = () => this.#restore()
  readonly #ends = Object.entries(ENDS).map(([signal, code]) => [signal, () => this.#end(code)] as const)
  #onResize = () => {}
  #onPress = (_bytes: string) => {}

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  get columns(): number {
    return this.#terminal.columns ?? 80
  }

  get rows(): number {
    return process.stdout.rows || 24
  }

  /**
   * Opens the page.
   * @param onPress called with the bytes of keys
   * @param onResize called when the page has to be drawn again
   */
  open(onPress: (bytes: string) => void, onResize: () => void): void {
    this.#onPress = bytes => (bytes === '\x1a' ? this.#suspend() : onPress(bytes))
    this.#onResize = () => {
      this.#drawn = []
      onResize()
    }
    process.once('exit', this.#leave)
    for (const [signal, end] of this.#ends) process.once(signal, end)
    process.stdout.on('resize', this.#onResize)
    this.#take()
  }

  /** Draws these lines, which must fit the page. */
  show(lines: readonly string[]): void {
    if (!this.#open) return
    let out = ''
    for (let at = 0; at < this.rows; at++) {
      const line = lines[at] ?? ''
      // Cleared before it is drawn: after a full line the cursor is still in its last column.
      if (line !== this.#drawn[at]) out += `\x1b[${at + 1};1H\x1b[2K${line}`
    }
    this.#drawn = lines
    // Written as one synchronized update, so that no half-drawn page is seen.
    if (out !== '') process.stdout.write(`\x1b[?2026h${out}\x1b[?2026l`)
  }

  [Symbol.dispose](): void {
    this.#restore()
    process.off('exit', this.#leave)
    for (const [signal, end] of this.#ends) process.off(signal, end)
    process.stdout.off('resize', this.#onResize)
  }

  #take(): void {
    this.#open = true
    this.#drawn = []
    process.stdin.setRawMode?.(true)
    process.stdin.setEncoding('utf8').on('data', this.#onPress).resume()
    process.stdout.write(`${ENTER}\x1b[2J`)
  }

  #restore(): void {
    if (!this.#open) return
    this.#open = false
    process.stdout.write(LEAVE)
    process.stdin.off('data', this.#onPress)
    process.stdin.setRawMode?.(false)
    process.stdin.pause()
  }

  /** Suspends the process as Ctrl-Z does for any program, and takes the terminal back on SIGCONT. */
  #suspend(): void {
    this.#restore()
    process.once('SIGCONT', () => {
      this.#take()
      this.#onResize()
    })
    process.kill(process.pid, 'SIGTSTP')
  }

  #end(code: number): void {
    this.#restore()
    process.exit(code)
  }
}
