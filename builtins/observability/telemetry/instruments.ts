import type { Attributes, Meter } from '@opentelemetry/api'
import type { ObservedCall, Spend } from '#core/models/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { Metrics } from '#lib/metric'
import { modelOf } from './attributes.ts'

/**
 * Histogram bounds recommended by the conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/
 */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

/** Metrics that are recorded at each event. */
export class Instruments {
  readonly #tokens
  readonly #calls
  readonly #tools
  readonly #cycles
  readonly #cost

  constructor(meter: Meter) {
    const seconds = { unit: 's', advice: { explicitBucketBoundaries: SECONDS } }
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Input and output tokens of a model call.',
      advice: { explicitBucketBoundaries: TOKENS },
    })
    this.#calls = meter.createHistogram('gen_ai.client.operation.duration', {
      ...seconds,
      description: 'Duration of a model call, including retries.',
    })
    this.#tools = meter.createHistogram('svc.tool.duration', { ...seconds, description: 'Duration of a tool call.' })
    this.#cycles = meter.createHistogram('svc.cycle.duration', { ...seconds, description: 'Duration of a cycle.' })
    this.#cost = meter.createCounter('svc.cost', { unit: '{USD}', description: 'Cost of model calls.' })
  }

  call({ model: id }: ObservedCall, ms: number, spend: Spend | null, error: string | undefined): void {
    const { provider, model } = modelOf(id)
    const about = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': provider, 'gen_ai.request.model': model }
    this.#calls.record(ms / 1000, error === undefined ? about : { ...about, 'error.type': error })
    if (!spend) return
    this.#tokens.record(spend.input_tokens, { ...about, 'gen_ai.token.type': 'input' })
    this.#tokens.record(spend.output_tokens, { ...about, 'gen_ai.token.type': 'output' })
    this.#cost.add(spend.cost_micros / 1e6, about)
  }

  tool(tool: string, ms: number, ok: boolean): void {
    const about: Attributes = { 'gen_ai.tool.name': tool }
    this.#tools.record(ms / 1000, ok ? about : { ...about, 'error.type': 'tool_error' })
  }

  cycle(result: string, ms: number): void {
    this.#cycles.record(ms / 1000, { 'svc.cycle.result': result })
  }
}

/** Reports the metrics of `GET /metrics`; distributions are measured by the instruments above. */
export function observeMetrics(svc: PluginHandle, meter: Meter): void {
  for (const { name, help, type, collect } of svc.list(Metrics)) {
    if (type === 'histogram') continue
    const options = { description: help }
    const instrument =
      type === 'counter' ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options)
    instrument.addCallback(async result => {
      try {
        const reading = await collect()
        if (typeof reading === 'number') result.observe(reading)
        else for (const { labels, value } of reading ?? []) if (typeof value === 'number') result.observe(value, labels)
      } catch (error) {
        svc.log.debug({}, `${name} was not measured: ${errorMessage(error)}`)
      }
    })
  }
}
