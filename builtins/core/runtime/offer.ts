import type { Message, ToolSpec } from '#core/models/contract'
import { jsonTokens } from '#lib/text-tokens'
import { FIND_TOOLS } from './contract.ts'

/** A tool that may be offered to a model. */
export interface Candidate {
  spec: ToolSpec
  toolkit: string
  /** Family whose tools are offered together from the first step; undefined for tools that must be found. */
  family: string | undefined
  /** Whether the tool is always offered. */
  always: boolean
}

/** Share of the budget that tools outside the core families may take from these. What these leave free is theirs too. */
const SHARE_OF_FOUND = 0.25

/** The offer after some messages of a conversation. */
interface Offered {
  /** Number of messages, and the last of them. */
  count: number
  last: Message | undefined
  specs: readonly ToolSpec[]
  names: ReadonlySet<string>
  /** Tools that were called or named, most recent first. */
  recent: readonly string[]
  /** Tools outside the core that the system prompt names. */
  passing: readonly string[]
  /** Tools that a message or the system prompt named: these are offered without the rest of their toolkit. */
  alone: ReadonlySet<string>
  /** Toolkits of the best tool of each search, and of called tools that were not offered at first. */
  kits: ReadonlySet<string>
}

/** Returns the estimated number of prompt tokens for tools. */
export function tokensOf(specs: readonly ToolSpec[]): number {
  return specs.reduce((sum, spec) => sum + jsonTokens(spec), 0)
}

/**
 * Selects the tools offered to a model within a budget: the core families in order, as far as they fit, only one partly.
 * The offer changes only when a message calls or names a tool that is not in it, which keeps the provider's prompt cache
 * valid. Then tools are taken in the order in which they were last called or named, then the other tools of found and
 * called toolkits, then the core families, then those that only the system prompt names. The offer depends only on the
 * messages, on any machine and after any restart.
 * @param budget tokens; Infinity sets no limit
 */
export class Offer {
  readonly first: readonly ToolSpec[]
  readonly #all: readonly Candidate[]
  readonly #byName: ReadonlyMap<string, Candidate>
  readonly #families: ReadonlyMap<string, readonly Candidate[]>
  readonly #budget: number
  /** Tokens that the first offer leaves free. */
  readonly #free: number = 0
  /** Tool names found in each message, cached because messages do not change. */
  readonly #named = new WeakMap<Message, { names: readonly string[]; called: readonly string[] }>()
  /** The offer before any message, and the last one. */
  readonly #begin: Offered
  #now: Offered

