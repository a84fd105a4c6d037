import { z } from '#kernel'
import { isHttpUrl } from '#lib/http-url'

export const TelemetrySection = z.object({
  enabled: z
    .boolean()
    .default(false)
    .meta({ reload: 'restart_required', env: 'SVC_TELEMETRY' })
    .describe('Send OpenTelemetry traces and metrics to a collector, by OTLP over HTTP'),
  endpoint: z
    .string()
    .refine(text => text === '' || isHttpUrl(text), 'must be an http or https URL, such as http://localhost:4318')
    .default('')
    .meta({ reload: 'restart_required' })
    .describe(
      'Base URL of the collector (default: OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318); /v1/traces and /v1/metrics are appended',
    ),
  capture_content: z
    .boolean()
    .default(false)
    .meta({ reload: 'restart_required' })
    .describe('Also send the content of model calls and tool calls, without values of secrets'),
})
export type TelemetryConfig = z.output<typeof TelemetrySection>

export const SIGNALS = ['traces', 'metrics'] as const
export type Signal = (typeof SIGNALS)[number]

/** Where and how one signal is sent. */
export interface Target {
  url: string
  headers: Record<string, string>
  timeoutMillis: number
  gzip: boolean
}

export interface Settings {
  /** Targets by signal; a signal that is not sent has none. */
  targets: Partial<Record<Signal, Target>>
  service: string
  attributes: Record<string, string>
  /** Milliseconds between two exports, of metrics and of spans. */
  metricsEvery: number
  spansEvery: number
  /** Maximum number of spans that wait to be sent; more are dropped. */
  queue: number
  batch: number
}

type Env = Readonly<Record<string, string | undefined>>

const DEFAULT_ENDPOINT = 'http://localhost:4318'

/**
 * Combines the configuration and the standard environment variables.
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function settingsOf({ endpoint }: Pick<TelemetryConfig, 'endpoint'>, env: Env): Settings {
  const { 'service.name': named, ...attributes } = pairs(env.OTEL_RESOURCE_ATTRIBUTES)
  const queue = parseInteger(env.OTEL_BSP_MAX_QUEUE_SIZE, 2_048)
  return {
    targets: Object.fromEntries(
      SIGNALS.filter(signal => env[`OTEL_${signal.toUpperCase()}_EXPORTER`] !== 'none').map(signal => [
        signal,
        targetOf(signal, endpoint, env),
      ]),
    ),
    service: env.OTEL_SERVICE_NAME || named || 'svc',
    attributes,
    metricsEvery: parseInteger(env.OTEL_METRIC_EXPORT_INTERVAL, 60_000),
    spansEvery: parseInteger(env.OTEL_BSP_SCHEDULE_DELAY, 5_000),
    queue,
    batch: Math.min(queue, parseInteger(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 512)),
  }
}

function targetOf(signal: Signal, endpoint: string, env: Env): Target {
  const name = (key: string) => `OTEL_EXPORTER_OTLP_${key}`
  const of = (key: string) => env[name(`${signal.toUpperCase()}_${key}`)] || env[name(key)]
  // A signal's own endpoint is used unchanged.
  const own = endpoint === '' ? env[name(`${signal.toUpperCase()}_ENDPOINT`)] : ''
  const base = endpoint || env[name('ENDPOINT')] || DEFAULT_ENDPOINT
  return {
    url: own || `${base.replace(/\/+$/, '')}/v1/${signal}`,
    headers: { ...pairs(env[name('HEADERS')]), ...pairs(env[name(`${signal.toUpperCase()}_HEADERS`)]) },
    timeoutMillis: parseInteger(of('TIMEOUT'), 10_000),
    gzip: of('COMPRESSION') === 'gzip',
  }
}

/** Parses `a=1,b=2`, percent-encoded. */
function pairs(text = ''): Record<string, string> {
  return Object.fromEntries(
    text.split(',').flatMap(pair => {
      const at = pair.indexOf('=')
      return at > 0 ? [[decodeOrSame(pair.slice(0, at).trim()), decodeOrSame(pair.slice(at + 1).trim())]] : []
    }),
  )
}

function decodeOrSame(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function parseInteger(text: string | undefined, otherwise: number): number {
  const number = Number(text)
  return text && Number.isSafeInteger(number) && number > 0 ? number : otherwise
}
