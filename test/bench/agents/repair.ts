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
} from '../../support/model/broken-calls.ts'
import { type Row, row } from '../row.ts'

const READERS: Readonly<Record<string, Reader>> = {
  svc: ours,
  'JSON.parse': raw => JSON.parse(raw),
  jsonrepair: raw => JSON.parse(jsonrepair(raw)),
}

/**
 * Measures how many broken tool calls are read as intended, and how many as something else, beside two other parsers.
 */
export async function repair(): Promise<Row[]> {
  const recoverable = BROKEN_CALLS.filter(isRecoverable).length
  const [best, plain, other] = Object.values(READERS).map(reader => BROKEN_CALLS.map(each => outcomeOf(each, reader)))
  const texts = CALLS_IN_TEXT.map(outcomeOfText)
  const percent = (outcomes: readonly Outcome[], of: number) => (100 * count(outcomes, 'right')) / of
  const note = `JSON.parse ${percent(plain!, recoverable).toFixed(0)} %, and ${count(plain!, 'wrong')} wrong`
  return [
    row({
      what: 'broken tool calls read as they were meant, beside jsonrepair',
      figure: percent(best!, recoverable),
      unit: '%',
      baseline: percent(other!, recoverable),
      note,
    }),
    row({
      what: 'broken tool calls read as something else, beside jsonrepair',
      figure: count(best!, 'wrong'),
      unit: '',
      baseline: count(other!, 'wrong'),
      aim: { atMost: 0 },
    }),
    row({ what: 'calls that stand in a text, read as meant', figure: percent(texts, texts.length), unit: '%' }),
  ]
}

const count = (outcomes: readonly Outcome[], wanted: Outcome) => outcomes.filter(outcome => outcome === wanted).length
