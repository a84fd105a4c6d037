import { point } from '#kernel'

/** How often something took how long, or was how large. */
export interface Distribution {
  /** For each upper bound, rising, how many were at most that. */
  buckets: readonly (readonly [le: number, count: number])[]
  sum: number
  count: number
}

export interface Sample {
  labels?: Readonly<Record<string, string>>
  /** A number; of a histogram, its distribution. */
  value: number | Distribution
}

/** A number without labels, or a sample for each set of them; undefined for what is not known here. */
export type Reading = number | undefined | readonly Sample[]

/** What is measured, under its name in the text format of Prometheus. */
export interface Metric {
  /** With its unit, and `_total` at the end of a counter: `svc_mails_total`, `svc_queue_age_seconds`. */
  name: string
  /** One sentence. */
  help: string
  /** A counter never goes down while the process lives. */
  type: 'gauge' | 'counter' | 'histogram'
  /** Asked at each scrape, so it should be cheap; what throws, or takes over a second, is left out of that scrape. */
  collect(): Reading | Promise<Reading>
}

/** Everything that `GET /metrics` shows: `svc.add(Metrics, { name: 'svc_mails_total', … })`. */
export const Metrics = point<Metric>('metrics', {
  key: metric => metric.name,
  check({ name, type, collect }) {
    if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) || typeof collect !== 'function') {
      throw new TypeError(`a metric needs a name of letters, digits and "_", and collect(); "${name}" is none`)
    }
    if ((type === 'counter') !== name.endsWith('_total')) {
      throw new TypeError(`the metric "${name}" is a ${type}: the name of a counter ends in _total, and no other does`)
    }
  },
})
