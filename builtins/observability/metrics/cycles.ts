import type { Clock } from '#kernel'
import type { Distribution, Metric } from './contract.ts'
import type { Counts } from './counts.ts'

/** Upper bounds of the durations of cycles, in seconds, up to the maximum that daemon.cycle_timeout allows. */
const BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const
const RESULT = 'cycles/'
const WITHIN = 'cycle_within/'
const SUM = 'cycle_microseconds'

/** Counts the results and durations of this process's cycles. */
export class Cycles {
  readonly #clock: Clock
  readonly #counts: Counts
  readonly #began = new Map<string, number>()

  constructor(clock: Clock, counts: Counts) {
    this.#clock = clock
    this.#counts = counts
  }

  recordStart(agent_id: string): void {
    this.#began.set(agent_id, this.#clock.monotonic())
  }

  endCycle(agent_id: string, result: string): void {
    const began = this.#began.get(agent_id)
    this.#began.delete(agent_id)
    // The cycle began before counting started.
    if (began === undefined) return
    const ms = this.#clock.monotonic() - began
    const bound = BOUNDS.find(each => ms <= each * 1000)
    this.#counts.add({
      [`${RESULT}${result}`]: 1,
      [SUM]: Math.round(ms * 1000),
      ...(bound === undefined ? {} : { [`${WITHIN}${bound}`]: 1 }),
    })
  }
}

export function cycleMetrics(counts: Counts): Metric[] {
  return [
    {
      name: 'svc_cycles_total',
      help: 'Agent cycles, by result.',
      type: 'counter',
      collect: async () => results(await counts.read()).map(([result, value]) => ({ labels: { result }, value })),
    },
    {
      name: 'svc_cycle_duration_seconds',
      help: 'Duration of agent cycles, in seconds.',
      type: 'histogram',
      collect: async () => [{ value: durations(await counts.read()) }],
    },
  ]
}

function results(counts: Readonly<Record<string, number>>): [result: string, count: number][] {
  return Object.entries(counts).flatMap(([key, count]) =>
    key.startsWith(RESULT) ? [[key.slice(RESULT.length), count]] : [],
  )
}

function durations(counts: Readonly<Record<string, number>>): Distribution {
  let upTo = 0
  const buckets = BOUNDS.map(le => {
    upTo += counts[`${WITHIN}${le}`] ?? 0
    return [le, upTo] as const
  })
  return { buckets, sum: (counts[SUM] ?? 0) / 1e6, count: results(counts).reduce((sum, [, count]) => sum + count, 0) }
}
