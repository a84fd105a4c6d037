import { errorMessage, type Log, type Ports, SvcError } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { MissingDependencyError } from '#lib/errors'
import { orAbort } from '#lib/or-abort'
import { maskText, secretsIn } from '#lib/secrets'
import type { Price } from '../catalogue/catalogue.ts'
import type { Target } from '../catalogue/names.ts'
import {
  type AskedCall,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type Spend,
} from '../contract.ts'
import { CONTENT_REMEDY } from '../providers/refusals.ts'
import { endOfLateReasoning } from '../repair/reasoning-splitter.ts'
import type { AdaptedTarget } from './adapted-target.ts'
import type { Governor, Pass, Queue } from './governor.ts'
import { limit } from './limits.ts'
import { LoadingWait } from './loading.ts'
import type { ShownText } from './shown-text.ts'
import { type Attempt, spendOf } from './spend.ts'

/** Maximum length of an answer, in characters. */
const MAX_OUTPUT_CHARS = 1024 * 1024
/** Maximum time to wait for the usage after an answer is complete, in milliseconds. */
const USAGE_WAIT_MS = 2_000
/**
 * Maximum length of a provider's opaque data, in characters of JSON. Longer data is dropped, because a part of it is
 * useless.
 */
const MAX_PROVIDER_DATA_CHARS = 256 * 1024

/** Maximum length of the name in a tool call. Providers accept 64 or 128 characters for tools. */
const MAX_NAME_CHARS = 128

export interface CallSettings {
  ports: Pick<Ports, 'clock' | 'random' | 'ids' | 'env'>
  log: Log
  price: Price | 'free' | undefined
  call_id: string
  /** Called before each attempt; throws when the attempt is not allowed. */
  admit: () => Promise<void>
  /** Called before the pause that follows an attempt which the provider did not charge for. */
  unbilled: () => Promise<void>
  /** Decides when an attempt may be made, and receives its outcome. */
  governor: Governor
  /** The model that failed before this one was called. */
  failover_from?: string | undefined
  queue: Queue
  max_retries: number
  /** Time limits, in seconds. */
  idle_timeout: number
  first_byte_timeout: number
  total_timeout: number
  /** Maximum time for this model, in seconds, so that the next one has time left. */
  share: number
  /** The part of the answer that the caller has seen, including from models called before. */
  shown: ShownText
  retry_delay: number
  retry_cap: number
}

/** State shared by all attempts of a call. */
interface CallState {
  to: AdaptedTarget
  request: ModelRequest
  settings: CallSettings
  shown: ShownText
  /** Called when an answer begins; the time limit of the call counts from then. */
  onBegin: () => void
}

/** Data received so far in one attempt. */
interface ReceivedCall extends Attempt {
  text: string
  reasoning: string
  provider_fields: Record<string, unknown>
  /** Number of characters received, and of characters parsed from them; the larger one is charged. */
  came: number
  intended: number
  tool_calls: AskedCall[]
  dropped_calls: number
  finish_reason?: ModelAnswer['finish_reason']
}

/**
 * Gets one answer from a provider: streams it, applies time limits, and retries while that can help. A server that is
 * loading its model is asked again until `first_byte_timeout`, which counts as no attempt. An answer that broke off is
 * requested once more without streaming. The text of a further attempt replaces what was shown before.
 * @throws ModelError with the spend of all attempts and the text shown; MissingDependencyError when the provider needs
 * a package; what `admit` and `queue.check` throw, with the spend of the attempts before
 */
