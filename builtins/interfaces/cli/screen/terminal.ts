import type { Clock, Ports } from '#kernel'
import { widthOf } from './width.ts'

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const
export type Style = Record<keyof typeof CODES, (text: string) => string>

/** First error of standard output, such as a full disk. A reader that has closed its end is none. */
let outputError: NodeJS.ErrnoException | undefined

/** One listener for all terminals of a process, as tests open many. */
function keepError(error: NodeJS.ErrnoException) {
  if (error.code !== 'EPIPE') outputError ??= error
}
function dropText() {}

/**
 * Writes to standard output and standard error. When a reader has closed its end, the text is dropped without an error.
 */
export class Terminal {
  /** Whether standard error is a terminal. */
  readonly watched: boolean
  /** Styles of standard output and of standard error. */
  readonly style: Style
  readonly errStyle: Style
  /** Whether the terminal moves its cursor when it is sent the code for that. */
  readonly movesCursor: boolean
  /** Text of the growing answer on the screen, and lines that standard error printed meanwhile. */
  #grown = ''
  #besideLines: string[] = []
  /** Whether a temporary progress line is on standard error. */
  #passing = false

  constructor(env: Ports['env']) {
    const { stdout, stderr } = process
    outputError = undefined
    stdout.off('error', keepError).on('error', keepError)
    stderr.off('error', dropText).on('error', dropText)
    this.watched = stderr.isTTY === true
    this.movesCursor = env.TERM !== undefined && env.TERM !== 'dumb'
    this.style = styleOf(isColoured(env, stdout.isTTY === true))
    this.errStyle = styleOf(isColoured(env, this.watched))
  }

  /** Width of the terminal in characters, 80 when it has no size; undefined when the output is not a terminal. */
  get columns(): number | undefined {
    return process.stdout.isTTY ? process.stdout.columns || 80 : undefined
  }

  out(text: string): void {
    this.pass('')
    if (text !== '') process.stdout.write(`${text}\n`)
  }

  /** Prints text without a line break at its end. */
  part(text: string): void {
    this.pass('')
    process.stdout.write(text)
  }

  /** Prints a part of an answer that may be erased later. */
  grow(text: string): void {
    this.part(text)
    this.#grown += text
  }

  /**
   * Erases the growing answer from the screen; lines of standard error stay.
   * @returns false where the answer cannot be erased, and stays as it is
   */
  shrink(): boolean {
    const { columns, rows } = process.stdout
    const lines = linesOf(this.#grown, columns)
    const besideLines = this.#besideLines
    this.settle()
    if (!this.movesCursor || lines === undefined || lines > rows) return false
    this.part(`\r${lines > 1 ? `\x1b[${lines - 1}A` : ''}\x1b[J`)
    for (const text of besideLines) this.err(text)
    return true
  }

  /** Keeps the growing answer on the screen for good. */
  settle(): void {
    this.#grown = ''
    this.#besideLines = []
  }

  /**
   * Resolves once standard output was read, or closed: a pipe holds 64 KiB, and the rest would be lost with the
   * process.
   * @returns the error that kept text from being written
   */
  async flush(clock: Pick<Clock, 'yield'>): Promise<Error | undefined> {
    const { stdout } = process
    if (stdout.writableLength > 0) await new Promise<void>(resolve => stdout.write('', () => resolve()))
    // The error of a written file arrives before the next turn of the event loop.
    else await clock.yield()
    return outputError
  }

  err(text: string): void {
    this.pass('')
    const isBeside = this.watched && this.#grown !== ''
    const line = `${isBeside && !this.#grown.endsWith('\n') ? '\n' : ''}${text}\n`
    process.stderr.write(line)
    if (!isBeside) return
    this.#grown += line
    this.#besideLines.push(text)
  }

  /**
   * Prints a temporary progress line that the next one replaces. Does nothing for an empty line, or without a terminal
   * that moves its cursor.
   */
  pass(text: string): void {
    if (!this.watched || !this.movesCursor || (text === '' && !this.#passing)) return
    process.stderr.write(text === '' ? '\r\x1b[K' : `\r${this.errStyle.dim(text)}\x1b[K`)
    this.#passing = text !== ''
  }
}

/**
 * Returns whether to print colours, by https://no-color.org and https://force-color.org; an empty variable counts as
 * unset.
 */
function isColoured({ NO_COLOR, FORCE_COLOR, TERM }: Ports['env'], isTerminal: boolean): boolean {
  if (NO_COLOR) return false
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return isTerminal && TERM !== 'dumb'
}

export function styleOf(coloured: boolean): Style {
  const sgr = ([on, off]: readonly number[]) =>
    coloured ? (text: string) => `\x1b[${on}m${text}\x1b[${off}m` : (text: string) => text
  return Object.fromEntries(Object.entries(CODES).map(([name, codes]) => [name, sgr(codes)])) as Style
}

/** Returns the screen lines that a string takes; undefined where that depends on tab stops. */
function linesOf(text: string, columns: number): number | undefined {
  if (text.includes('\t')) return undefined
  return text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
}
