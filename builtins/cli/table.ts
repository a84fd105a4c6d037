import { printableLine } from './printable.ts'

type Row = Record<string, unknown>

const GAP = '  '
/** No column is cut narrower than this. */
const NARROWEST = 8

/**
 * What an operation returned, for people: a table of a list of objects, lines of `key  value` of an object.
 * @param columns the terminal's width, which wide columns are cut to; nothing is cut without it
 */
export function draw(output: unknown, columns?: number): string {
  if (output === null || output === undefined) return ''
  if (Array.isArray(output)) return drawList(output, columns)
  if (!isRow(output)) return printableLine(String(output))
  const plain = Object.entries(output).filter(([, value]) => !isTable(value))
  const tables = Object.entries(output).filter(([, value]) => isTable(value))
  const width = Math.max(0, ...plain.map(([key]) => key.length))
  const lines = plain.map(([key, value]) => `${key.padEnd(width)}${GAP}${cell(value)}`)
  return [
    lines.join('\n'),
    ...tables.map(([key, value]) => `${printableLine(key)}:\n${drawList(value as Row[], columns)}`),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

function drawList(list: readonly unknown[], columns: number | undefined): string {
  if (list.length === 0) return '(none)'
  if (!list.every(isRow)) return list.map(cell).join('\n')
  const keys = [...new Set(list.flatMap(row => Object.keys(row)))]
  const rows = list.map(row => keys.map(key => cell(row[key])))
  const widths = keys.map((key, at) => Math.max(key.length, ...rows.map(row => widthOf(row[at]!))))
  if (columns) narrow(widths, columns)
  const head = keys.map(key => printableLine(key).toUpperCase())
  return [head, ...rows].map(row => line(row, widths)).join('\n')
}

function line(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((text, at) => {
    const characters = [...text]
    const width = widths[at]!
    if (characters.length > width) return `${characters.slice(0, width - 1).join('')}…`
    return text + ' '.repeat(width - characters.length)
  })
  return padded.join(GAP).trimEnd()
}

/** Takes from the widest column until the line fits, or nothing more can be taken. */
function narrow(widths: number[], columns: number): void {
  let over = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - columns
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths))
    if (widths[widest]! <= NARROWEST) return
    widths[widest]!--
    over--
  }
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return printableLine(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

function widthOf(text: string): number {
  return [...text].length
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTable(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isRow)
}
