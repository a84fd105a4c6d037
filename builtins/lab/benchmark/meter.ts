import type { CallLimit, Spend } from '#core/models/contract'

/** Totals of model calls. */
export interface Reading {
  calls: number
  failed: number
  tokens: { input: number; output: number }
  cost_micros: number
  latencies: number[]
  priced: Set<Spend['priced']>
  estimated: boolean
}

/** Records the cost and latency of each model call of a trial. */
export class Meter implements CallLimit {
  readonly name = 'benchmark'
  #spends: { spend: Spend | null; answered: boolean }[] = []

  async hold(): Promise<void> {}

  async settle({ spend, answered }: Parameters<CallLimit['settle']>[0]): Promise<void> {
    this.#spends.push({ spend, answered })
  }

  /** Current position, from which `since` can be read later. */
  get mark(): number {
    return this.#spends.length
  }

  /** Returns the totals of all calls since a mark. */
  since(mark: number): Reading {
    const reading: Reading = {
      calls: 0,
      failed: 0,
      tokens: { input: 0, output: 0 },
      cost_micros: 0,
      latencies: [],
      priced: new Set(),
      estimated: false,
    }
    for (const { spend, answered } of this.#spends.slice(mark)) {
      reading.calls++
      if (!answered) reading.failed++
      if (!spend) continue
      reading.tokens.input += spend.input_tokens
      reading.tokens.output += spend.output_tokens
      reading.cost_micros += spend.cost_micros
      reading.priced.add(spend.priced)
      reading.estimated ||= spend.estimated
      if (answered) reading.latencies.push(spend.duration_ms)
    }
    return reading
  }
}
