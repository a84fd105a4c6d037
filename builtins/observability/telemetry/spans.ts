import type { Attributes, Context, Span, SpanContext } from '@opentelemetry/api'
import type { ObservedCall } from '#core/models/contract'
import { isWaiting } from '#core/tasks/contract'
import type { Clock, Events } from '#kernel'
import { agentAttributes, callAttributes, modelOf, nameOf } from './attributes.ts'
import type { Sdk } from './sdk.ts'

/** An agent's cycle or a task: the parent of its model and tool calls. The first call begins its span. */
interface WorkSpan {
  agent_id: string
  name: string
  began: number
  attributes: Attributes
  parent: Context
  span?: Span
  events: [name: string, attributes: Attributes, at: number][]
}

/** Results of cycles that have no span, because nothing happened. */
const QUIET: readonly string[] = ['idle', 'parked', 'guarded']
/** Maximum number of remembered tasks, running or waiting; the oldest is dropped. */
const MOST_TASKS = 1_000

/** Spans of the work in this process, nested by cycle or task. */
export class Spans {
  readonly #sdk: Sdk
  readonly #clock: Clock
  readonly #cycles = new Map<string, WorkSpan>()
  readonly #tasks = new Map<string, WorkSpan>()

  constructor(sdk: Sdk, clock: Clock) {
    this.#sdk = sdk
    this.#clock = clock
  }

  cycleBegan({ agent_id, cycle_num }: Events['cycle_start']): void {
    this.#cycles.set(agent_id, this.#work(agent_id, { 'svc.cycle.num': cycle_num }))
  }

  phaseEnded({ agent_id, phase, duration_ms, outcome }: Events['phase_exit']): void {
    const attributes = { 'svc.phase': phase, 'svc.phase.duration_ms': duration_ms, 'svc.phase.outcome': outcome }
    this.#cycles.get(agent_id)?.events.push(['svc.phase', attributes, this.#clock.ms()])
  }

  /** @returns the cycle's duration in milliseconds; undefined if its beginning was missed */
  cycleEnded({ agent_id, result }: Events['cycle_end']): number | undefined {
    const work = this.#cycles.get(agent_id)
    if (!work) return undefined
    this.#cycles.delete(agent_id)
    const failed = result === 'error' || result === 'timeout'
    if (work.span || !QUIET.includes(result))
      this.#end(work, { 'svc.cycle.result': result }, failed ? result : undefined)
    return this.#clock.ms() - work.began
  }

  taskBegan({ agent_id, task_id, session_id, traceparent }: Events['task_started']): void {
    const attributes = { 'svc.task.id': task_id, 'gen_ai.conversation.id': session_id }
    this.#remember(task_id, this.#work(agent_id, attributes, traceparent))
  }

  taskEnded({ task_id, status }: Events['task_ended']): void {
    const work = this.#tasks.get(task_id)
    if (!work) return
    this.#tasks.delete(task_id)
    this.#end(work, { 'svc.task.status': status }, status === 'failed' ? 'task_failed' : undefined)
    // After the decision or answer that a task waits for, its work is a new span of the same trace.
    if (isWaiting(status)) {
      const { agent_id, attributes, parent } = work
      const began = this.#work(agent_id, attributes)
      this.#remember(task_id, { ...began, parent, began: Number.NaN })
    }
  }

  /**
   * Begins the span of a model call.
   * @returns the span, which the caller ends
   */
  call(observed: ObservedCall): Span | undefined {
    const { agent_id, task_id } = observed.call.purpose
    const work = task_id === undefined ? this.#cycles.get(agent_id ?? '') : this.#task(task_id, agent_id ?? '')
    const { model } = modelOf(observed.model)
    const options = {
      kind: this.#sdk.api.SpanKind.CLIENT,
      startTime: this.#clock.ms(),
      attributes: { ...callAttributes(observed), ...conversation(work, observed.call.purpose.goal_id) },
    }
    return this.#sdk.tracer?.startSpan(`chat ${model}`, options, this.#within(work))
  }

