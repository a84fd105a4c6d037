import { textTokens } from '#lib/text-tokens'
import type { SentMessage as Message, ModelCall } from '../contract.ts'
import { thinkingTokens } from '../parameters/contract.ts'
import { boundedSystem, boundMessage } from './bounds.ts'
import type { ContextSections, SummaryMark } from './contract.ts'
import { digestOf } from './digest.ts'
import { clearedCalls, clearedImages, clearedPictures, clearedResult, shorten, shortenTo } from './shorten.ts'
import { summaryText } from './summary.ts'
import { messagesTokens, messageTokens, toolsTokens } from './tokens.ts'

/** Shares of the window, from 0 to 1. */
export interface FitSettings {
  /** A conversation above this share of the window is made smaller. */
  context_full: number
  /** The share of the window down to which it is made smaller. */
  context_target: number
}

/** What a request may take, in tokens. */
export interface ContextLimits {
  /** Tokens of input and output together. */
  window: number
  /** Tokens that one answer may have; null where that is not known. */
  max_output_tokens: number | null
  /** Tokens that the provider counted for each token of our estimate. */
  ratio: number
  /** Only what must survive is kept: what is tried after refusals. */
  smallest?: boolean
}

/** As much of a call as is fitted. */
export type FittableCall = Pick<ModelCall, 'messages' | 'system_parts' | 'tools' | 'max_tokens' | 'parameters'>

/** A request that fits, and what was left out for it. */
export interface FittedRequest {
  messages: readonly Message[]
  /** Tokens of the answer and of the thinking before it. */
  max_tokens: number
  /** The part of `max_tokens` that is for thinking. */
  thinking_tokens: number
  window: number
  /** Tokens that the window leaves for the input, as estimated. */
  input: number
  sections: ContextSections
  /** Tool results and arguments that became one line. */
  cleared: number
  /** Messages that a summary stands for, and who wrote it. */
  summarized: number
  summary_model: string | null
  /** Messages that a digest stands for. */
  digested: number
  /** The newest messages, for which neither does. */
  whole: number
  /** Messages of which the middle was cut out. */
  cut: number
}

/** The answer and the system prompt take at most these shares of the window. */
const ANSWER_SHARE = 0.25
const SYSTEM_SHARE = 0.375
/** Of what the system prompt and tools leave, the answer takes at most this share, but for a small one: the rest is the conversation's. */
const ANSWER_OF_REST = 1 / 3
const SMALL_ANSWER = 1 / 16
/** The first message, which is the goal, takes at most this share of what the conversation may. */
const GOAL_SHARE = 0.8
/** Any other message takes at most this share of the input. */
const MESSAGE_SHARE = 0.3
/** A summary, with the messages of users that are kept beside it, takes at most this share of the input. */
const RECORD_SHARE = 0.4
/** The newest turns that are never cleared take at least this share. */
const NEWEST_SHARE = 0.15
/** The digest of what was dropped, the user's own words in it included; half as much beside a summary. */
const DIGEST_SHARE = 0.2
/** What the system prompt and tools take is rounded up to such shares, so that the cut does not move with each word in them. */
const STEP_SHARE = 1 / 32
const SMALLEST = { context_full: 0.3, context_target: 0.2 }

/**
 * Makes a request fit its model's context window, the cheapest way first: images of old tool results become a line, then old
 * results do, then long arguments and the user's images; then a digest takes the place of the oldest turns. A summary in the
 * conversation takes the place of what it stands for. The goal (the first message), unanswered calls and the newest turn survive.
 * It is decided at each step of the conversation from what was said up to there, so the beginning of a request stays the same from
 * call to call until room is made again: that keeps the provider's prompt cache.
 */
export function fitRequest(
  { messages, system_parts, tools, max_tokens, parameters }: FittableCall,
  { window: stated, max_output_tokens, ratio, smallest = false }: ContextLimits,
  settings: FitSettings,
): FittedRequest {
  const window = Math.floor(stated / ratio)
  const head = messages.findIndex(({ role }) => role !== 'system')
  const start = head < 0 ? messages.length : head
  const said = messages.slice(start)
  const tally = { cut: 0 }
  const system = boundedSystem(messages.slice(0, start), system_parts, window * SYSTEM_SHARE, tally)
  const [systemTokens, toolTokens] = [messagesTokens(system), toolsTokens(tools)]
  const step = window * STEP_SHARE
  const fixed = Math.ceil((systemTokens + toolTokens) / step) * step
  const rest = Math.max((window - fixed) * ANSWER_OF_REST, window * SMALL_ANSWER)
  const most = Math.floor(Math.min(window * ANSWER_SHARE, rest))
  const output = max_output_tokens ?? Number.POSITIVE_INFINITY
  const text = Math.min(max_tokens, output, most)
  // Thinking comes on top, and takes as much again at most.
  const thinking = Math.min(thinkingTokens(parameters), output - text, most)
  const answer = text + thinking
  const input = window - answer
  const space = Math.max(input - fixed, input * MESSAGE_SHARE)
  const { context_full, context_target } = smallest ? SMALLEST : settings
  const fitted = fittingOf(said, { full: space * context_full, target: space * context_target, input })
  fitted.replay(said)
  const fittedMessages = fitted.shown()
  return {
    messages: [...system, ...fittedMessages],
    max_tokens: answer,
    thinking_tokens: thinking,
    window: stated,
    input,
    sections: { system: systemTokens, tools: toolTokens, messages: fitted.tokens, answer },
    cleared: fitted.cleared,
    summarized: fitted.summarized,
    summary_model: fitted.summary_model,
    digested: fitted.digested,
    whole: fitted.fullLength,
    cut: fitted.cut + tally.cut,
  }
}