export async function callModel(call: ModelCall, to: AdaptedTarget, settings: CallSettings): Promise<ModelAnswer> {
  const { ports, call_id, max_retries, governor, failover_from, shown } = settings
  const { signal, asked_for, onText: _, onReset: __, context, system_parts: ___, ...rest } = call
  const request: ModelRequest = { ...rest, model: to.model, purpose: asked_for ?? call.purpose }
  const began = ports.clock.monotonic()
  const attempts: ReceivedCall[] = []
  const until_begun = Math.max(settings.first_byte_timeout, settings.share)
  const total = limit(ports.clock, signal, until_begun * 1000, () => tookTooLong(to, settings))
  let hasBegun = false
  const onBegin = () => {
    if (!hasBegun) total.restart(settings.share * 1000)
    hasBegun = true
  }
  // Waiting for other calls takes none of the time of this one.
  const queue: Queue = {
    check: settings.queue.check,
    onWait() {
      const [resume, leave] = [total.pause(), settings.queue.onWait()]
      return () => {
        resume()
        leave()
      }
    },
  }
  const spend = (): Spend => ({
    call_id,
    model: to.id,
    ...spendOf(attempts, request, settings.price),
    duration_ms: Math.round(ports.clock.monotonic() - began),
    ...(failover_from === undefined ? {} : { failover_from }),
    ...(context ? { context } : {}),
  })
  const talk: CallState = { to, request, settings, shown, onBegin }
  const giveUp = (failure: ModelError) =>
    Object.assign(failure, { spend: attempts.length > 0 ? spend() : null, text: shown.text })
  const refusal = (error: object) => Object.assign(error, attempts.length > 0 ? { spend: spend() } : {})
  let form: 'stream' | 'plain' = 'stream'
  let plainTried = false
  const loading = new LoadingWait(call, settings)
  try {
    for (let n = 0; ; n++) {
      const pass = await governor.enter(to.id, total.signal, queue).catch(error => {
        const isRefused = error instanceof SvcError && !(error instanceof ModelError) && !signal.aborted
        throw isRefused ? refusal(error) : giveUp(failureOf(to, error, signal, settings))
      })
      await settings.admit().catch(error => {
        pass.leave('unknown')
        throw refusal(error)
      })
      if (total.signal.aborted) {
        // Stopped while its budget was being reserved, so the provider was not called and charges nothing.
        pass.leave('unknown')
        throw giveUp(failureOf(to, total.signal.reason, signal, settings))
      }
      const received: ReceivedCall = {
        text: '',
        reasoning: '',
        provider_fields: {},
        tool_calls: [],
        dropped_calls: 0,
        came: 0,
        intended: 0,
        output_chars: 0,
        billed: true,
      }
      attempts.push(received)
      shown.beginAttempt()
      try {
        await (form === 'stream' ? receiveStream : receiveWhole)(talk, total.signal, received, pass)
        if (received.finish_reason === 'content_filter') refuseWithheld(to, received)
        pass.leave('answered')
        crashPoint?.('model answered')
        received.text = received.text.toWellFormed()
        separateLateReasoning(received)
        shown.end(received.text)
        return Object.freeze({ ...answerOf(received, to, request, ports), spend: Object.freeze(spend()) })
      } catch (error) {
        if (!(error instanceof SvcError || total.signal.aborted)) logFault(error, to, request, settings)
        const failure = error instanceof MissingDependencyError ? undefined : failureOf(to, error, signal, settings)
        const wait_s = failure ? waitOf(n, failure, call_id, settings) : 0
        pass.leave(failure ?? 'unknown', wait_s * 1000)
        if (!failure) throw error
        received.billed = failure.billed || received.output_chars > 0
        plainTried ||= form === 'plain'
        if (failure.kind === 'loading') {
          attempts.pop()
          if (!loading.allowsAnother) throw giveUp(failure)
          n--
          await settings.unbilled()
          await loading.pause(failure, total.signal)
          continue
        }
        const canGoPlain: boolean = to.complete !== undefined && !plainTried
        const left = failure.transient && n < max_retries && !total.signal.aborted
        if (!left || governor.state().breaker !== 'closed') throw giveUp(failure)
        form = canGoPlain && failure.interrupted ? 'plain' : 'stream'
        if (!received.billed) await settings.unbilled()
        await pause(wait_s, n, failure, call, settings, total.signal)
      }
    }
  } finally {
    total.end()
  }
}

