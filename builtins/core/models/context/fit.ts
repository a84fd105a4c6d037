import type { SentMessage as Message, ModelCall } from '../contract.ts'
import type { ModelParameters } from '../parameters/contract.ts'
import { boundedSystem, boundMessage, cutMessages } from './bounds.ts'
import type { ContextSections, SummaryMark } from './contract.ts'
import { digestOf } from './digest.ts'
import { clearedCalls, clearedImages, clearedPictures, clearedResult, keptCalls, shortenTo } from './shorten.ts'
import { summaryText } from './summary.ts'
import { messagesTokens, messageTokens, toolsTokens } from './tokens.ts'

/** Settings for fitting a conversation, as shares of the window from 0 to 1. */
export interface FitSettings {
  /** Maximum tokens of a conversation, however large the window. */
  context_limit: number
  /** Share of the window above which a conversation is shortened. */
  context_full: number
  /** Share of the window to which it is shortened. */
  context_target: number
}

/** Limits of a request, in tokens. */
export interface ContextLimits {
  /** Tokens of input and output together. */
  window: number
  /** Maximum tokens of one answer; null where unknown. */
  max_output_tokens: number | null
  /** Tokens that the provider counted for each token of our estimate. */
  ratio: number
  /** When the model thinks: unless asked not to, or only if an effort is set. */
  thinks?: 'by_default' | 'if_asked' | undefined
  /** Whether to keep only what is essential; tried after refusals. */
  smallest?: boolean
}

/** The fields of a call that fitting needs. */
export type FittableCall = Pick<ModelCall, 'messages' | 'system_parts' | 'tools' | 'max_tokens' | 'parameters'>

/** A request that fits, and the amounts that were left out. */
export interface FittedRequest {
  messages: readonly Message[]
  /** Tokens reserved for the answer, including its thinking. */
  max_tokens: number
  /** Those of the call; the tokens for thinking that they set are lowered to those that fit. */
  parameters: ModelParameters
  window: number
  /** Tokens left for the input, as estimated. */
  input: number
  sections: ContextSections
  /** Tokens of the system prompt before its middle was cut out; as in `sections` if it was not. */
  whole_system: number
  /** Number of tool results and arguments replaced by one line. */
  cleared: number
  /** Number of messages replaced by a summary, and the model that wrote it. */
  summarized: number
  summary_model: string | null
  /** Number of messages replaced by a digest. */
  digested: number
  /** Number of newest messages that neither replaces. */
  whole: number
  /** Number of messages with their middle cut out. */
  cut: number
}

/** Maximum shares of the window for the answer and for the system prompt. */
const ANSWER_SHARE = 0.25
const SYSTEM_SHARE = 0.375
/**
 * Maximum share for the answer of what the system prompt and tools leave, unless the answer is small; the rest is for
 * the conversation.
 */
const ANSWER_OF_REST = 1 / 3
const SMALL_ANSWER = 1 / 16
/** Maximum share of the conversation's space for the first message, which is the goal. */
const GOAL_SHARE = 0.8
/** Maximum share of the input for any other message. */
const MESSAGE_SHARE = 0.3
/** Maximum share of the input for a summary and the user messages kept beside it. */
const RECORD_SHARE = 0.4
/** Minimum share for the newest turns, which are never cleared. */
const NEWEST_SHARE = 0.15
/** Maximum share for the digest, including the user's own words; half of it beside a summary. */
const DIGEST_SHARE = 0.2
/**
 * Sizes of system prompt and tools are rounded up to multiples of this share, so that small changes do not move the
 * cut.
 */
const STEP_SHARE = 1 / 32
/** Stands in a digest for the person's newest message, which follows it. */
const BELOW = '(the message that follows this record)'
const SMALLEST = { context_full: 0.3, context_target: 0.2 }

