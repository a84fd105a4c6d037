import type { SufferingMoment } from './contract.ts'

const COLUMNS = 60
const ROWS = 8
const CELLS = 20

/**
 * Draws the load over time: each column is the load at the end of its interval, each row an eighth.
 * @param history newest first
 */
export function plotOf(history: readonly SufferingMoment[]): string {
  const moments = history.map(({ at, load }) => ({ at: Date.parse(at), load })).reverse()
  const [first, last] = [moments[0], moments.at(-1)]
  if (!first || !last || first === last) return ''
  const columns = Array.from({ length: COLUMNS }, (_, n) => {
    const end = first.at + ((last.at - first.at) * (n + 1)) / COLUMNS
    return moments.findLast(({ at }) => at <= end)?.load ?? first.load
  })
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const level = (ROWS - n) / ROWS
    const cells = columns.map(load => (load >= level - 1 / ROWS / 2 ? '█' : ' ')).join('')
    return `${level === 1 ? '1.0' : level === 0.5 ? '0.5' : '   '} │${cells.trimEnd()}`
  })
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
  const legend = `${day(first.at)}${' '.repeat(COLUMNS - 32)}${day(last.at)}`
  return [...rows, `0.0 └${'─'.repeat(COLUMNS)}`, `     ${legend}`].join('\n')
}

/** Draws a value from 0 to 1 as a bar. */
export function barOf(value: number): string {
  const filled = Math.round(value * CELLS)
  return '█'.repeat(filled) + '·'.repeat(CELLS - filled)
}