/** Tokens by which a conversation is fitted. */
interface FittingSizes {
  /** A conversation above `full` is made smaller, down to `target`. */
  full: number
  target: number
  input: number
}

/** How far each conversation was replayed, by its first message: a step costs what it adds, however long the conversation is. */
const replayed = new WeakMap<Message, Fitting>()

/** Returns the replay that leads to this conversation, or one that begins. */
function fittingOf(said: readonly Message[], sizes: FittingSizes): Fitting {
  const [first] = said
  const known = first && replayed.get(first)
  if (known?.leadsTo(said, sizes)) return known
  const begun = new Fitting(sizes)
  if (first) replayed.set(first, begun)
  return begun
}

/** Replays a conversation message by message, and shortens it where a request was sent. */
class Fitting {
  cleared = 0
  summarized = 0
  summary_model: string | null = null
  digested = 0
  cut = 0
  readonly #full: number
  readonly #target: number
  readonly #input: number
  /** What was replayed, as it was said. */
  readonly #original: Message[] = []
  /** What stands in front whatever is left out: the goal, and the summary. */
  #front: readonly Message[] = []
  /** What was said after what the summary stands for, with the middle cut out of messages that are too long. */
  #said: Message[] = []
  #view: Message[] = []
  /** Where the view begins in what was said, and what stands before it. */
  #from = 0
  #opening: readonly Message[] = []
  /** The first message of the view that may still be cleared. */
  #uncleared = 0
  #tokens = 0

  constructor(sizes: FittingSizes) {
    this.#full = sizes.full
    this.#target = sizes.target
    this.#input = sizes.input
  }

  /**
   * Whether what was replayed is the beginning of this conversation, which goes on with an answer, under the same
   * bounds.
   */
  leadsTo(said: readonly Message[], { full, target, input }: FittingSizes): boolean {
    const isSameSize = full === this.#full && target === this.#target && input === this.#input
    const next = said[this.#original.length]
    if (!isSameSize || (next && next.role !== 'assistant')) return false
    return this.#original.every((message, n) => message === said[n])
  }

  /** Replays what was not yet. */
  replay(said: readonly Message[]): void {
    for (let n = this.#original.length; n < said.length; n++) {
      this.#add(said[n]!)
      // Where a request was sent: an answer follows, or this one is about to be.
      if (n === said.length - 1 || said[n + 1]!.role === 'assistant') this.#makeRoom()
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
    this.#said.push(message)
    this.#view.push(message)
    this.#tokens += messageTokens(message)
  }

  /** Tokens of what is shown. */
  get tokens(): number {
    return this.#tokens
  }

  shown(): Message[] {
    return [...this.#opening, ...this.#view]
  }

  get fullLength(): number {
    return this.#view.length
  }

  /** Puts a summary in the place of what it stands for. What it does not is as it was said. */
  #summarize(message: Message, { keeps, model }: SummaryMark): void {
    const from = Math.max(this.#said.length - keeps, 0)
    this.summarized += from
    this.summary_model = model
    const content = shortenTo(summaryText(message), this.#input * RECORD_SHARE)
    this.#front = this.#opening = [...this.#front.slice(0, 1), { role: 'user', content }]
    this.#said = this.#said.slice(from)
    this.#view = [...this.#said]
    this.#from = this.#uncleared = this.cleared = this.digested = 0
    this.#tokens = messagesTokens(this.shown())
  }

  #makeRoom(): void {
    if (this.#tokens <= this.#full) return
    this.#clearAll(clearedImages)
    if (this.#tokens > this.#full) this.#clear(clearedResult)
    if (this.#tokens > this.#full) this.#clearAll(clearedCalls)
    if (this.#tokens > this.#full) this.#clearAll(clearedPictures, 1)
    if (this.#tokens > this.#full) this.#digest()
    if (this.#tokens > this.#full) this.#cutNewest()
  }

  /** Returns where the newest turns begin: the last answer and all after it, and earlier turns up to their share. */
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

  /** Puts a digest in the place of the oldest turns. */
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
    const text = digestOf(this.#said.slice(0, this.#from), share)
    this.#opening = [...this.#front, { role: 'user', content: text }]
    this.#tokens = messagesTokens(this.shown())
  }

  /** The last way: what the newest turn holds loses its images, and is shortened to equal parts. */
  #cutNewest(): void {
    for (const [at, message] of this.#view.entries()) {
      this.#replace(at, clearedImages(message, this.#view) ?? clearedPictures(message))
    }
    if (this.#tokens <= this.#full) return
    const others = messagesTokens(this.#opening)
    const each = Math.max((this.#full - others) / Math.max(this.#view.length, 1), 32)
    for (const [at, message] of this.#view.entries()) {
      if (message.role === 'assistant' || textTokens(message.content) <= each) continue
      this.#view[at] = { ...message, content: shorten(message.content, each) }
      this.cut++
    }
    this.#tokens = messagesTokens(this.shown())
  }
}