/**
 * Makes a request fit its model's context window, the cheapest way first: images of old tool results become one line,
 * then old results, then long arguments and the user's images; then a digest replaces the oldest turns. A summary in
 * the conversation replaces the messages that it covers. The goal (the first message), unanswered calls and the newest
 * turn stay; so does the person's newest message in a conversation that a notice opens. Each step is decided only from
 * the messages up to it, so the beginning of a request stays the same between calls until space is freed again, which
 * keeps the provider's prompt cache.
 */
export function fitRequest(
  { messages, system_parts, tools, max_tokens, parameters = {} }: FittableCall,
  { window: stated, max_output_tokens, ratio, thinks, smallest = false }: ContextLimits,
  settings: FitSettings,
): FittedRequest {
  const window = Math.floor(stated / ratio)
  const head = messages.findIndex(({ role }) => role !== 'system')
  const start = head < 0 ? messages.length : head
  const conversation = messages.slice(start)
  const tally = { cut: 0 }
  const system = boundedSystem(messages.slice(0, start), system_parts, window * SYSTEM_SHARE, tally)
  const [systemTokens, toolTokens] = [messagesTokens(system), toolsTokens(tools)]
  const step = window * STEP_SHARE
  const fixed = Math.ceil((systemTokens + toolTokens) / step) * step
  const rest = Math.max((window - fixed) * ANSWER_OF_REST, window * SMALL_ANSWER)
  const most = Math.floor(Math.min(window * ANSWER_SHARE, rest))
  const output = max_output_tokens ?? Number.POSITIVE_INFINITY
  const text = Math.min(max_tokens, output, most)
  // Thinking is added to the answer, at most as many tokens again.
  const thinking = Math.min(thinkingTokens(parameters, max_tokens, thinks), output - text, most)
  const answer = text + thinking
  const input = window - answer
  const space = Math.max(input - fixed, input * MESSAGE_SHARE)
  const { context_full, context_target } = smallest ? SMALLEST : settings
  // A goal that is large itself, of at most 1.5 tokens for each UTF-16 unit, leaves as much again for the work on it.
  const limit = Math.max(settings.context_limit / ratio, 3 * (conversation[0]?.content.length ?? 0))
  const longest = Math.min(space, limit)
  const fitted = fittingOf(conversation, {
    full: longest * context_full,
    target: longest * context_target,
    input: limit < space ? limit : input,
  })
  fitted.replay(conversation)
  const fittedMessages = fitted.shownMessages()
  return {
    messages: [...system, ...fittedMessages],
    max_tokens: answer,
    parameters: parameters.thinking_tokens ? { ...parameters, thinking_tokens: thinking || undefined } : parameters,
    window: stated,
    input,
    sections: { system: systemTokens, tools: toolTokens, messages: fitted.tokens, answer },
    whole_system: tally.cut > 0 ? messagesTokens(messages.slice(0, start)) : systemTokens,
    cleared: fitted.cleared,
    summarized: fitted.summarized,
    summary_model: fitted.summary_model,
    digested: fitted.digested,
    whole: fitted.fullLength,
    cut: fitted.cut + tally.cut,
  }
}

/** Tokens for thinking by default, as a multiple of those for the answer. */
const DEFAULT_THINKING = 2

/**
 * Returns the number of tokens that a model may spend on thinking, in addition to its answer. Providers count both
 * together, so a model that thinks needs some, or its answer is cut:
 * https://platform.openai.com/docs/guides/reasoning, https://platform.claude.com/docs/en/build-with-claude/thinking
 * @param max_tokens of the answer
 */
function thinkingTokens(
  { reasoning_effort: effort, thinking_tokens }: ModelParameters,
  max_tokens: number,
  thinks: ContextLimits['thinks'],
): number {
  if (effort === 'none') return 0
  return thinking_tokens ?? (thinks === 'by_default' || (thinks && effort) ? max_tokens * DEFAULT_THINKING : 0)
}

/** Sizes for fitting a conversation, in tokens. */
interface FittingSizes {
  /** Above `full` a conversation is shortened, down to `target`. */
  full: number
  target: number
  input: number
}

/** Replay state of each conversation, by its first message, so that a step costs only its new messages. */
const replayed = new WeakMap<Message, Fitting>()

