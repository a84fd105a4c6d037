import type { PluginHandle } from '#kernel'
import { toolTokens } from '#lib/output-limit'
import { appendEvent, Store } from '#platform/store/contract'
import type { Abilities } from '../call/abilities.ts'
import type { Target } from '../catalogue/names.ts'
import type { ModelConfig } from '../config.ts'
import {
  type CallPurpose,
  type ContextReport,
  isUnknownRefusal,
  type MeasuredCall,
  type Message,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelFacts,
  type ModelProblem,
  type ToolSpec,
} from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { REASONING } from '../providers/refusals.ts'
import type { Shortening, SummaryDue } from './contract.ts'
import { dropProviderData, returnable, rulesFor, wellFormed } from './conversation.ts'
import { type ContextLimits, type FitSettings, type FittedRequest, fitRequest } from './fit.ts'
import { toolsTokens } from './tokens.ts'
import { hasImages, nameImages, selectImages } from './vision.ts'
import { ContextWindows, largerWindow, smallerWindow } from './windows.ts'

export interface ContextParts {
  config: FitSettings & Pick<ModelConfig, 'summary_model'>
  sees: Abilities['canSee']
  learned: LearnedModels
}

/**
 * Maximum number of refusals for size: after the first, the request is sent with more free space, and after the second,
 * as small as possible.
 */
const MAX_REFUSALS = 2
const SENT_PLAIN = 'The request is sent once more, smaller and without images and provider data.'
const SENT_WITHOUT_REASONING = 'The request is sent again without earlier reasoning.'
/** Minimum number of messages that are worth a summary; for fewer, a digest is used. */
const LEAST_SUMMARIZED = 6
/**
 * Maximum shares of the input for a summary, and for the user messages kept beside it; then the maximum tokens of a
 * summary.
 */
const SUMMARY_SHARE = 0.12
const ORDERS_SHARE = 0.2
const LONGEST_SUMMARY = 4_000
/** Maximum share of the summarizing model's window for the conversation to summarize. */
const SOURCE_SHARE = 0.45

/** Sends each request in a form and a size that its model accepts. */
export class ContextEngine {
  readonly #svc: PluginHandle
  readonly #parts: ContextParts
  readonly #windows: ContextWindows
  /** System prompts that were cut in their last request, by agent and kind of call. */
  readonly #cutPrompts = new Map<string, ModelProblem>()

  constructor(svc: PluginHandle, parts: ContextParts) {
    this.#svc = svc
    this.#parts = parts
    this.#windows = new ContextWindows(svc.clock, parts.learned)
  }

