import { type ModelAnswer, type ModelCall, Models, type Summary, type SummaryDue } from '#core/models/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { FencedError } from '#platform/heartbeat/contract'
import type { SummaryWanted } from './contract.ts'

/** Minimum number of messages for a summary; shorter conversations fit into any context window. */
const LEAST_MESSAGES = 8
/** Pauses after consecutive failures, in milliseconds, so that a failing provider is not called in each step. */
const PAUSES_MS = [60_000, 300_000, 900_000]
/** Maximum number of conversations with stored failures. The one that failed longest ago is dropped first. */
const MAX_PAUSED = 1_000

/** Has a model summarize conversations whose oldest turns would otherwise be replaced by a digest. */
export class SummaryWriter {
  readonly #svc: PluginHandle
  /** Conversations of which a summary is being written. */
  readonly #writing = new Set<string>()
  /** Consecutive failures, by conversation. */
  readonly #pauses = new Map<string, { times: number; until: number }>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /** Implements `Runtime.summarize`. */
  async summarize(call: ModelCall, wanted: SummaryWanted): Promise<Summary | undefined> {
    if (call.messages.length < LEAST_MESSAGES) return undefined
    const due = await recordInput('summary due', () => this.#due(call, wanted))
    if (!due) return undefined
    try {
      return await this.#write(call, wanted, due)
    } finally {
      this.#writing.delete(wanted.conversation)
    }
  }

  async #write(call: ModelCall, wanted: SummaryWanted, due: SummaryDue): Promise<Summary | undefined> {
    const { messages, signal } = call
    const { summaries } = this.#svc.use(Models)
    if (!summaries) return undefined
    let answer: ModelAnswer
    let summary: Summary | undefined
    try {
      answer = await this.#ask(call, due, summaries.request(messages, due, wanted.remembers ?? false))
      summary = summaries.read(answer, messages, due)
    } catch (error) {
      if (signal.aborted || error instanceof FencedError) throw error
      this.#recordFailure(call, wanted, errorMessage(error))
      return undefined
    }
    await wanted.save(answer.spend, summary?.message)
    if (summary) this.#pauses.delete(wanted.conversation)
    else this.#recordFailure(call, wanted, 'The answer does not have the sections of a summary.')
    return summary
  }

  /** Returns the limits of the summary that is due, and marks it as being written; null if none is to be written now. */
  async #due(call: ModelCall, { conversation, keeps }: SummaryWanted): Promise<SummaryDue | null> {
    const { until = Number.NEGATIVE_INFINITY } = this.#pauses.get(conversation) ?? {}
    if (this.#writing.has(conversation) || this.#svc.clock.monotonic() < until) return null
    this.#writing.add(conversation)
    let due: SummaryDue | null = null
    try {
      due = (await this.#svc.use(Models).summaries?.findDue(call, keeps)) ?? null
    } finally {
      if (!due) this.#writing.delete(conversation)
    }
    return due
  }

  #ask(call: ModelCall, due: SummaryDue, messages: ModelCall['messages']): Promise<ModelAnswer> {
    const { model, fallback = [], parameters, purpose, max_tokens, signal } = call
    return this.#svc.use(Models).call({
      // The profile's parameters are meant for its own model only.
      ...(due.model ? { model: due.model } : { model, fallback, ...(parameters ? { parameters } : {}) }),
      messages,
      tools: [],
      temperature: 0,
      max_tokens,
      purpose: { ...purpose, kind: 'summary' },
      signal,
    })
  }

  #recordFailure({ purpose }: ModelCall, { conversation }: SummaryWanted, reason: string): void {
    const times = (this.#pauses.get(conversation)?.times ?? 0) + 1
    const pause = PAUSES_MS[Math.min(times, PAUSES_MS.length) - 1]!
    this.#pauses.delete(conversation)
    this.#pauses.set(conversation, { times, until: this.#svc.clock.monotonic() + pause })
    if (this.#pauses.size > MAX_PAUSED) this.#pauses.delete(this.#pauses.keys().next().value!)
    const { agent_id, goal_id, task_id, cycle_num } = purpose
    this.#svc.log.warn(
      { agent_id, goal_id, ...(task_id ? { task_id } : {}), cycle_num, code: 'summary_failed' },
      `No summary was written: ${reason} A digest is used instead; the next attempt is in ${pause / 1000} s at the earliest.`,
    )
  }
}
