import { errorMessage, operation, type PluginHandle, token, withTimeLimit, z } from '#kernel'
import { type Metric, Metrics } from './contract.ts'
import { exposition } from './exposition.ts'

/** How long one metric may take to collect, in milliseconds. */
const LIMIT_MS = 1_000

/** Names of the metrics that failed at the last scrape. A failure is logged once until the metric recovers. */
export const FailingMetrics = token<Set<string>>('metrics/failing')

export const metricsGet = operation({
  name: 'metrics.get',
  summary: "Show metrics in Prometheus' text format",
  description: 'The names of the metrics are listed in docs/reference/metrics.md.',
  input: z.object({}),
  output: z.string().meta({
    examples: [
      '# HELP svc_agents_working Agents in a cycle now.\n# TYPE svc_agents_working gauge\nsvc_agents_working 2\n',
    ],
  }),
  http: { method: 'GET', path: '/metrics', produces: 'text/plain; version=0.0.4; charset=utf-8' },
  run: async (_, { svc }) => (await Promise.all(svc.list(Metrics).map(metric => read(svc, metric)))).join(''),
})

async function read(svc: PluginHandle, metric: Metric): Promise<string> {
  const failing = svc.use(FailingMetrics)
  try {
    const text = exposition(
      metric,
      await withTimeLimit(svc.clock, LIMIT_MS, `The metric ${metric.name}`, Promise.resolve(metric.collect())),
    )
    failing.delete(metric.name)
    return text
  } catch (error) {
    if (!failing.has(metric.name)) svc.log.warn({}, `the metric ${metric.name} is left out: ${errorMessage(error)}`)
    failing.add(metric.name)
    return ''
  }
}
