import { clearScreenDown, createInterface, cursorTo, type Interface, type Key, moveCursor } from 'node:readline'
import type { Clock } from '#kernel'
import { printable } from './printable.ts'
import type { Terminal } from './terminal.ts'

/** Codes that make a terminal mark pasted text, and stop it: https://invisible-island.net/xterm/xterm-paste64.html */
const MARK_PASTES = ['\x1b[?2004h', '\x1b[?2004l'] as const
/**
 * Time after a line in which the next one belongs to the same message, in milliseconds: a terminal that does not mark
 * pasted text sends its lines at once.
 */
const TOGETHER_MS = 20
const CONTINUED = '… '

/**
 * Reads messages from standard input. At a terminal, each line is a message; lines that were pasted together are one,
 * and so are lines that end with a backslash and their next one. Other input is one message, divided by its commands.
 */
export class MessageReader {
  /** Whether a person types at a terminal. */
  readonly isTyped: boolean
  readonly #terminal: Terminal
  readonly #clock: Clock
  readonly #isCommand: (line: string) => boolean
  readonly #prompt: string
  readonly #lines: Interface
  readonly #queue: string[] = []
  /** Lines of a message that may be continued. */
  #gathered: string[] = []
  #isPasting = false
  #hasPaste = false
  #isPrompting = false
  #isClosed = false
  #wake = () => {}
  #cancel = () => {}

  /**
   * @param prompt text shown before what a person types
   * @param isCommand returns whether a line is a message of its own, unless it was pasted
   * @param interrupt called after Ctrl-C at the prompt
   */
  constructor(
    { terminal, clock }: { terminal: Terminal; clock: Clock },
    prompt: string,
    isCommand: (line: string) => boolean,
    interrupt: () => void,
  ) {
    this.isTyped = process.stdin.isTTY === true && terminal.columns !== undefined
    this.#terminal = terminal
    this.#clock = clock
    this.#prompt = prompt
    this.#isCommand = isCommand
    const output = this.isTyped ? { output: process.stdout } : {}
    this.#lines = createInterface({ input: process.stdin, terminal: this.isTyped, ...output })
    this.#lines.on('line', line => this.#take(line))
    this.#lines.on('SIGINT', interrupt)
    this.#lines.once('close', () => this.close())
    if (!this.isTyped || !terminal.movesCursor) return
    terminal.part(MARK_PASTES[0])
    process.stdin.on('keypress', this.#notePaste)
    process.on('exit', this.#unmark)
    process.on('SIGTERM', this.#end)
    process.on('SIGHUP', this.#end)
  }

  /** Yields messages as they come; those that come meanwhile wait. */
  async *read(): AsyncGenerator<string> {
    for (;;) {
      const next = this.#queue.shift()
      if (next !== undefined) {
        this.#isPrompting = false
        yield next
      } else if (this.#isClosed) return
      else
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
    }
  }

  /** Shows the prompt, with the message that was typed meanwhile, if any. */
  prompt(): void {
    if (!this.isTyped || this.#isClosed) return
    const [waiting] = this.#queue
    if (waiting !== undefined) {
      this.#terminal.out(this.#prompt + printable(waiting))
      return
    }
    this.#isPrompting = true
    this.#lines.setPrompt(this.#gathered.length > 0 ? CONTINUED : this.#prompt)
    this.#lines.prompt(true)
  }

  /** Prints above the prompt, and keeps what was typed. */
  printAbove(print: () => void): void {
    if (this.#isPrompting) {
      moveCursor(process.stdout, 0, -this.#lines.getCursorPos().rows)
      cursorTo(process.stdout, 0)
      clearScreenDown(process.stdout)
    }
    print()
    if (this.#isPrompting) this.prompt()
  }

  /** Discards the messages that wait. @returns whether there were any */
  drop(): boolean {
    const hasText = this.#queue.length > 0 || this.#gathered.length > 0
    this.#cancel()
    this.#queue.length = 0
    this.#gathered = []
    this.#isPasting = this.#hasPaste = false
    if (hasText && this.#lines.line !== '') {
      this.#lines.write(null, { ctrl: true, name: 'e' })
      this.#lines.write(null, { ctrl: true, name: 'u' })
    }
    return hasText
  }

  /** Ends the input; what was read is still yielded. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancel()
    this.#complete()
    this.#lines.close()
    process.stdin.off('keypress', this.#notePaste)
    process.off('exit', this.#unmark)
    process.off('SIGTERM', this.#end)
    process.off('SIGHUP', this.#end)
    this.#unmark()
    this.#wake()
  }

  #take(line: string): void {
    this.#gathered.push(line)
    if (!this.isTyped) return
    this.#cancel()
    if (this.#isPasting) this.#continue()
    else this.#cancel = this.#clock.after(TOGETHER_MS, () => this.#completeTyped())
  }

  /** Ends the message at its last line, unless more of it comes. */
  #completeTyped(): void {
    const last = this.#gathered.at(-1) ?? ''
    const isContinued = !this.#hasPaste && last.endsWith('\\')
    if (isContinued) this.#gathered[this.#gathered.length - 1] = last.slice(0, -1)
    // A paste without a line break at its end: its last line can still be edited.
    if (isContinued || this.#isPasting || this.#lines.line !== '') this.#continue()
    else this.#complete()
  }

  #complete(): void {
    const lines = this.#gathered
    const isWhole = this.#hasPaste
    this.#gathered = []
    this.#hasPaste = false
    let from = 0
    const send = (until: number) => {
      if (until > from) this.#queue.push(lines.slice(from, until).join('\n').trim())
      from = until
    }
    for (const [at, line] of lines.entries()) {
      if (isWhole || !this.#isCommand(line.trim())) continue
      send(at)
      send(at + 1)
    }
    send(lines.length)
    this.#wake()
  }

  #continue(): void {
    if (this.#isPrompting) this.prompt()
  }

  readonly #notePaste = (_: unknown, { name }: Key) => {
    if (name === 'paste-start') this.#isPasting = this.#hasPaste = true
    if (name === 'paste-end') this.#isPasting = false
  }

  readonly #unmark = () => {
    if (this.isTyped && this.#terminal.movesCursor) process.stdout.write(MARK_PASTES[1])
  }

  readonly #end = (signal: NodeJS.Signals) => {
    this.close()
    process.kill(process.pid, signal)
  }
}
