import type { Agent } from 'node:http'
import type { Meter, Tracer } from '@opentelemetry/api'
import { MissingDependencyError } from '#lib/errors'
import type { Settings, Signal, Target } from './config.ts'
import type { Deliveries } from './deliveries.ts'

interface Packages {
  api: typeof import('@opentelemetry/api')
  tracing: typeof import('@opentelemetry/sdk-trace-base')
  metering: typeof import('@opentelemetry/sdk-metrics')
  resources: typeof import('@opentelemetry/resources')
  spanExporter: typeof import('@opentelemetry/exporter-trace-otlp-proto')
  metricExporter: typeof import('@opentelemetry/exporter-metrics-otlp-proto')
}

/** Loads the packages, which only happens when telemetry is on. */
async function load(): Promise<Packages> {
  const [api, tracing, metering, resources, spanExporter, metricExporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/exporter-metrics-otlp-proto'),
  ])
  return { api, tracing, metering, resources, spanExporter, metricExporter }
}

export interface Sdk {
  api: Packages['api']
  /** Undefined if the signal is not sent. */
  tracer: Tracer | undefined
  meter: Meter | undefined
  /** Sends pending data now. */
  flush(): Promise<unknown>
  /** Sends pending data, and ends. */
  shutdown(): Promise<unknown>
  /** Aborts transfers in progress. */
  drop(): void
}

export interface Maker {
  name: string
  version: string
  instance: string
}

/** @throws MissingDependencyError */
export async function openSdk(settings: Settings, maker: Maker, deliveries: Deliveries): Promise<Sdk> {
  const packages = await load().catch(error => {
    throw toDependencyError(error)
  })
  const { name, version } = maker
  const resource = packages.resources.resourceFromAttributes({
    ...settings.attributes,
    'service.name': settings.service,
    'service.version': version,
    'service.instance.id': maker.instance,
  })
  const agents: Agent[] = []
  const { traces, metrics } = settings.targets
  const tracing = traces && tracerProvider(packages, settings, resource, countingExporter('traces', traces))
  const metering = metrics && meterProvider(packages, settings, resource, countingExporter('metrics', metrics))
  const both = [tracing, metering].filter(provider => provider !== undefined)

  function countingExporter(signal: Signal, target: Target) {
    const { url, headers, timeoutMillis, gzip } = target
    const compression = { compression: (gzip ? 'gzip' : 'none') as never }
    const httpAgentOptions = async (protocol: string) => {
      const { Agent } = await (protocol === 'https:' ? import('node:https') : import('node:http'))
      const agent = new Agent({ keepAlive: true })
      agents.push(agent)
      return agent
    }
    const options = { url, headers, timeoutMillis, httpAgentOptions, ...compression }
    return { options, watch: deliveries.watching(signal, new URL(url).origin) }
  }

  return {
    api: packages.api,
    tracer: tracing?.getTracer(name, version),
    meter: metering?.getMeter(name, version),
    flush: () => Promise.all(both.map(provider => provider.forceFlush())),
    shutdown: () => Promise.all(both.map(provider => provider.shutdown())),
    drop() {
      for (const agent of agents) agent.destroy()
    },
  }
}

interface Way {
  options: ConstructorParameters<Packages['spanExporter']['OTLPTraceExporter']>[0] & object
  watch: ReturnType<Deliveries['watching']>
}
type Resource = ReturnType<Packages['resources']['resourceFromAttributes']>

function tracerProvider(
  { tracing: { BasicTracerProvider, BatchSpanProcessor }, spanExporter: { OTLPTraceExporter } }: Packages,
  { spansEvery, queue, batch }: Settings,
  resource: Resource,
  { options, watch }: Way,
) {
  const exporter = watch(new OTLPTraceExporter(options))
  const processor = new BatchSpanProcessor(exporter, {
    scheduledDelayMillis: spansEvery,
    maxQueueSize: queue,
    maxExportBatchSize: batch,
  })
  return new BasicTracerProvider({ resource, spanProcessors: [processor] })
}

function meterProvider(
  { metering: { MeterProvider, PeriodicExportingMetricReader }, metricExporter: { OTLPMetricExporter } }: Packages,
  { metricsEvery }: Settings,
  resource: Resource,
  { options, watch }: Way,
) {
  const exporter = watch(new OTLPMetricExporter(options))
  const exportTimeoutMillis = Math.min(metricsEvery, 30_000)
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: metricsEvery,
    exportTimeoutMillis,
  })
  return new MeterProvider({ resource, readers: [reader] })
}

const PACKAGES = ['api', 'sdk-trace-base', 'sdk-metrics', 'resources', 'exporter-trace-otlp-proto']
  .concat('exporter-metrics-otlp-proto')
  .map(name => `@opentelemetry/${name}`)

function toDependencyError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return error
  return new MissingDependencyError({ package: PACKAGES.join(' '), purpose: 'telemetry' }, { cause: error })
}
