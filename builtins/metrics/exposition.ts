export interface Gauge {
  name: string
  /** One line without a backslash. */
  help: string
  value: number
}

/** Gauges in the text exposition format 0.0.4 of Prometheus. */
export function exposition(gauges: readonly Gauge[]): string {
  return gauges
    .map(({ name, help, value }) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`)
    .join('')
}
