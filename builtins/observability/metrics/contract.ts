export { type Distribution, type Metric, Metrics, type Reading, type Sample } from '#lib/metric'