/** Reads a stream to its end. Rejects when nothing arrives within the idle limit, or the signal is aborted. */
async function receiveStream(
  { to, request, settings, shown, onBegin }: CallState,
  signal: AbortSignal,
  received: ReceivedCall,
  pass: Pass,
): Promise<void> {
  let limited: 'first_byte_timeout' | 'idle_timeout' = 'first_byte_timeout'
  const idle = limit(settings.ports.clock, signal, settings.first_byte_timeout * 1000, () =>
    fault(to, `no data arrived within model.${limited} (${settings[limited]} s)${queueHint(limited, settings)}`, {
      kind: 'timeout',
    }),
  )
  let over = false
  try {
    await to.stream(request, idle.signal, event => {
      pass.recordAccepted()
      onBegin()
      // A model that thinks may send nothing for as long as before its first piece.
      const isThinking = event.type === 'reasoning' && settings.first_byte_timeout > settings.idle_timeout
      limited = isThinking ? 'first_byte_timeout' : 'idle_timeout'
      take(to, received, event)
      if (event.type === 'text' && event.text) shown.show(event.text)
      const left_ms = settings[limited] * 1000
      idle.restart(received.finish_reason ? Math.min(USAGE_WAIT_MS, left_ms) : left_ms)
    })
    over = true
  } catch (error) {
    // The answer is complete and only its usage is missing, which is then estimated.
    if (!received.finish_reason || signal.aborted) throw error
  } finally {
    idle.end(!over)
  }
  if (!received.finish_reason)
    throw fault(to, 'the answer broke off before its end', { kind: 'broken', interrupted: true })
}

/** Returns a hint where a server may have kept the call waiting for others, as those that answer one at a time do. */
function queueHint(limited: string, { governor }: CallSettings): string {
  if (limited !== 'first_byte_timeout' || governor.state().in_flight < 2) return ''
  return ` while other calls to it ran; a server that answers few at a time needs model.providers.${governor.provider}.max_concurrent`
}

async function receiveWhole({ to, request }: CallState, signal: AbortSignal, received: ReceivedCall): Promise<void> {
  const events = await orAbort(signal, to.complete!(request, signal))
  for (const event of events) take(to, received, event)
  if (!received.finish_reason) throw fault(to, 'the answer has no finish reason', { kind: 'broken' })
}

/**
 * Throws when a content filter left nothing of the answer. It would leave nothing of the next one either, so this is a
 * refusal and no empty answer.
 */
function refuseWithheld(to: Target, { text, tool_calls }: ReceivedCall): void {
  if (text.trim() !== '' || tool_calls.length > 0) return
  const problem = `a content filter withheld its answer; ${CONTENT_REMEDY}`
  throw fault(to, problem, { kind: 'content_policy', transient: false })
}

function take(to: Target, received: ReceivedCall, event: ModelEvent): void {
  if (event.type === 'text') {
    received.text += event.text
    received.intended += event.text.length
    received.came += event.chars ?? event.text.length
  } else if (event.type === 'reasoning') {
    received.reasoning += event.text
    received.came += event.chars ?? event.text.length
  } else if (event.type === 'provider_data') {
    Object.assign(received.provider_fields, event.fields)
  } else if (event.type === 'tool_call') {
    const { type: _, ...call } = event
    received.tool_calls.push(call)
    received.intended += event.name.length + event.arguments.length
  } else if (event.type === 'dropped_calls') {
    received.dropped_calls += event.calls
    received.intended += event.chars
  } else if (event.type === 'usage') received.usage = event.usage
  else if (event.type === 'done') received.finish_reason = event.finish_reason
  received.output_chars = Math.max(received.came, received.intended)
  if (received.output_chars > MAX_OUTPUT_CHARS) {
    throw fault(to, 'the answer is longer than 1 MiB', { kind: 'broken', transient: false })
  }
}

function separateLateReasoning(received: ReceivedCall): void {
  const late = endOfLateReasoning(received.text)
  if (!late) return
  received.reasoning += received.text.slice(0, late.start).trim()
  received.text = received.text.slice(late.end).trimStart()
}

