import { printableLine } from './printable.ts'
import { pad, widthOf, wordsOf, wrap } from './width.ts'

type Row = Record<string, unknown>

export interface TableStyle {
  /** Width in characters; without it lines are not wrapped. */
  columns?: number | undefined
  /** Style of a table's heading. */
  head?: (text: string) => string
}

const GAP = '  '
/** Minimum width of a column of sentences. Below: the length from which a word no longer widens its column. */
const NARROWEST = 14
const LONGEST_WORD = 30
/** Minimum space for a value beside its name; with less, the value is printed below. */
const BESIDE = 12
/** Maximum number of values in an object that is printed on one line. */
const INLINE = 3

/**
 * Formats an operation's output for people: a list of objects as a table; an object as lines of `key value`, with a
 * section below for each nested object. Nothing is ever cut: in a narrow terminal sentences are wrapped, and a table
 * that still does not fit becomes a list of its rows.
 */
export function renderOutput(output: unknown, paper: TableStyle = {}): string {
  if (output === null || output === undefined) return ''
  if (Array.isArray(output)) return renderList(output, paper)
  if (!isRow(output)) return printableLine(String(output))
  const parts = Object.entries(output).filter(([, value]) => isPart(value))
  const plain = Object.entries(output).filter(([, value]) => !isPart(value))
  return [
    record(
      plain.map(([key, value]) => [printableLine(key), block(value)]),
      paper,
    ),
    ...parts.map(([key, value]) => `${printableLine(key)}:\n${renderPart(value, paper)}`),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Formats a nested value: the rows of a table without an indent, the lines of an object with one. */
function renderPart(value: unknown, paper: TableStyle): string {
  if (Array.isArray(value)) return renderList(value, paper)
  const columns = paper.columns === undefined ? undefined : Math.max(1, paper.columns - GAP.length)
  return renderOutput(value, { ...paper, columns }).replaceAll(/^(?=.)/gm, GAP)
}

function renderList(list: readonly unknown[], paper: TableStyle): string {
  if (list.length === 0) return '(none)'
  if (!list.every(isRow)) return list.map(cell).join('\n')
  const all = [...new Set(list.flatMap(row => Object.keys(row)))]
  const filledKeys = all.filter(key => list.some(row => cell(row[key]) !== '-'))
  // On a terminal, empty columns are left out.
  const keys = paper.columns && filledKeys.length > 0 ? filledKeys : all
  const heads = keys.map(key => printableLine(key).toUpperCase())
  const rows = list.map(row => keys.map(key => cell(row[key])))
  const widths = fitting(heads, rows, paper.columns ?? Number.POSITIVE_INFINITY)
  if (!widths) return rows.map(row => record(zip(heads, row), paper)).join('\n\n')
  const { head = (text: string) => text } = paper
  return [head(lines(heads, widths)), ...rows.map(row => lines(row, widths))].join('\n')
}

/** Returns the width of each column, or undefined when they do not fit side by side. */
function fitting(heads: readonly string[], rows: readonly string[][], columns: number): number[] | undefined {
  const of = (at: number) => [heads[at]!, ...rows.map(row => row[at]!)]
  const widths = heads.map((_, at) => Math.max(...of(at).map(widthOf)))
  // Ids, times and numbers are one word, and keep their width.
  const least = heads.map((head, at) => {
    const words = rows.map(row => wordsOf(row[at]!))
    if (words.every(({ length }) => length < 2)) return widths[at]!
    const longest = Math.max(...words.flat().map(({ word }) => widthOf(word)))
    return Math.min(widths[at]!, Math.max(NARROWEST, widthOf(head), Math.min(longest, LONGEST_WORD)))
  })
  const gaps = GAP.length * (heads.length - 1)
  if (sum(least) + gaps > columns) return undefined
  for (let over = sum(widths) + gaps - columns; over > 0; over--) {
    const spare = widths.map((width, at) => (width > least[at]! ? width : 0))
    widths[spare.indexOf(Math.max(...spare))]!--
  }
  return widths
}

/** Formats one row, with as many lines as its longest cell needs. */
function lines(cells: readonly string[], widths: readonly number[]): string {
  const wrapped = cells.map((text, at) => wrap(text, widths[at]!, true))
  const height = Math.max(...wrapped.map(({ length }) => length))
  return Array.from({ length: height }, (_, at) =>
    wrapped
      .map((parts, column) => pad(parts[at] ?? '', widths[column]!))
      .join(GAP)
      .trimEnd(),
  ).join('\n')
}

function record(pairs: readonly (readonly [string, string])[], { columns }: TableStyle): string {
  const width = Math.max(0, ...pairs.map(([key]) => widthOf(key)))
  const left = (columns ?? Number.POSITIVE_INFINITY) - width - GAP.length
  return pairs
    .map(([key, text]) => {
      if (left < BESIDE) return [key, ...wrap(text, (columns ?? 0) - GAP.length).map(line => GAP + line)].join('\n')
      return (pad(key, width) + GAP + wrap(text, left).join(`\n${' '.repeat(width + GAP.length)}`)).trimEnd()
    })
    .join('\n')
}

/** Formats a value on one line. */
function cell(value: unknown): string {
  if (isNone(value)) return '-'
  if (typeof value !== 'object') return printableLine(String(value))
  // Nesting too deep for one line is printed as JSON.
  if (Array.isArray(value)) return value.every(isScalar) ? value.map(cell).join(', ') : json(value)
  const pairs = Object.entries(value as Row)
  return pairs.every(([, each]) => isScalar(each))
    ? pairs.map(([key, each]) => `${printableLine(key)} ${cell(each)}`).join(', ')
    : json(value)
}

/** Formats a value; a string may take several lines. */
function block(value: unknown): string {
  return typeof value === 'string' && value.includes('\n')
    ? value.trimEnd().split('\n').map(printableLine).join('\n')
    : cell(value)
}

function json(value: unknown): string {
  return printableLine(JSON.stringify(value))
}

function isNone(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || isNone(value)
}

function zip(heads: readonly string[], row: readonly string[]): [string, string][] {
  return heads.map((head, at) => [head.toLowerCase(), row[at]!])
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns whether a value is printed below the lines of its object: a table, or an object too large for one line. */
function isPart(value: unknown): boolean {
  if (isNone(value)) return false
  if (Array.isArray(value)) return value.every(isRow)
  return isRow(value) && (Object.keys(value).length > INLINE || !Object.values(value).every(isScalar))
}