/** Returns the replay state that this conversation continues, or a new one. */
function fittingOf(conversation: readonly Message[], sizes: FittingSizes): Fitting {
  const [first] = conversation
  const known = first && replayed.get(first)
  if (known?.leadsTo(conversation, sizes)) return known
  const begun = new Fitting(sizes)
  if (first) replayed.set(first, begun)
  return begun
}

/** Replays a conversation message by message, and shortens it at each point where a request was sent. */
class Fitting {
  cleared = 0
  summarized = 0
  summary_model: string | null = null
  digested = 0
  cut = 0
  readonly #full: number
  readonly #target: number
  readonly #input: number
  /** The replayed messages, unchanged. */
  readonly #original: Message[] = []
  /** Messages that always come first: the goal, the summary, and the person's message that the summary covers. */
  #front: readonly Message[] = []
  /** The newest message of the person, where the conversation is with one: what the model works on. */
  #instruction: Message | undefined
  /** Messages after those that the summary covers, with the middle cut out of long ones. */
  #unsummarized: Message[] = []
  #view: Message[] = []
  /** Index in `#said` at which the view begins, and the messages before it. */
  #from = 0
  #opening: readonly Message[] = []
  /** Index of the first message of the view that may still be cleared. */
  #uncleared = 0
  #tokens = 0
  /** Calls that a summary covers and whose results are needed for further work. */
  readonly #lost = new Set<string>()

  constructor(sizes: FittingSizes) {
    this.#full = sizes.full
    this.#target = sizes.target
    this.#input = sizes.input
  }

