import { jsonrepair } from 'jsonrepair'
import {
  BROKEN_CALLS,
  CALLS_IN_TEXT,
  isRecoverable,
  type Outcome,
  ours,
  outcomeOf,
  outcomeOfText,
  type Reader,
} from '../support/broken-calls.ts'

const READERS: Readonly<Record<string, Reader>> = {
  svc: ours,
  'JSON.parse': raw => JSON.parse(raw),
  jsonrepair: raw => JSON.parse(jsonrepair(raw)),
}

/** How many broken tool calls are read as they were meant, and how many as something else, beside two other readers. */
export function repair(): void {
  console.log(
    'broken tool calls read as they were meant, of those that have a meaning (read as something else, of all)',
  )
  const kinds = [...new Set(BROKEN_CALLS.map(({ kind }) => kind)), 'all']
  console.log(row('', ...Object.keys(READERS)))
  for (const kind of kinds) {
    const cases = kind === 'all' ? BROKEN_CALLS : BROKEN_CALLS.filter(each => each.kind === kind)
    const most = cases.filter(isRecoverable).length
    const cells = Object.values(READERS).map(reader =>
      told(
        cases.map(each => outcomeOf(each, reader)),
        most,
      ),
    )
    console.log(row(kind, ...cells))
  }
  const texts = CALLS_IN_TEXT.map(outcomeOfText)
  console.log(row('calls in texts', told(texts, texts.length)))
}

function told(outcomes: readonly Outcome[], most: number): string {
  const count = (wanted: Outcome) => outcomes.filter(outcome => outcome === wanted).length
  const right = count('right')
  const rate = most === 0 ? '     ' : `${((100 * right) / most).toFixed(0).padStart(3)} %`
  return `${right}/${most} ${rate} (${count('wrong')})`
}

function row(first: string, ...cells: string[]): string {
  return first.padEnd(18) + cells.map(cell => cell.padStart(20)).join('')
}
