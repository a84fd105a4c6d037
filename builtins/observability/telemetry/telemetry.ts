import { CallObservers, ModelError, type ObservedCall, type ObservedEnd } from '#core/models/contract'
import { errorMessage, type PluginHandle, SvcError, type Undo, withTimeLimit } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { secretMasker } from '#lib/secrets'
import { answerAttributes, inputContent, outputContent, spendAttributes } from './attributes.ts'
import { settingsOf, type TelemetryConfig } from './config.ts'
import type { Deliveries } from './deliveries.ts'
import { Instruments, observeMetrics } from './instruments.ts'
import { openSdk, type Sdk } from './sdk.ts'
import { Spans } from './spans.ts'

/** Time limit for sending the last telemetry when the process ends, in milliseconds. */
const GRACE_MS = 3_000

export function isOn({ ports }: PluginHandle, { enabled }: TelemetryConfig): boolean {
  return enabled && ports.env.OTEL_SDK_DISABLED?.toLowerCase() !== 'true'
}

/** Starts telemetry and returns what ends it. Missing packages and wrong settings are logged and stop no work. */
export async function beginTelemetry(
  svc: PluginHandle,
  config: TelemetryConfig,
  deliveries: Deliveries,
): Promise<Undo | undefined> {
  const { env, ids } = svc.ports
  try {
    const settings = settingsOf(config, env)
    const maker = { name: 'svc', version: await packageVersion(svc.ports), instance: ids.make('svc', 12) }
    const sdk = await openSdk(settings, maker, deliveries)
    const places = Object.values(settings.targets).map(({ url }) => new URL(url).origin)
    svc.log.info({}, `telemetry is sent to ${[...new Set(places)].join(', ') || 'nowhere: both exporters are none'}`)
    return watch(svc, config, sdk)
  } catch (error) {
    svc.log.error({}, `telemetry could not be started: ${errorMessage(error)}`)
    return undefined
  }
}

function watch(svc: PluginHandle, { capture_content }: TelemetryConfig, sdk: Sdk): Undo {
  const { clock } = svc
  const hide = secretMasker(svc)
  const hideSecrets = (text: string) => JSON.parse(hide(JSON.stringify(text))) as string
  const spans = new Spans(sdk, clock)
  const instruments = sdk.meter && new Instruments(sdk.meter)
  // Only the daemon reports metrics that are the same in all processes.
  if (sdk.meter && svc.roles.has('daemon')) observeMetrics(svc, sdk.meter)

  svc.add(CallObservers, {
    name: 'telemetry',
    began(observed: ObservedCall) {
      const span = spans.call(observed)
      const began = clock.monotonic()
      if (capture_content) span?.setAttributes(inputContent(observed, hide))
      return (end: ObservedEnd) => {
        const ms = clock.monotonic() - began
        if ('answer' in end) {
          instruments?.call(observed, ms, end.answer.spend, undefined)
          span?.setAttributes(answerAttributes(end.answer))
          if (capture_content) span?.setAttributes(outputContent(end.answer, hide))
        } else {
          const type = typeOf(end.error)
          const { spend = null } = end.error as Partial<ModelError>
          instruments?.call(observed, ms, spend, type)
          if (span && spend) span.setAttributes(spendAttributes(spend))
          if (span) spans.fail(span, type, hideSecrets(errorMessage(end.error)))
        }
        span?.end(clock.ms())
      }
    },
  })
  svc.on('cycle_start', cycle => spans.cycleBegan(cycle))
  svc.on('phase_exit', phase => spans.phaseEnded(phase))
  svc.on('cycle_end', cycle => {
    const ms = spans.cycleEnded(cycle)
    if (ms !== undefined) instruments?.cycle(cycle.result, ms)
  })
  if (svc.events.has('tool_result')) {
    svc.on('tool_result', result => {
      const { arguments: args, output } = result
      const content = {
        'gen_ai.tool.call.arguments': hideSecrets(args),
        'gen_ai.tool.call.result': hideSecrets(output),
      }
      spans.tool(result, capture_content ? content : {})
      instruments?.tool(result.tool, result.duration_ms, result.ok)
    })
  }
  if (svc.events.has('task_started')) {
    svc.on('task_started', task => spans.taskBegan(task))
    svc.on('task_ended', task => spans.taskEnded(task))
  }
  return async () => {
    spans.close()
    const late = (error: unknown) => svc.log.warn({}, `the last telemetry was not sent: ${errorMessage(error)}`)
    await withTimeLimit(clock, GRACE_MS, 'Sending the last telemetry', sdk.shutdown()).catch(late)
    sdk.drop()
  }
}

/** Returns the type of an error, one of a few words. */
function typeOf(error: unknown): string {
  if (error instanceof ModelError) return error.kind
  return error instanceof SvcError ? error.code : '_OTHER'
}
