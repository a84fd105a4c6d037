import { printableLine } from '../screen/printable.ts'
import type { Style } from '../screen/terminal.ts'
import { pad, take, widthOf } from '../screen/width.ts'

/** Part of a line and its style. The text may hold anything: it is made printable when drawn. */
export type Span = string | readonly [text: string, paint: keyof Style]
export type Line = readonly Span[]

/** Returns the line without styles, at its full length. */
export function plain(line: Line): string {
  return line.map(span => printableLine(typeof span === 'string' ? span : span[0])).join('')
}

/** Returns the line in exactly this number of columns. */
export function fitLine(line: Line, width: number, style: Style, mark?: keyof Style): string {
  let left = width
  let laid = ''
  for (const span of line) {
    const [text, paint] = typeof span === 'string' ? [span] : span
    const safe = printableLine(text)
    const shown = widthOf(safe) <= left ? safe : left > 0 ? pad(`${take(safe, left - 1)}…`, left) : ''
    left -= widthOf(shown)
    laid += paint ? style[paint](shown) : shown
    if (left <= 0) break
  }
  const filled = laid + ' '.repeat(Math.max(0, left))
  return mark ? style[mark](filled) : filled
}

export interface Panel {
  title: string
  lines: readonly Line[]
  /** Index of the marked line, from 0. */
  marked?: number | undefined
  /** Whether to show the last lines where not all fit, rather than the first or the marked one. */
  atEnd?: boolean
}

/** Returns a panel of this number of columns and rows. */
export function panel({ title, lines, marked, atEnd }: Panel, width: number, height: number, style: Style): string[] {
  if (height <= 0) return []
  const head = style.bold(pad(take(`─ ${printableLine(title)} ${'─'.repeat(width)}`, width), width))
  const available = height - 1
  const first = atEnd ? Math.max(0, lines.length - available) : Math.max(0, (marked ?? 0) - available + 1)
  const shown = lines.slice(first, first + available)
  const body = Array.from({ length: available }, (_, at) =>
    fitLine(shown[at] ?? [], width, style, marked !== undefined && first + at === marked ? 'inverse' : undefined),
  )
  return [head, ...body]
}

/** Joins two blocks of the same height side by side. */
export function joinColumns(left: readonly string[], right: readonly string[]): string[] {
  return left.map((line, at) => `${line}  ${right[at] ?? ''}`)
}
