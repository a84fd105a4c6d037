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

/** Maximum share of the budget for tools that were requested during the run, so that core tools stay. */
const SHARE_OF_SAID = 0.5

/** Returns the estimated number of prompt tokens for tools. */
export function tokensOf(specs: readonly ToolSpec[]): number {
  return specs.reduce((sum, spec) => sum + jsonTokens(spec), 0)
}

/**
 * Selects the tools offered to a model within a budget: the core families as a whole, in order, as far as they fit.
 * Messages change the offer only when they name a tool that is not in it. Such tools are added, most recently named
 * first, then the other tools of their toolkits if called. The offer depends only on the messages, on any machine and
 * after any restart; an unchanged offer keeps the provider's prompt cache valid.
 * @param budget tokens; Infinity sets no limit
 */
export class Offer {
  readonly first: readonly ToolSpec[]
  readonly #all: readonly Candidate[]
  readonly #byName: ReadonlyMap<string, Candidate>
  readonly #families: ReadonlyMap<string, readonly Candidate[]>
  readonly #budget: number
  /** Tool names found in each message, cached because messages do not change. */
  readonly #named = new WeakMap<Message, { said: readonly string[]; called: readonly string[] }>()
  #last: { key: string; specs: readonly ToolSpec[] }

  /** @param all core tools first, grouped by family */
  constructor(all: readonly Candidate[], budget: number) {
    this.#all = all
    this.#byName = new Map(all.map(each => [each.spec.name, each]))
    this.#families = familiesOf(all)
    this.#budget = budget
    this.first = this.#fitting([])
    // The offer before any message.
    this.#last = { key: '', specs: this.first }
  }

  offerAfter(messages: readonly Message[]): readonly ToolSpec[] {
    if (this.first.length === this.#all.length) return this.first
    const named = messages.toReversed().map(message => this.#namesIn(message))
    const offered = new Set(this.first.map(({ name }) => name))
    const found = named.flatMap(({ called }) => called).filter(name => !offered.has(name))
    const kits = new Set(found.map(name => this.#byName.get(name)?.toolkit))
    const isNeighbour = ({ toolkit }: Candidate) => kits.has(toolkit)
    const neighbours = kits.size === 0 ? [] : this.#all.filter(isNeighbour).map(({ spec }) => spec.name)
    const said = new Set(named.flatMap(each => each.said))
    const key = [...said, '', ...kits].join(' ')
    if (key !== this.#last.key) {
      const wanted = [...new Set([...said, ...neighbours])].filter(name => !offered.has(name))
      this.#last = { key, specs: wanted.length === 0 ? this.first : this.#fitting(wanted, said) }
    }
    return this.#last.specs
  }

  #fitting(wanted: readonly string[], said: ReadonlySet<string> = new Set()): readonly ToolSpec[] {
    const chosen = new Set(this.#all.filter(({ always }) => always))
    let left = this.#budget - sizeOf([...chosen])
    const take = (candidates: readonly Candidate[], limit: number) => {
      const until = left - limit
      for (const each of candidates) {
        const tokens = jsonTokens(each.spec)
        if (chosen.has(each) || left - tokens < until) continue
        chosen.add(each)
        left -= tokens
      }
    }
    take(
      wanted.flatMap(name => this.#byName.get(name) ?? []),
      Math.min(left, this.#budget * SHARE_OF_SAID),
    )
    // Families in use stay before others.
    const inUse = (family: readonly Candidate[]) => (family.some(({ spec }) => said.has(spec.name)) ? 0 : 1)
    const families = [...this.#families.values()].sort((a, b) => inUse(a) - inUse(b))
    for (const [place, family] of families.entries()) {
      const rest = family.filter(each => !chosen.has(each))
      // The first family may be offered partly: a model with only find_tools is of no use.
      if (place === 0 || sizeOf(rest) <= left) take(rest, left)
    }
    return this.#all.filter(each => chosen.has(each)).map(({ spec }) => spec)
  }

  /**
   * Returns the tool names in a message. Names without an underscore, such as `work`, count only in backticks, in search
   * results and in calls. In search results, descriptions name other tools: only hits and names in backticks count.
   */
  #namesIn(message: Message): { said: readonly string[]; called: readonly string[] } {
    let found = this.#named.get(message)
    if (!found) {
      const called = (message.tool_calls ?? []).map(({ name }) => name)
      const pattern =
        message.name === FIND_TOOLS
          ? /(?<=^- )[\w-]{1,64}(?=\()|(?<=`)[\w-]{1,64}(?=`)/gm
          : /(?<=`)\w+(?=`)|\b\w+_\w+\b/g
      const names = message.content.match(pattern) ?? []
      const isTool = (word: string) => this.#byName.has(word)
      found = { called: called.filter(isTool), said: [...new Set([...called, ...names])].filter(isTool) }
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