  /** Records the span of a tool call that has ended. */
  tool({ agent_id, goal_id, tool, ok, call_id, duration_ms }: Events['tool_result'], content: Attributes): void {
    const [task_id = ''] = call_id.split(':')
    const work = goal_id === null ? this.#task(task_id, agent_id) : this.#cycles.get(agent_id)
    const now = this.#clock.ms()
    const span = this.#sdk.tracer?.startSpan(
      `execute_tool ${tool}`,
      {
        startTime: now - duration_ms,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'gen_ai.tool.type': 'function',
          'gen_ai.tool.call.id': call_id,
          ...agentAttributes(agent_id),
          ...conversation(work, goal_id),
          ...content,
        },
      },
      this.#within(work),
    )
    if (span && !ok) this.fail(span, 'tool_error')
    span?.end(now)
  }

  fail(span: Span, type: string, message?: string): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: this.#sdk.api.SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) })
  }

  /** Ends all open spans when the process ends. */
  close(): void {
    for (const work of [...this.#cycles.values(), ...this.#tasks.values()])
      if (work.span) this.#end(work, {}, 'stopped')
    this.#cycles.clear()
    this.#tasks.clear()
  }

  /** Returns the work of a task. If it began in another process, or before telemetry started, it begins now. */
  #task(task_id: string, agent_id: string): WorkSpan {
    const known = this.#tasks.get(task_id)
    if (known) return known
    const work = this.#work(agent_id, { 'svc.task.id': task_id })
    this.#remember(task_id, work)
    return work
  }

  #remember(task_id: string, work: WorkSpan): void {
    this.#tasks.set(task_id, work)
    const [oldest] = this.#tasks.keys()
    if (this.#tasks.size > MOST_TASKS && oldest !== undefined) this.#tasks.delete(oldest)
  }

  #work(agent_id: string, attributes: Attributes, traceparent?: string): WorkSpan {
    const { trace, ROOT_CONTEXT } = this.#sdk.api
    const remote = traceparent === undefined ? undefined : contextOf(traceparent)
    const parent = remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
    return { agent_id, name: nameOf(agent_id), began: this.#clock.ms(), attributes, parent, events: [] }
  }

  #within(work: WorkSpan | undefined): Context {
    const { trace, ROOT_CONTEXT } = this.#sdk.api
    const span = work && this.#spanOf(work)
    return span ? trace.setSpan(work.parent, span) : ROOT_CONTEXT
  }

  #spanOf(work: WorkSpan): Span | undefined {
    const startTime = Number.isNaN(work.began) ? this.#clock.ms() : work.began
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      ...agentAttributes(work.agent_id),
      ...work.attributes,
    }
    const span =
      work.span ?? this.#sdk.tracer?.startSpan(`invoke_agent ${work.name}`, { startTime, attributes }, work.parent)
    if (span) work.span = span
    return span
  }

  #end(work: WorkSpan, attributes: Attributes, error: string | undefined): void {
    const span = this.#spanOf(work)
    if (!span) return
    span.setAttributes(attributes)
    for (const event of work.events) span.addEvent(...event)
    if (error !== undefined) this.fail(span, error)
    span.end(this.#clock.ms())
  }
}

/** Returns the id that links spans of several cycles: a goal, or a session. */
function conversation(work: WorkSpan | undefined, goal_id: string | null): Attributes {
  const id = goal_id ?? work?.attributes['gen_ai.conversation.id']
  return id === undefined ? {} : { 'gen_ai.conversation.id': id }
}

const EMPTY = /^0+$/

/** Parses a header of https://www.w3.org/TR/trace-context/#traceparent-header */
function contextOf(traceparent: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? []
  if (traceId === '' || EMPTY.test(traceId) || EMPTY.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}
