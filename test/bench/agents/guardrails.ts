import { figures, scanner } from '../../spec/safety/guardrails/measure.ts'
import { piiCorpus } from '../../spec/safety/guardrails/pii.ts'
import { costOf, median } from '../measures.ts'
import { type Row, row } from '../row.ts'

const ROUNDS = 5

/** Measures what the guardrails find in generated texts, and the cost. */
export async function guardrails(): Promise<Row[]> {
  const { caught, cleanChanged, falseAlarms, lines } = await figures()
  return [
    row({
      what: 'guardrails: injections blocked',
      figure: 100 * caught,
      unit: '%',
      note: lines.join(' ').replaceAll(/ +/g, ' '),
    }),
    row({ what: 'guardrails: clean texts changed', figure: 100 * cleanChanged, unit: '%' }),
    row({ what: 'guardrails: false alarms', figure: falseAlarms, unit: '', aim: { atMost: 0 } }),
    await costAt('input'),
    await costAt('output'),
  ]
}

async function costAt(stage: 'input' | 'output'): Promise<Row> {
  const scan = scanner([stage])
  const texts = piiCorpus(500).map(({ text }) => text)
  const costs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const cost = await costOf(async () => {
      for (const text of texts) await scan(text)
    })
    costs.push(cost / texts.length)
  }
  return row({ what: `guardrails: a text at the stage ${stage}, processor time`, figure: median(costs), unit: 'ms' })
}
