import { ContextUse } from '#core/models/contract'
import { type PluginHandle, z } from '#kernel'
import { shareCalls } from '#lib/share-calls'
import { getValue, Store, setValue } from '#platform/store/contract'
import type { Metric, Sample } from './contract.ts'
import { EVENT_TOTALS, eventsAfter } from './repository.ts'

/** Number of events read at once: few enough to process within milliseconds. */
const BATCH = 1_000
/** Event types whose data is read. */
const OPENED = ['model_called', 'tool_result', 'context_refused'] as const

const Called = z.object({
  model: z.string(),
  failed: z.boolean(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: z.number(),
  context: ContextUse.optional().catch(undefined),
})
const Refused = z.object({ model: z.string() })
const Used = z.object({ tool: z.string(), ok: z.boolean() })

const Saved = z.object({ seq: z.int(), totals: z.array(z.tuple([z.string(), z.string(), z.number()])) })

/**
 * Adds up the data of events, from the last one that was counted. The totals are saved in the store, because events are
 * removed after some time.
 */
export class EventTotals {
  readonly #store: () => Store
  readonly #rest: () => Promise<void>
  #seq: number | undefined
  #saved = 0
  /** Totals by metric, then by labels as JSON. */
  readonly #totals = new Map<string, Map<string, number>>()
  /** Counts new events. */
  readonly catchUp = shareCalls(() => this.#catchUp())

  constructor(svc: PluginHandle) {
    this.#store = () => svc.use(Store)
    this.#rest = () => svc.clock.yield()
  }

  /** Returns all totals of one metric. */
  async of(metric: string): Promise<Sample[]> {
    await this.catchUp()
    const totals = this.#totals.get(metric) ?? []
    return [...totals].map(([labels, value]) => ({ labels: JSON.parse(labels) as Record<string, string>, value }))
  }

  /**
   * Saves the totals if they have changed.
   * @returns the seq of the last event in them
   */
  async save(): Promise<number> {
    await this.catchUp()
    const seq = this.#seq ?? 0
    if (seq === this.#saved) return seq
    const totals = [...this.#totals].flatMap(([name, sums]) =>
      [...sums].map(([labels, value]) => [name, labels, value] as const),
    )
    await this.#store().apply([setValue({ ...EVENT_TOTALS, value: { seq, totals } })])
    this.#saved = seq
    return seq
  }

  async #catchUp(): Promise<void> {
    this.#seq ??= await this.#load()
    for (;;) {
      const rows = await eventsAfter(this.#store(), this.#seq, OPENED, BATCH)
      for (const { seq, type, data } of rows) {
        this.#count(type, data === null ? undefined : JSON.parse(data))
        this.#seq = seq
      }
      if (rows.length < BATCH) return
      await this.#rest()
    }
  }

  async #load(): Promise<number> {
    const saved = Saved.safeParse(await getValue(this.#store(), EVENT_TOTALS)).data
    for (const [name, labels, value] of saved?.totals ?? []) this.#sums(name).set(labels, value)
    this.#saved = saved?.seq ?? 0
    return this.#saved
  }

  #count(type: string, data: unknown): void {
    this.#add('svc_events_total', { type }, 1)
    const called = type === 'model_called' ? Called.safeParse(data).data : undefined
    if (called) {
      const { model } = called
      this.#add('svc_model_calls_total', { model, outcome: called.failed ? 'failed' : 'answered' }, 1)
      this.#add('svc_model_tokens_total', { model, direction: 'input' }, called.input_tokens)
      this.#add('svc_model_tokens_total', { model, direction: 'output' }, called.output_tokens)
      // Whole micro-dollars: a sum of decimal fractions drifts.
      this.#add('svc_model_cost_usd_total', { model }, Math.round(called.cost_usd * 1e6))
      if (called.context) this.#countContext(model, called.context)
    }
    const refused = type === 'context_refused' ? Refused.safeParse(data).data : undefined
    if (refused) this.#add('svc_context_refusals_total', refused, 1)
    const used = type === 'tool_result' ? Used.safeParse(data).data : undefined
    if (used) {
      const { tool } = used
      this.#add('svc_tool_calls_total', { tool }, 1)
      this.#add('svc_tool_failures_total', { tool }, used.ok ? 0 : 1)
    }
  }

  #countContext(model: string, { room_made: how, ...context }: ContextUse): void {
    for (const section of ['system', 'tools', 'messages', 'answer'] as const)
      this.#add('svc_context_tokens_total', { model, section }, context[section])
    this.#add('svc_context_window_tokens_total', { model }, context.window)
    if (how) this.#add('svc_context_compactions_total', { model, how }, 1)
  }

  #add(metric: string, labels: Record<string, string>, more: number): void {
    const sums = this.#sums(metric)
    const key = JSON.stringify(labels)
    sums.set(key, (sums.get(key) ?? 0) + more)
  }

  #sums(metric: string): Map<string, number> {
    const sums = this.#totals.get(metric) ?? new Map<string, number>()
    this.#totals.set(metric, sums)
    return sums
  }
}

/** Returns metrics of model calls, tool calls and all other events since the beginning of the project. */
export function totalMetrics(totals: EventTotals): Metric[] {
  const total = (name: string, help: string, unit = 1): Metric => ({
    name,
    help,
    type: 'counter',
    collect: async () =>
      (await totals.of(name)).map(({ labels, value }) => ({
        ...(labels ? { labels } : {}),
        value: Number(value) / unit,
      })),
  })
  return [
    total('svc_model_calls_total', 'Model calls that were answered, or failed after all retries.'),
    total('svc_model_tokens_total', 'Input and output tokens of model calls.'),
    total('svc_model_cost_usd_total', 'Cost of model calls, in dollars.', 1e6),
    total('svc_tool_calls_total', 'Finished tool calls.'),
    total('svc_tool_failures_total', 'Tool calls that ended with an error.'),
    total('svc_context_tokens_total', 'Estimated tokens of model requests, by section.'),
    total(
      'svc_context_window_tokens_total',
      'Sum of the context windows of the requests in svc_context_tokens_total, in tokens.',
    ),
    total('svc_context_compactions_total', 'Context compactions, by method.'),
    total('svc_context_refusals_total', 'Requests that a provider refused because they were too large.'),
    total('svc_events_total', 'Events, by type.'),
  ]
}
