import type { Distribution, Metric, Reading, Sample } from './contract.ts'

/**
 * Formats a metric in Prometheus' text format 0.0.4; empty without samples.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function exposition({ name, help, type }: Omit<Metric, 'collect'>, reading: Reading): string {
  if (reading === undefined) return ''
  const samples: readonly Sample[] = typeof reading === 'number' ? [{ value: reading }] : reading
  const lines = samples.flatMap(({ labels = {}, value }) =>
    typeof value === 'number' ? line(name, labels, value) : distribution(name, labels, value),
  )
  return [`# HELP ${name} ${help.replace(/[\\\n]/g, escapeCharacter)}`, `# TYPE ${name} ${type}`, ...lines, ''].join(
    '\n',
  )
}

function distribution(name: string, labels: Sample['labels'], { buckets, sum, count }: Distribution): string[] {
  return [
    ...buckets.map(([le, upTo]) => line(`${name}_bucket`, { ...labels, le: numeral(le) }, upTo)),
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ]
}

function line(name: string, labels: Sample['labels'], value: number): string {
  const pairs = Object.entries(labels ?? {}).map(
    ([label, text]) => `${label}="${text.replace(/[\\"\n]/g, escapeCharacter)}"`,
  )
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numeral(value)}`
}

function escapeCharacter(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}

function numeral(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
