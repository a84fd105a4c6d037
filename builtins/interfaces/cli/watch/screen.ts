import type { Terminal } from '../screen/terminal.ts'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
/** The exit codes of signals that end a process: 128 and their number. */
const ENDS = { SIGTERM: 143, SIGHUP: 129 } as const

/**
 * A terminal as a page: it draws what has changed since the last time, gives keys as they are pressed, and is as it was when
 * the process ends, however it ends.
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
    return this.#terminal.columns || 80
  }

  get rows(): number {
    return process.stdout.rows || 24
  }

  /** @param onPress called with the bytes of keys; @param onResize called when the page has to be drawn again */
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

  /** Shows these lines, which fit the page. */
  show(lines: readonly string[]): void {
    if (!this.#open) return
    let out = ''
    for (let at = 0; at < this.rows; at++) {
      const line = lines[at] ?? ''
      // Cleared before it is drawn: after a full line the cursor is still in its last column.
      if (line !== this.#drawn[at]) out += `\x1b[${at + 1};1H\x1b[2K${line}`
    }
    this.#drawn = lines
    // In one piece, so that no half of it is seen.
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

  /** As Ctrl-Z does to any program: the shell has the terminal until it is brought back. */
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
