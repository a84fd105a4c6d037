import { errorMessage, type Log } from '#kernel'
import type { Metric } from '#lib/metric'
import { SIGNALS, type Signal } from './config.ts'

interface Outcome {
  code: number
  error?: Error
}
/** The method that both exporters share. */
interface Exporter<T> {
  export(items: T, onDone: (outcome: Outcome) => void): void
}

/** Result code of a successful export. */
const TAKEN = 0

/** Counts successful and failed exports, and logs when exports of a signal begin or cease to fail. */
export class Deliveries {
  readonly #log: Log
  readonly #counts = new Map<string, number>()
  readonly #failing = new Set<Signal>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Returns a function that makes an exporter's outcomes count. */
  watching(signal: Signal, collector: string): <E extends Exporter<never>>(exporter: E) => E {
    return exporter => {
      const send = exporter.export.bind(exporter)
      exporter.export = (items, done) =>
        send(items, outcome => {
          this.#recordOutcome(signal, collector, outcome)
          done(outcome)
        })
      return exporter
    }
  }

  /** Returns the metric for `GET /metrics`, which is left out while telemetry is off. */
  metric(): Metric {
    return {
      name: 'svc_telemetry_exports_total',
      help: 'Exports of this process to the collector, by signal and outcome.',
      type: 'counter',
      collect: () => {
        if (this.#counts.size === 0) return undefined
        return SIGNALS.flatMap(signal =>
          ['taken', 'failed'].map(outcome => ({
            labels: { signal, outcome },
            value: this.#counts.get(`${signal}/${outcome}`) ?? 0,
          })),
        )
      },
    }
  }

  #recordOutcome(signal: Signal, collector: string, { code, error }: Outcome): void {
    const key = `${signal}/${code === TAKEN ? 'taken' : 'failed'}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    if (code === TAKEN) {
      if (this.#failing.delete(signal)) this.#log.info({}, `${collector} accepts ${signal} again`)
    } else if (!this.#failing.has(signal)) {
      this.#failing.add(signal)
      const problem = error ? errorMessage(error) || error.name : 'no reason given'
      this.#log.warn({}, `${collector} does not accept ${signal} (${problem}); they are dropped until it does`)
    }
  }
}