  /**
   * Sends as much of the conversation as fits the model. A refusal for size teaches the window; the request is made
   * smaller and sent again. After a refusal of reasoning it is sent again without.
   * @throws ModelError of the kind `context_overflow` when even the smallest request is refused; what `ask` throws
   */
  async call(target: Target, call: ModelCall, ask: (sent: ModelCall) => Promise<ModelAnswer>): Promise<ModelAnswer> {
    const { purpose } = call
    const rules = rulesFor(target)
    let conversation = returnable(call.messages, target, rules)
    const facts = target.facts
    /** A request refused for an unknown reason; it is sent once more, plain and about half as large. */
    let refused:
      | { error: ModelError; fitted: FittedRequest; messages: readonly Message[]; tools: number; repeated: boolean }
      | undefined
    for (let refusals = 0; ; refusals++) {
      const known = await this.#windows.limits(target, facts, purpose)
      const limits = refused ? { ...known, window: Math.min(known.window, smallerWindow(refused.fitted)) } : known
      const tools = toolsFor(call, limits)
      const shown = refused ? plain(conversation) : await this.#visibleMessages(target, facts, conversation)
      const fitted = fitRequest(
        { ...call, tools, messages: shown },
        { ...limits, smallest: refusals === MAX_REFUSALS },
        this.#parts.config,
      )
      const shortened = this.#windows.findNewShortening(target, purpose, fitted)
      await this.#notePrompt(target, purpose, fitted)
      if (shortened && this.#windows.isNotable(target, purpose, shortened))
        await this.#reportCompaction(target, purpose, fitted, shortened)
      const { window, sections } = fitted
      const context = { ...sections, window, ratio: limits.ratio, ...(shortened ? { room_made: shortened } : {}) }
      const messages = wellFormed(fitted.messages, rules)
      if (refused && isSame(messages, refused.messages) && tools.length === refused.tools) throw refused.error
      if (refused && !refused.repeated) {
        refused.repeated = true
        this.#log(purpose, 'model_refused', `${refused.error.message} ${SENT_PLAIN}`)
      }
      try {
        const { max_tokens, parameters } = fitted
        const answer = await ask({ ...call, tools, messages, max_tokens, context, parameters })
        const cut_at = await this.#windows.calibrate(target, purpose, fitted, answer.spend)
        if (cut_at !== undefined) await this.#noteCutByServer(target, purpose, fitted, cut_at)
        // Only the size changed, so the first request was refused for its size.
        if (refused && isSame(conversation, plain(conversation)))
          await this.#windows.learn(target, null, refused.fitted)
        return answer
      } catch (error) {
        if (error instanceof ModelError && error.parameter === REASONING && dropProviderData(conversation)) {
          this.#log(purpose, 'model_refused', `${error.message} ${SENT_WITHOUT_REASONING}`)
          conversation = returnable(call.messages, target, rules)
          continue
        }
        // A refused summary is replaced by a digest instead.
        if (isUnknownRefusal(error) && !refused && purpose.kind !== 'summary') {
          refused = { error, fitted, messages, tools: tools.length, repeated: false }
          continue
        }
        if (!(error instanceof ModelError) || error.kind !== 'context_overflow') throw error
        await this.#windows.learn(target, error.context_window, fitted)
        await this.#reportRefusal(target, purpose, fitted, error, refusals === MAX_REFUSALS)
        if (refusals === MAX_REFUSALS) throw withRemedy(error, target)
      }
    }
  }

  /** Returns why the context window of a model is too small, and what to do; null if it is not. */
  async findWindowProblem(target: Target): Promise<ModelProblem | null> {
    return this.#windows.findProblem(target, target.facts)
  }

  /** Returns why system prompts are cut, and what to do: of one agent, or of all. */
  promptProblems(agent_id?: string): ModelProblem[] {
    return [...this.#cutPrompts].flatMap(([key, problem]) =>
      agent_id === undefined || key.startsWith(`${agent_id} `) ? [problem] : [],
    )
  }

  /** Forgets the system prompts of an agent. */
  forgetPrompts(agent_id: string): void {
    for (const key of this.#cutPrompts.keys()) if (key.startsWith(`${agent_id} `)) this.#cutPrompts.delete(key)
  }

  /** Measures a call without making it. */
  async measure(target: Target, call: MeasuredCall): Promise<ContextReport> {
    const { fitted, limits } = await this.#fit(target, call)
    const { sections, window, cleared, summarized, digested, cut } = fitted
    const { ratio } = limits
    const left_out = { cleared, summarized, digested, cut }
    return { model: target.id, window, sections, total: tokensOf(fitted), ratio, ...left_out }
  }

  /**
   * Returns the limits of a summary that should replace a digest of the oldest turns; null where none is needed.
   * @param keeps as in `Summaries.findDue`
   */
  async summaryDue(
    { target, writer }: { target: Target; writer: Target },
    call: MeasuredCall,
    keeps?: number,
  ): Promise<SummaryDue | null> {
    const { fitted } = await this.#fit(target, call)
    const { whole, input, digested } = fitted
    if (keeps === undefined && digested < LEAST_SUMMARIZED) return null
    const { window, ratio } = await this.#windows.limits(writer, writer.facts, {
      ...call.purpose,
      kind: 'summary',
    })
    return {
      model: this.#parts.config.summary_model || null,
      keeps: turnsWithin(call.messages, Math.min(keeps ?? whole, whole)),
      limit: Math.min(Math.floor(input * SUMMARY_SHARE), LONGEST_SUMMARY),
      orders_limit: Math.floor(input * ORDERS_SHARE),
      source_limit: Math.floor((window / ratio) * SOURCE_SHARE),
    }
  }

