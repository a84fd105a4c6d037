import type { Clock } from '#kernel'
import { ACTIONS, type CheckedText, type Finding, type GuardrailRule } from './contract.ts'
import { fold } from './fold.ts'

/** A piece of a long text: what begins in it is taken from it, what it sees goes further on both sides. */
const PIECE = 32_768
const BEHIND = 64
const AHEAD = 4096
/** More finds of one rule in one piece tell nothing new; a rule that never ends its finds ends here. */
const MOST = 10_000

/** How long the event loop may have to wait, in milliseconds, as far as rules let it. */
const TURN_MS = 10

export interface ScanParts {
  clock: Pick<Clock, 'yield' | 'monotonic'>
  /** A rule threw. @returns whether that stops the text */
  stopsOnError: (rule: GuardrailRule, error: unknown) => boolean
}

/**
 * Asks the rules about a text, and makes of it what may go on. Rules that come first have precedence where two find the same.
 * Time is linear in the text's length; between two pieces the event loop gets its turn.
 */
export async function scan(text: string, rules: readonly GuardrailRule[], parts: ScanParts): Promise<CheckedText> {
  const account = new Account(text)
  for (let from = 0; rules.length > 0 && from < text.length; from += PIECE) {
    if (from > 0) await parts.clock.yield()
    const found: Finding[] = []
    await look(text, from, rules, parts, found)
    account.add(found)
  }
  return account.result()
}

/** Asks about one piece. */
async function look(
  text: string,
  from: number,
  rules: readonly GuardrailRule[],
  { clock, stopsOnError }: ScanParts,
  found: Finding[],
): Promise<void> {
  const past = from + PIECE
  const begin = Math.max(0, from - BEHIND)
  let since = clock.monotonic()
  const isLong = () => clock.monotonic() - since > TURN_MS
  const breathe = async () => {
    await clock.yield()
    since = clock.monotonic()
  }
  const view = fold(text.slice(begin, past + AHEAD))
  for (const rule of rules) {
    const { name, kind, action } = rule
    let left = MOST
    if (isLong()) await breathe()
    try {
      for (const span of rule.find(view.text)) {
        if (left-- === 0) break
        if (isLong()) await breathe()
        if (!(span.start >= 0 && span.end > span.start && span.end <= view.text.length)) continue
        const at = view.span(span.start, span.end)
        const start = begin + at.start
        if (start >= from && start < past) found.push({ rule: name, kind, start, end: begin + at.end, action })
      }
    } catch (error) {
      if (stopsOnError(rule, error))
        found.push({ rule: name, kind, start: from, end: Math.min(past, text.length), action: 'block' })
    }
  }
}

/** What was found so far, piece by piece, and the text that it makes. */
class Account {
  readonly #text: string
  readonly #findings: Finding[] = []
  #action: CheckedText['action'] = 'pass'
  /** How far the finds of each action reach; an outer one begins no later, by the order. */
  readonly #reach = new Map<Finding['action'], number>()
  #redacted = ''
  /** What of the text is written down, or redacted. */
  #done = 0

  constructor(text: string) {
    this.#text = text
  }

  /** In the order of the text; what lies within a find of equal or stronger action that came before it is left out. */
  add(found: Finding[]): void {
    const pieces: string[] = []
    // What begins and ends alike stays in the order of the rules.
    for (const finding of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
      const { kind, start, end, action } = finding
      if (ACTIONS.slice(ACTIONS.indexOf(action)).some(each => (this.#reach.get(each) ?? -1) >= end)) continue
      this.#findings.push(finding)
      this.#reach.set(action, Math.max(this.#reach.get(action) ?? -1, end))
      this.#action = stronger(this.#action, action)
      if (action !== 'redact') continue
      // Finds that overlap become one gap.
      if (start >= this.#done) pieces.push(this.#text.slice(this.#done, start), `[REDACTED:${kind}]`)
      this.#done = Math.max(this.#done, end)
    }
    this.#redacted += pieces.join('')
  }

  result(): CheckedText {
    const text = this.#action === 'block' ? '' : this.#redacted + this.#text.slice(this.#done)
    return { action: this.#action, text, findings: this.#findings }
  }
}

function stronger(one: CheckedText['action'], other: Finding['action']): Finding['action'] {
  return one === 'pass' || ACTIONS.indexOf(other) > ACTIONS.indexOf(one) ? other : one
}
