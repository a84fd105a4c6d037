import type { Message, ModelRequest } from '../contract.ts'
import { thinkingTokens } from '../parameters/contract.ts'
import { digestOf } from './digest.ts'
import { clearedCalls, clearedResult, shortened } from './shorten.ts'
import { messagesTokens, messageTokens, textTokens, toolsTokens } from './tokens.ts'

/** Shares of the window, from 0 to 1. */
export interface FitSettings {
  /** Room is made when a conversation takes more than this. */
  context_full: number
  /** Room is made until it takes no more than this. */
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

/** Tokens of a request by section, as estimated. */
export interface ContextSections {
  system: number
  tools: number
  messages: number
  /** Kept free for the answer, with the thinking before it. */
  answer: number
}

/** A request that fits, and what was left out for it. */
export interface FittedRequest {
  messages: readonly Message[]
  /** Tokens of the answer and of the thinking before it. */
  max_tokens: number
  /** The part of `max_tokens` that is for thinking. */
  thinking_tokens: number
  window: number
  sections: ContextSections
  /** Tool results and arguments that became one line. */
  cleared: number
  /** Messages that a digest stands for. */
  digested: number
  /** Messages of which the middle was cut out. */
  cut: number
}

/** The answer takes at most this share of the window. */
const ANSWER_SHARE = 0.25
/** Thinking takes at most this share besides. */
const THINKING_SHARE = 0.25
/** Shares of the input that the system prompt, the first message (the goal) and any other message take at most. */
const SYSTEM_SHARE = 0.5
const GOAL_SHARE = 0.7
const MESSAGE_SHARE = 0.3
/** The newest turns that are never cleared take at least this share. */
const NEWEST_SHARE = 0.15
/** The digest of what was dropped, the user's own words in it included. */
const DIGEST_SHARE = 0.2
/** What the system prompt and tools take is rounded up to such shares, so that the cut does not move with each word in them. */
const STEP_SHARE = 1 / 32
const SMALLEST = { context_full: 0.3, context_target: 0.2 }

/**
 * Makes a request fit its model's context window, the cheapest way first: old tool results become a line, then long arguments
 * do, then a digest takes the place of the oldest turns. The goal (the first message), unanswered calls and the newest turn
 * survive. It is decided at each step of the conversation from what was said up to there, so the beginning of a request stays
 * the same from call to call until room is made again: that keeps the provider's prompt cache.
 */
export function fitRequest(
  { messages, tools, max_tokens, parameters }: Pick<ModelRequest, 'messages' | 'tools' | 'max_tokens' | 'parameters'>,
  { window: stated, max_output_tokens, ratio, smallest = false }: ContextLimits,
  settings: FitSettings,
): FittedRequest {
  const window = Math.floor(stated / ratio)
  const most = max_output_tokens ?? Number.POSITIVE_INFINITY
  const text = Math.min(max_tokens, most, Math.floor(window * ANSWER_SHARE))
  const thinking = Math.min(thinkingTokens(parameters), most - text, Math.floor(window * THINKING_SHARE))
  const answer = text + thinking
  const input = window - answer
  const head = messages.findIndex(({ role }) => role !== 'system')
  const start = head < 0 ? messages.length : head
  const tally = { cut: 0 }
  const system = bounded(messages.slice(0, start), input * SYSTEM_SHARE, tally)
  const said = [
    ...bounded(messages.slice(start, start + 1), input * GOAL_SHARE, tally),
    ...bounded(messages.slice(start + 1), input * MESSAGE_SHARE, tally),
  ]
  const sections = { system: messagesTokens(system), tools: toolsTokens(tools), answer }
  const step = window * STEP_SHARE
  const space = Math.max(input - Math.ceil((sections.system + sections.tools) / step) * step, input * MESSAGE_SHARE)
  const { context_full, context_target } = smallest ? SMALLEST : settings
  const fitted = new Fitting(space * context_full, space * context_target, input)
  for (const [n, message] of said.entries()) {
    fitted.add(message)
    // Where a request was sent: an answer follows, or this one is about to be.
    if (n === said.length - 1 || said[n + 1]!.role === 'assistant') fitted.makeRoom()
  }
  const shown = fitted.shown()
  return {
    messages: [...system, ...shown],
    max_tokens: answer,
    thinking_tokens: thinking,
    window: stated,
    sections: { ...sections, messages: messagesTokens(shown) },
    cleared: fitted.cleared,
    digested: fitted.digested,
    cut: tally.cut + fitted.cut,
  }
}

/** Cuts the middle out of messages that are longer than `limit` tokens. */
function bounded(messages: readonly Message[], limit: number, tally: { cut: number }): readonly Message[] {
  if (messages.every(message => messageTokens(message) <= limit)) return messages
  return messages.map(message => {
    if (textTokens(message.content) <= limit) return message
    tally.cut++
    return { ...message, content: shortened(message.content, limit) }
  })
}

/** Replays a conversation message by message, and shortens it where a request was sent. */
class Fitting {
  cleared = 0
  digested = 0
  cut = 0
  readonly #full: number
  readonly #target: number
  readonly #input: number
  readonly #said: Message[] = []
  #view: Message[] = []
  /** Where the view begins in what was said, and what stands before it. */
  #from = 0
  #opening: Message[] = []
  /** The first message of the view that may still be cleared. */
  #uncleared = 0
  #tokens = 0

