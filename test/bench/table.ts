import { execFile } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { promisify } from 'node:util'
import type { Row } from './row.ts'

export interface Report {
  at: string
  commit: string
  node: string
  cpu: string
  /**
   * Average number of processes ready to run in the last minute before the start; above the number of processors the
   * machine is busy.
   */
  load: number
  rows: (Row & { subject: string })[]
}

export async function makeReport(): Promise<Report> {
  const git = promisify(execFile)('git', ['describe', '--always', '--dirty'])
  const commit = await git.then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  )
  const [cpu] = cpus()
  return {
    at: new Date().toISOString(),
    commit,
    node: process.version,
    cpu: `${cpus().length} × ${cpu?.model.trim()}`,
    load: loadavg()[0]!,
    rows: [],
  }
}

/** Formats the whole report for people: a line for each row, and the notes below. */
export function table(report: Report): string {
  const notes: string[] = []
  const lines = report.rows.map(row => {
    const { what, unit, note } = row
    if (note) notes.push(`${notes.length + 1}) ${note}`)
    return [
      what + (note ? ` (${notes.length})` : ''),
      row.baseline === undefined ? '' : formatFigure(row.baseline),
      `${formatFigure(row.figure)} ${unit}`.trim(),
      row.ratio === undefined ? '' : `${formatFigure(row.ratio)} ×`,
      row.aim,
      row.met === null ? '?' : row.aim === '' ? '' : row.met ? 'yes' : 'NO',
    ]
  })
  return [
    headOf(report),
    ...alignColumns([['what', 'baseline', 'figure', 'ratio', 'aim', 'ok'], ...lines], [0]),
    ...notes,
  ].join('\n')
}

/** Formats the change of each row since an earlier report. */
export function compareReports(report: Report, earlier: Report): string {
  const before = new Map(earlier.rows.map(row => [`${row.subject}: ${row.what}`, row]))
  const lines = report.rows.flatMap(row => {
    const old = before.get(`${row.subject}: ${row.what}`)
    if (!old) return [[row.what, '', `${formatFigure(row.figure)} ${row.unit}`, 'new']]
    return [
      [row.what, formatFigure(old.figure), `${formatFigure(row.figure)} ${row.unit}`, change(old.figure, row.figure)],
    ]
  })
  return [`since ${headOf(earlier)}`, ...alignColumns([['what', 'was', 'is', 'change'], ...lines], [0])].join('\n')
}

const headOf = ({ commit, at, node, cpu, load }: Report) =>
  `${commit}, ${at}, Node ${node}, ${cpu}, load ${load.toFixed(1)}`

function change(old: number, now: number): string {
  if (old === now) return '0 %'
  if (old === 0) return 'from 0'
  const percent = (now / old - 1) * 100
  return `${percent > 0 ? '+' : ''}${percent.toFixed(0)} %`
}

/** Formats a figure with three significant digits. */
function formatFigure(value: number): string {
  if (Number.isNaN(value)) return '-'
  if (Math.abs(value) >= 100) return value.toFixed(0)
  return String(Number(value.toPrecision(3)))
}

function alignColumns(rows: readonly string[][], left: readonly number[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows.map(row =>
    row
      .map((cell, column) => (left.includes(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
}