  async #fit(target: Target, call: MeasuredCall) {
    const facts = target.facts
    const limits = await this.#windows.limits(target, facts, call.purpose)
    const tools = toolsFor(call, limits)
    const messages = await this.#visibleMessages(target, facts, returnable(call.messages, target, rulesFor(target)))
    return { limits, fitted: fitRequest({ ...call, messages, tools }, limits, this.#parts.config) }
  }

  async #visibleMessages(target: Target, facts: ModelFacts, messages: ModelCall['messages']) {
    if (!hasImages(messages)) return messages
    return selectImages(target.id, await this.#parts.sees(target, facts), messages)
  }

  async #notePrompt(
    target: Target,
    { agent_id, kind }: CallPurpose,
    { whole_system, sections: { system }, window }: FittedRequest,
  ): Promise<void> {
    if (agent_id === null) return
    const key = `${agent_id} ${kind}`
    if (whole_system <= system) return void this.#cutPrompts.delete(key)
    this.#cutPrompts.set(key, {
      problem: `the system prompt of ${agent_id} has about ${whole_system} tokens and was cut to ${system}, because the context window of ${target.id} has ${window}`,
      remedy: `shorten its profile or skills, or ${await this.#windows.remedyFor(target, window)}`,
    })
  }

  #reportCompaction(target: Target, purpose: CallPurpose, fitted: FittedRequest, how: Shortening): Promise<void> {
    const { window, summary_model, cleared, summarized, digested, cut } = fitted
    const left_out = { cleared, summarized, digested, cut }
    const data = { model: target.id, window, tokens: tokensOf(fitted), how, summary_model, ...left_out }
    const what = `${cleared} old results cleared, ${summarized} messages summarized, ${digested} digested, ${cut} cut`
    this.#log(purpose, 'context_compacted', `The conversation was shortened for ${target.id}: ${what}.`)
    return this.#append(purpose, 'context_compacted', data)
  }

  #reportRefusal(target: Target, purpose: CallPurpose, fitted: FittedRequest, error: ModelError, given_up: boolean) {
    const data = { model: target.id, window: fitted.window, tokens: tokensOf(fitted), reason: error.problem, given_up }
    const next = given_up ? 'Nothing more can be left out.' : 'The conversation is shortened and sent again.'
    this.#log(purpose, 'context_refused', `${error.message} ${next}`)
    return this.#append(purpose, 'context_refused', data)
  }

  /** Takes the count at which a server cuts requests as the window, so that what matters stays in them. */
  async #noteCutByServer(target: Target, purpose: CallPurpose, fitted: FittedRequest, cut_at: number): Promise<void> {
    await this.#windows.learn(target, cut_at, fitted)
    const { system, tools, messages } = fitted.sections
    const read = `The server of ${target.id} read at most ${cut_at} of about ${system + tools + messages} tokens`
    const why = 'it cuts requests to its context window and reports no error'
    this.#log(purpose, 'context_cut', `${read}: ${why}; ${largerWindow(target.provider)}`)
  }

  #log({ agent_id, goal_id, cycle_num }: CallPurpose, code: string, message: string): void {
    this.#svc.log.warn({ agent_id, goal_id, cycle_num, code }, message)
  }

  /** Records the event. A failed write does not stop the call. */
  async #append<T extends 'context_compacted' | 'context_refused'>(
    { agent_id, goal_id, cycle_num }: CallPurpose,
    type: T,
    facts: object,
  ): Promise<void> {
    const data = { agent_id, goal_id, ...facts } as never
    if (!this.#svc.has(Store)) return void (await this.#svc.emit(type, data))
    await this.#svc
      .use(Store)
      .apply([appendEvent({ type, agent_id, cycle_num, data })])
      .catch(error => this.#svc.log.error({ agent_id, error }, `cannot record the event ${type}`))
  }
}

/** Returns the error of a request that cannot be made smaller, with what to do. */
function withRemedy(error: ModelError, { id, provider }: Target): ModelError {
  const problem = `${error.problem}; ${largerWindow(provider)}`
  const { kind, transient, billed, http_status, context_window, spend, text } = error
  return new ModelError(
    { model: id, problem },
    { cause: error, kind, transient, billed, http_status, context_window, spend, text },
  )
}

/** Returns a conversation without images and without `provider_data`. */
function plain(messages: readonly Message[]): readonly Message[] {
  return nameImages(messages).map(({ provider_data: _, ...message }) => message)
}

function isSame(one: readonly Message[], other: readonly Message[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function toolsFor({ tools, toolsWithin }: MeasuredCall, limits: ContextLimits): readonly ToolSpec[] {
  const most = toolTokens(limits)
  return toolsWithin && toolsTokens(tools) > most ? toolsWithin(most) : tools
}

/**
 * Returns how many of the newest messages to take, at most `most`, so that they do not begin with results without their
 * call.
 */
function turnsWithin(messages: readonly Message[], most: number): number {
  let from = messages.length - most
  while (messages[from]?.role === 'tool') from++
  return messages.length - from
}

/** Returns the estimated tokens of a request, including those reserved for the answer. */
function tokensOf({ sections: { system, tools, messages, answer } }: FittedRequest): number {
  return system + tools + messages + answer
}
