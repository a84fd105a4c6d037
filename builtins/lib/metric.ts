import { point } from '#kernel'

/** Distribution of durations or sizes. */
export interface Distribution {
  /** Cumulative counts: for each upper bound, in rising order, the number of values at most that large. */
  buckets: readonly (readonly [le: number, count: number])[]
  sum: number
  count: number
}

export interface Sample {
  labels?: Readonly<Record<string, string>>
  /** Value of the sample: a number, or the distribution of a histogram. */
  value: number | Distribution
}

/**
 * Value of a metric: a number without labels, or a sample for each set of labels; undefined when it is not known here.
 */
export type Reading = number | undefined | readonly Sample[]

/** A metric, under its name in the text format of Prometheus. */
export interface Metric {
  /** Name with its unit, and `_total` at the end for a counter: `svc_mails_total`, `svc_queue_age_seconds`. */
  name: string
  /** Description in one sentence. */
  help: string
  /** Type of the metric; a counter never decreases while the process lives. */
  type: 'gauge' | 'counter' | 'histogram'
  /**
   * Returns the current value. Called at each scrape, so it should be cheap; a metric that throws or takes over a
   * second is left out.
   */
  collect(): Reading | Promise<Reading>
}

/** Metrics that `GET /metrics` shows: `svc.add(Metrics, { name: 'svc_mails_total', … })`. */
export const Metrics = point<Metric>('metrics', {
  key: metric => metric.name,
  check({ name, type, collect }) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) || typeof collect !== 'function') {
      throw new TypeError(`the metric "${name}" needs a collect() function and a name of letters, digits and "_"`)
    }
    if ((type === 'counter') !== name.endsWith('_total')) {
      throw new TypeError(
        `the metric "${name}" is a ${type}: the name of a counter must end in _total, and no other name may`,
      )
    }
  },
})
