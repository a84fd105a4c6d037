import { estimateTokens, type Message, type ToolSpec } from '#core/models/contract'

/** A tool as it may be put before a model. */
export interface Candidate {
  spec: ToolSpec
  toolkit: string
  /** The smaller, the earlier it is offered where not all fit. */
  rank: number
  /** Offered in any case. */
  always: boolean
}

/** What was asked for on the way takes at most this share of the budget, so that the everyday tools stay. */
const SHARE_OF_SAID = 0.5

/** More toolkits, or tools of one, than there ever are. */
const MANY = 100_000

/**
 * What is for every day comes whole, toolkit by toolkit. Of the others the first tools come before all second ones: they show
 * what the toolkit is for, and whoever calls one is offered its neighbours.
 * @param place of the tool in its toolkit @param kit place of the toolkit among all
 */
export function rankOf(place: number, kit: number, everyday: boolean): number {
  return everyday ? kit * MANY + place - MANY * MANY : place * MANY + kit
}

/** Characters that a tool takes in a list of tools. */
function charsOf(spec: ToolSpec): number {
  return JSON.stringify(spec).length + 1
}

/** What a list of tools takes of a prompt, by the estimate that calls of models are counted with. */
export function tokensOf(specs: readonly ToolSpec[]): number {
  return specs.length === 0 ? 0 : estimateTokens(specs.reduce((sum, spec) => sum + charsOf(spec), 1))
}

/**
 * The tools that a model is offered within a budget. What was said decides nothing until it names a tool that is not on
 * offer: such tools come in, the last named first, then the neighbours of those that were called, in place of the least
 * everyday ones. The same words give the same offer, on any machine and after any restart, and an offer that stays the same
 * keeps the provider's cache of the prompt.
 * @param budget tokens; Infinity offers all
 */
export class Offer {
  readonly first: readonly ToolSpec[]
  readonly #all: readonly Candidate[]
  readonly #byName: ReadonlyMap<string, Candidate>
  readonly #budget: number
  /** The names that a message holds: messages do not change. */
  readonly #named = new WeakMap<Message, { said: readonly string[]; called: readonly string[] }>()
  #last: { key: string; specs: readonly ToolSpec[] }

  constructor(all: readonly Candidate[], budget: number) {
    this.#all = all
    this.#byName = new Map(all.map(each => [each.spec.name, each]))
    this.#budget = budget
    this.first = this.#fitting([])
    // Of nothing that was said.
    this.#last = { key: '', specs: this.first }
  }

  after(messages: readonly Message[]): readonly ToolSpec[] {
    if (this.first.length === this.#all.length) return this.first
    const named = messages.toReversed().map(message => this.#namesIn(message))
    const kits = new Set(named.flatMap(({ called }) => called).map(name => this.#byName.get(name)?.toolkit))
    const neighbours = this.#all.filter(({ toolkit }) => kits.has(toolkit)).map(({ spec }) => spec.name)
    const said = new Set(named.flatMap(each => each.said))
    const key = [...said, '', ...kits].join(' ')
    if (key !== this.#last.key) {
      const offered = new Set(this.first.map(({ name }) => name))
      const wanted = [...new Set([...said, ...neighbours])].filter(name => !offered.has(name))
      this.#last = { key, specs: wanted.length === 0 ? this.first : this.#fitting(wanted, said) }
    }
    return this.#last.specs
  }

  #fitting(wanted: readonly string[], said: ReadonlySet<string> = new Set()): readonly ToolSpec[] {
    const chosen = new Set(this.#all.filter(({ always }) => always))
    let left = this.#budget * 4 - [...chosen].reduce((sum, { spec }) => sum + charsOf(spec), 1)
    const take = (candidates: readonly Candidate[], limit: number) => {
      const until = left - limit
      for (const each of candidates) {
        const chars = charsOf(each.spec)
        if (chosen.has(each) || left - chars < until) continue
        chosen.add(each)
        left -= chars
      }
    }
    take(
      wanted.flatMap(name => this.#byName.get(name) ?? []),
      Math.min(left, this.#budget * 4 * SHARE_OF_SAID),
    )
    const isSaid = ({ spec }: Candidate) => (said.has(spec.name) ? 0 : 1)
    const rest = [...this.#all].sort((a, b) => isSaid(a) - isSaid(b) || a.rank - b.rank)
    take(rest, left)
    // In the order of the toolkits, so that the beginning of the list changes least.
    return this.#all.filter(each => chosen.has(each)).map(({ spec }) => spec)
  }

  /** A word that is the name of a tool is taken for it: what tools tell one to do next stands in their results. */
  #namesIn(message: Message): { said: readonly string[]; called: readonly string[] } {
    let found = this.#named.get(message)
    if (!found) {
      const called = (message.tool_calls ?? []).map(({ name }) => name)
      const words = message.content.match(/[\w-]{1,64}/g) ?? []
      const isTool = (word: string) => this.#byName.has(word)
      found = { called: called.filter(isTool), said: [...new Set([...called, ...words])].filter(isTool) }
      this.#named.set(message, found)
    }
    return found
  }
}