function answerOf(
  { text, reasoning, provider_fields: fields, tool_calls, dropped_calls, finish_reason = 'stop' }: ReceivedCall,
  { id }: Target,
  request: ModelRequest,
  { ids }: Pick<Ports, 'ids'>,
) {
  const known = new Set(request.messages.flatMap(message => message.tool_calls?.map(({ id }) => id) ?? []))
  const calls = tool_calls.map(toolCall => {
    const id = toolCall.id && !known.has(toolCall.id) ? toolCall.id : ids.make('tool', 12)
    known.add(id)
    return Object.freeze({ ...toolCall, id, name: toolCall.name.slice(0, MAX_NAME_CHARS) })
  })
  const chars = Object.keys(fields).length > 0 ? JSON.stringify(fields).length : 0
  const ended = finish_reason === 'stop' || finish_reason === 'tool_calls'
  return {
    text,
    ...(reasoning ? { reasoning } : {}),
    ...(chars > 0 && chars <= MAX_PROVIDER_DATA_CHARS ? { provider_data: { model: id, fields } } : {}),
    tool_calls: Object.freeze(calls),
    ...(dropped_calls > 0 ? { dropped_calls } : {}),
    finish_reason: ended ? (calls.length > 0 ? 'tool_calls' : 'stop') : finish_reason,
  } as const
}

/**
 * Returns the seconds before the next attempt: exponential backoff with jitter, or what the provider asks for, up to
 * the cap.
 */
function waitOf(
  n: number,
  { retryAfter = 0 }: ModelError,
  call_id: string,
  { ports, retry_delay, retry_cap }: CallSettings,
): number {
  const jitter = 0.5 + ports.random.number('models.retry', call_id, n) / 2
  return Math.min(Math.max(retry_delay * 2 ** n * jitter, retryAfter), retry_cap)
}

async function pause(
  seconds: number,
  n: number,
  failure: ModelError,
  { purpose }: ModelCall,
  { ports, log, max_retries }: CallSettings,
  signal: AbortSignal,
): Promise<void> {
  const { agent_id, goal_id, cycle_num } = purpose
  log.warn(
    { agent_id, goal_id, cycle_num, code: 'model_retry' },
    `${failure.message} Trying again in ${seconds.toFixed(1)} s (${n + 1} of ${max_retries}).`,
  )
  await ports.clock.sleep(seconds * 1000, signal)
}

function failureOf(to: Target, error: unknown, stop: AbortSignal, { ports }: CallSettings): ModelError {
  if (stop.aborted) {
    const why = `the call was stopped (${trim(errorMessage(stop.reason))})`
    const billed = !(error instanceof ModelError) || error.billed
    return fault(to, why, { kind: 'stopped', transient: false, billed }, stop.reason)
  }
  if (error instanceof ModelError) return error
  return fault(to, trim(maskText(errorMessage(error), secretsIn(ports.env))), {}, error)
}

/** Logs where a provider threw: what is no ModelError is an error in its code, and the message names no place. */
function logFault(error: unknown, { id }: Target, { purpose }: ModelRequest, { log }: CallSettings): void {
  const { stack } = Object(error) as { stack?: string }
  log.error({ agent_id: purpose.agent_id, stack }, `the provider of ${id} failed: ${errorMessage(error)}`)
}

function tookTooLong(to: Target, { share, total_timeout, governor }: CallSettings): ModelError {
  const whole = `model.total_timeout (${total_timeout} s)`
  const time = share === total_timeout ? whole : `${Math.round(share)} s, its share of ${whole}`
  const { backing_off_ms, last_failure } = governor.state()
  const cause = backing_off_ms > 0 ? `, because ${governor.provider} asked to wait (${last_failure})` : ''
  return fault(to, `it took longer than ${time}${cause}`, { kind: 'timeout' })
}

function fault(
  to: Target,
  problem: string,
  facts: Partial<Pick<ModelError, 'kind' | 'transient' | 'billed' | 'interrupted'>> = {},
  cause?: unknown,
): ModelError {
  return new ModelError({ model: to.id, problem }, { cause, ...facts })
}

function trim(sentence: string): string {
  return sentence.replace(/\.$/, '')
}