  /** Returns whether this conversation continues the replayed one with an answer, with the same sizes. */
  leadsTo(conversation: readonly Message[], { full, target, input }: FittingSizes): boolean {
    const isSameSize = full === this.#full && target === this.#target && input === this.#input
    const next = conversation[this.#original.length]
    if (!isSameSize || (next && next.role !== 'assistant')) return false
    return this.#original.every((message, n) => message === conversation[n])
  }

  /** Replays the messages that are not replayed yet. */
  replay(conversation: readonly Message[]): void {
    for (let n = this.#original.length; n < conversation.length; n++) {
      this.#add(conversation[n]!)
      // A request was sent here: an answer follows, or it is the current request.
      if (n === conversation.length - 1 || conversation[n + 1]!.role === 'assistant') this.#makeRoom()
    }
  }

  #add(original: Message): void {
    const isGoal = this.#original.push(original) === 1
    const message = boundMessage(original, isGoal ? this.#full * GOAL_SHARE : this.#input * MESSAGE_SHARE)
    if (message !== original) this.cut++
    if (message.summary) {
      this.#summarize(message, message.summary)
      return
    }
    if (isGoal) {
      this.#front = this.#opening = [message]
      this.#tokens = messageTokens(message)
      return
    }
    const isAsked = message.role === 'user' && !message.is_notice && !message.is_report
    if (isAsked && this.#original[0]!.is_notice) this.#instruction = message
    this.#unsummarized.push(message)
    this.#view.push(message)
    this.#tokens += messageTokens(message)
  }

  /** Tokens of the shown messages. */
  get tokens(): number {
    return this.#tokens
  }

  shownMessages(): Message[] {
    return [...this.#opening, ...this.#view]
  }

  get fullLength(): number {
    return this.#view.length
  }

  /**
   * Replaces messages by their summary. Results after it are cleared at once as far as they soon would be, so that the
   * beginning of requests changes once.
   */
  #summarize(message: Message, { keeps, model }: SummaryMark): void {
    const from = Math.max(this.#unsummarized.length - keeps, 0)
    this.summarized += from
    this.summary_model = model
    for (const call of keptCalls(this.#unsummarized.slice(0, from))) this.#lost.add(call)
    this.#unsummarized = this.#unsummarized.slice(from)
    const instruction = this.#instruction && !this.#unsummarized.includes(this.#instruction) ? [this.#instruction] : []
    const text = summaryText(message, [...this.#lost], instruction[0]?.content)
    const content = shortenTo(text, this.#input * RECORD_SHARE)
    this.#front = this.#opening = [...this.#front.slice(0, 1), { role: 'user', content }, ...instruction]
    this.#view = [...this.#unsummarized]
    this.#from = this.#uncleared = this.cleared = this.digested = 0
    this.#tokens = messagesTokens(this.shownMessages())
    this.#clear(clearedResult)
  }

  #makeRoom(): void {
    if (this.#tokens <= this.#full) return
    this.#clearAll(clearedImages)
    if (this.#tokens > this.#full) this.#clear(clearedResult)
    // Less space than this would be used up by a few results, so that the model hardly sees two of them together.
    const enough = (this.#full + this.#target) / 2
    if (this.#tokens > enough) this.#clearAll(clearedCalls)
    if (this.#tokens > enough) this.#clearAll(clearedPictures, 1)
    if (this.#tokens > enough) this.#digest()
    if (this.#tokens > this.#full) this.#cutNewest()
  }

  /**
   * Returns the index at which the newest turns begin: the last answer and what follows, plus earlier turns up to their
   * share.
   */
  #newest(): number {
    const last = this.#view.findLastIndex(({ role }) => role === 'assistant')
    let from = last < 0 ? this.#view.length : last
    let tokens = messagesTokens(this.#view.slice(from))
    for (let at = from - 1; at >= 0; at--) {
      tokens += messageTokens(this.#view[at]!)
      if (tokens > this.#full * NEWEST_SHARE) break
      if (this.#view[at]!.role === 'assistant') from = at
    }
    return from
  }

  #clear(shorter: (message: Message, view: readonly Message[]) => Message | undefined): void {
    const until = this.#newest()
    for (; this.#uncleared < until && this.#tokens > this.#target; this.#uncleared++) {
      this.#replace(this.#uncleared, shorter(this.#view[this.#uncleared]!, this.#view))
    }
  }

  #clearAll(shorter: (message: Message, view: readonly Message[]) => Message | undefined, from = 0): void {
    const until = this.#newest()
    for (let at = from; at < until && this.#tokens > this.#target; at++) {
      this.#replace(at, shorter(this.#view[at]!, this.#view))
    }
  }

  #replace(at: number, message: Message | undefined): void {
    if (!message) return
    this.#tokens += messageTokens(message) - messageTokens(this.#view[at]!)
    this.#view[at] = message
    this.cleared++
  }

  /** Replaces the oldest turns by a digest. */
  #digest(): void {
    const until = this.#newest()
    const share = this.#input * DIGEST_SHARE * (this.summary_model === null ? 1 : 0.5)
    let to = 0
    let tokens = messagesTokens(this.#front) + messagesTokens(this.#view)
    while (to < until && tokens > this.#target - share) tokens -= messageTokens(this.#view[to++]!)
    // A call stays with its results.
    while (to < until && this.#view[to]!.role === 'tool') to++
    this.#view = this.#view.slice(to)
    this.#from += to
    this.#uncleared = Math.max(0, this.#uncleared - to)
    this.digested = this.#from
    if (this.#from === 0) return
    const covered = this.#unsummarized.slice(0, this.#from)
    const instruction = covered.filter(each => each === this.#instruction)
    const recorded = covered.map(each => (each === this.#instruction ? { ...each, content: BELOW } : each))
    this.#opening = [...this.#front, { role: 'user', content: digestOf(recorded, share) }, ...instruction]
    this.#tokens = messagesTokens(this.shownMessages())
  }

  /** Last resort: removes the images of the newest turn, and cuts its longest messages. */
  #cutNewest(): void {
    for (const [at, message] of this.#view.entries()) {
      this.#replace(at, clearedImages(message, this.#view) ?? clearedPictures(message))
    }
    if (this.#tokens <= this.#full) return
    this.#view = cutMessages(this.#view, this.#full - messagesTokens(this.#opening), this)
    this.#tokens = messagesTokens(this.shownMessages())
  }
}