  constructor(full: number, target: number, input: number) {
    this.#full = full
    this.#target = target
    this.#input = input
  }

  add(message: Message): void {
    this.#said.push(message)
    this.#view.push(message)
    this.#tokens += messageTokens(message)
  }

  shown(): Message[] {
    return [...this.#opening, ...this.#view]
  }

  makeRoom(): void {
    if (this.#tokens <= this.#full) return
    this.#clear(clearedResult)
    if (this.#tokens > this.#full) this.#clearAll(clearedCalls)
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

  #clearAll(shorter: (message: Message) => Message | undefined): void {
    const until = this.#newest()
    for (let at = 0; at < until && this.#tokens > this.#target; at++) this.#replace(at, shorter(this.#view[at]!))
  }

  #replace(at: number, message: Message | undefined): void {
    if (!message) return
    this.#tokens += messageTokens(message) - messageTokens(this.#view[at]!)
    this.#view[at] = message
    this.cleared++
  }

  /** Puts a digest in the place of the oldest turns. The first message stays: it says what all is about. */
  #digest(): void {
    const until = this.#newest()
    if (this.#from + until < 2) return
    let to = 0
    let tokens = this.#tokens
    const spared = this.#target - this.#input * DIGEST_SHARE
    while (to < until && tokens > spared) tokens -= messageTokens(this.#view[to++]!)
    // A call stays with its results.
    while (to < until && this.#view[to]!.role === 'tool') to++
    this.#view = this.#view.slice(to)
    this.#from += to
    this.#uncleared = Math.max(0, this.#uncleared - to)
    const [first, ...others] = this.#said.slice(0, this.#from)
    this.digested = others.length
    const text = digestOf(others, this.#input * DIGEST_SHARE)
    this.#opening = [first!, { role: 'user', content: text }]
    this.#tokens = messagesTokens(this.shown())
  }

  /** The last way: what the newest turn holds is shortened to equal parts. */
  #cutNewest(): void {
    const others = messagesTokens(this.#opening)
    const each = Math.max((this.#full - others) / Math.max(this.#view.length, 1), 32)
    for (const [at, message] of this.#view.entries()) {
      if (message.role === 'assistant' || textTokens(message.content) <= each) continue
      this.#view[at] = { ...message, content: shortened(message.content, each) }
      this.cut++
    }
    this.#tokens = messagesTokens(this.shown())
  }
}
