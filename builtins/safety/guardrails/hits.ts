import type { PluginHandle } from '#kernel'
import type { Metric, Sample } from '#lib/metric'

/** Counts findings by stage and action in this process. */
export function hits(svc: PluginHandle): Metric {
  const counts = new Map<string, Sample & { value: number }>()
  svc.on('guardrail_hit', ({ stage, action }) => {
    const sample = counts.get(`${stage} ${action}`) ?? { labels: { stage, action }, value: 0 }
    sample.value++
    counts.set(`${stage} ${action}`, sample)
  })
  return {
    name: 'svc_guardrail_hits_total',
    help: 'Number of texts in which guardrails found something, by stage and action.',
    type: 'counter',
    collect: () => [...counts.values()],
  }
}
