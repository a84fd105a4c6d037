import { printableLine } from './printable.ts'
import { pad, widthOf, wrap } from './width.ts'

type Row = Record<string, unknown>

export interface TableStyle {
  /** Characters in a line; without it lines are as long as they are. */
  columns?: number | undefined
  /** What the head of a table is drawn with. */
  head?: (text: string) => string
}

const GAP = '  '
/** No column of sentences is narrower, and no word of one longer than this keeps it wide. */
const NARROWEST = 14
const LONGEST_WORD = 30
/** What is left for a value beside its name; with less it stands below. */
const BESIDE = 12
/** An object of no more values than this stands in one line. */
const INLINE = 3

/**
 * What an operation returned, for people: a table of a list of objects, lines of `key  value` of an object, and below them a
 * part for each object in it. Nothing is ever cut: in a narrow terminal sentences are broken into lines, and a table that
 * still does not fit becomes a list of its rows.
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

/** Of a table its rows stand as they are, of an object its lines further in. */
function renderPart(value: unknown, paper: TableStyle): string {
  if (Array.isArray(value)) return renderList(value, paper)
  const columns = paper.columns === undefined ? undefined : Math.max(1, paper.columns - GAP.length)
  return renderOutput(value, { ...paper, columns }).replaceAll(/^(?=.)/gm, GAP)
}

function renderList(list: readonly unknown[], paper: TableStyle): string {
  if (list.length === 0) return '(none)'
  if (!list.every(isRow)) return list.map(cell).join('\n')
  const all = [...new Set(list.flatMap(row => Object.keys(row)))]
  const said = all.filter(key => list.some(row => cell(row[key]) !== '-'))
  // On a terminal, empty columns are left out.
  const keys = paper.columns && said.length > 0 ? said : all
  const heads = keys.map(key => printableLine(key).toUpperCase())
  const rows = list.map(row => keys.map(key => cell(row[key])))
  const widths = fitting(heads, rows, paper.columns ?? Number.POSITIVE_INFINITY)
  if (!widths) return rows.map(row => record(zip(heads, row), paper)).join('\n\n')
  const { head = (text: string) => text } = paper
  return [head(lines(heads, widths)), ...rows.map(row => lines(row, widths))].join('\n')
}

/** The width of each column, or undefined when they cannot stand side by side. */
function fitting(heads: readonly string[], rows: readonly string[][], columns: number): number[] | undefined {
  const of = (at: number) => [heads[at]!, ...rows.map(row => row[at]!)]
  const widths = heads.map((_, at) => Math.max(...of(at).map(widthOf)))
  // Ids, times and numbers are one word, and keep their width.
  const least = heads.map((head, at) => {
    const words = rows.flatMap(row => row[at]!.split(' '))
    if (words.length === rows.length) return widths[at]!
    const longest = Math.max(...words.map(widthOf))
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

/** One row, in as many lines as its longest cell needs. */
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

/** A value in a line. */
function cell(value: unknown): string {
  if (isNone(value)) return '-'
  if (typeof value !== 'object') return printableLine(String(value))
  // What is deeper than a line can show stands as JSON.
  if (Array.isArray(value)) return value.every(isScalar) ? value.map(cell).join(', ') : json(value)
  const pairs = Object.entries(value as Row)
  return pairs.every(([, each]) => isScalar(each))
    ? pairs.map(([key, each]) => `${printableLine(key)} ${cell(each)}`).join(', ')
    : json(value)
}

/** The same where a string may take several lines. */
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

/** What stands below the lines of an object: a table, or an object that a line cannot hold. */
function isPart(value: unknown): boolean {
  if (isNone(value)) return false
  if (Array.isArray(value)) return value.every(isRow)
  return isRow(value) && (Object.keys(value).length > INLINE || !Object.values(value).every(isScalar))
}