  /** @param all core tools first, grouped by family */
  constructor(all: readonly Candidate[], budget: number) {
    this.#all = all
    this.#byName = new Map(all.map(each => [each.spec.name, each]))
    this.#families = familiesOf(all)
    this.#budget = budget
    this.first = this.#fitting([], [])
    this.#free = budget - tokensOf(this.first)
    const names = new Set(this.first.map(({ name }) => name))
    this.#begin = {
      count: 0,
      last: undefined,
      specs: this.first,
      names,
      recent: [],
      passing: [],
      alone: new Set(),
      kits: new Set(),
    }
    this.#now = this.#begin
  }

  offerAfter(messages: readonly Message[]): readonly ToolSpec[] {
    if (this.first.length === this.#all.length) return this.first
    const { count, last } = this.#now
    const isContinued = count <= messages.length && (count === 0 || messages[count - 1] === last)
    this.#now = messages
      .slice(isContinued ? count : 0)
      .reduce((before, message) => this.#offerWith(before, message), isContinued ? this.#now : this.#begin)
    return this.#now.specs
  }

  /** Returns the offer after one more message. */
  #offerWith(before: Offered, message: Message): Offered {
    const { names, called } = this.#namesIn(message)
    const now = { ...before, count: before.count + 1, last: message }
    if (names.length === 0) return now
    const isSystem = message.role === 'system'
    const recent = isSystem ? before.recent : [...new Set([...names, ...before.recent])]
    const passing = isSystem ? names : before.passing
    const alone = isSystem || message.role === 'user' ? new Set([...before.alone, ...names]) : before.alone
    const next = { ...now, recent, passing, alone }
    // The best hit is nearly always called: its toolkit comes with it, so that the offer changes once and not twice.
    const wanted = message.name === FIND_TOOLS ? names.slice(0, 1) : called.filter(name => !alone.has(name))
    const found = wanted.filter(name => !this.#begin.names.has(name))
    const kits = new Set([...before.kits, ...found.map(name => this.#byName.get(name)!.toolkit)])
    if (kits.size === before.kits.size && names.every(name => before.names.has(name))) return next
    const neighbours = this.#all.filter(({ toolkit }) => kits.has(toolkit)).map(({ spec }) => spec.name)
    const specs = this.#fitting([...new Set([...recent, ...neighbours])], passing)
    return { ...next, kits, specs, names: new Set(specs.map(({ name }) => name)) }
  }

  #fitting(wanted: readonly string[], passing: readonly string[]): readonly ToolSpec[] {
    const chosen = new Set(this.#all.filter(({ always }) => always))
    let left = this.#budget - sizeOf([...chosen])
    let leftForFound = Math.min(left, Math.max(this.#free, this.#budget * SHARE_OF_FOUND))
    const take = (each: Candidate, most: number): number => {
      const tokens = jsonTokens(each.spec)
      if (chosen.has(each) || tokens > most) return 0
      chosen.add(each)
      left -= tokens
      return tokens
    }
    for (const each of this.#tools(wanted)) {
      if (each.family === undefined) leftForFound -= take(each, Math.min(left, leftForFound))
      else take(each, left)
    }
    let isWhole = true
    for (const family of this.#families.values()) {
      const rest = family.filter(each => !chosen.has(each))
      // Of the first family that does not fit, the first tools are offered: its profile names it before those that follow.
      if (sizeOf(rest) <= left) for (const each of rest) take(each, left)
      else if (isWhole) isWhole = rest.every(each => take(each, left) > 0)
    }
    for (const each of this.#tools(passing)) take(each, left)
    return this.#all.filter(each => chosen.has(each)).map(({ spec }) => spec)
  }

  #tools(names: readonly string[]): Candidate[] {
    return names.flatMap(name => this.#byName.get(name) ?? [])
  }

  /**
   * Returns the tool names in a message. Names without an underscore, such as `work`, count only in backticks, in search
   * results and in calls. In search results, descriptions name other tools: only hits and names in backticks count.
   * Other results may hold any text, such as source code: there, only tools of the same toolkit count, unless the text
   * is a skill or the operator's.
   */
  #namesIn(message: Message): { names: readonly string[]; called: readonly string[] } {
    let found = this.#named.get(message)
    if (!found) {
      const called = (message.tool_calls ?? []).map(({ name }) => name)
      const pattern =
        message.name === FIND_TOOLS
          ? /(?<=^- )[\w-]{1,64}(?=\()|(?<=`)[\w-]{1,64}(?=`)/gm
          : /(?<=`)\w+(?=`)|\b\w+_\w+\b/g
      const names = message.content.match(pattern) ?? []
      // The system prompt names core tools in passing, in no order of need.
      const isPassing = ({ family }: Candidate) => message.role === 'system' && family !== undefined
      const { name, is_kept, from_operator } = message
      const source = is_kept || from_operator || name === FIND_TOOLS ? undefined : this.#byName.get(name ?? '')
      const isQuoted = ({ toolkit }: Candidate) => source !== undefined && toolkit !== source.toolkit
      const isTool = (word: string) => {
        const tool = this.#byName.get(word)
        return tool !== undefined && !isPassing(tool) && !isQuoted(tool)
      }
      found = { called: called.filter(isTool), names: [...new Set([...called, ...names])].filter(isTool) }
      this.#named.set(message, found)
    }
    return found
  }
}

function familiesOf(all: readonly Candidate[]): Map<string, Candidate[]> {
  const families = new Map<string, Candidate[]>()
  for (const each of all) {
    if (each.family === undefined || each.always) continue
    families.set(each.family, [...(families.get(each.family) ?? []), each])
  }
  return families
}

function sizeOf(candidates: readonly Candidate[]): number {
  return tokensOf(candidates.map(({ spec }) => spec))
}
