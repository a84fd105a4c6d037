import type { Ports } from '#kernel'

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  yellow(text: string): string
}

/** Standard output and standard error. A reader that has gone is no error: what it would have read is dropped. */
export class Terminal {
  /** Characters in a line; undefined when output goes elsewhere than to a terminal. */
  readonly columns: number | undefined
  /** Whether standard error is a terminal, on which people read. */
  readonly watched: boolean
  readonly style: Style

  constructor(env: Ports['env']) {
    const { stdout, stderr } = process
    for (const stream of [stdout, stderr]) stream.on('error', () => {})
    this.columns = stdout.isTTY ? stdout.columns : undefined
    this.watched = stderr.isTTY === true
    this.style = styleOf(stdout.isTTY === true && this.watched && !env.NO_COLOR && env.TERM !== 'dumb')
  }

  out(text: string): void {
    if (text !== '') process.stdout.write(`${text}\n`)
  }

  /** Text as it comes, without the end of a line. */
  part(text: string): void {
    process.stdout.write(text)
  }

  err(text: string): void {
    process.stderr.write(`${text}\n`)
  }
}

function styleOf(coloured: boolean): Style {
  const sgr = (on: number, off: number) => (text: string) => (coloured ? `\x1b[${on}m${text}\x1b[${off}m` : text)
  return { bold: sgr(1, 22), dim: sgr(2, 22), red: sgr(31, 39), yellow: sgr(33, 39) }
}
