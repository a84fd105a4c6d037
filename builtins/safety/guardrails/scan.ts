import type { Clock } from '#kernel'
import { ACTIONS, type CheckedText, type Finding, type GuardrailRule } from './contract.ts'
import { fold } from './fold.ts'

/**
 * Length of one piece of a long text, in characters. A finding belongs to the piece in which it begins; a rule also
 * sees the text on both sides.
 */
const BATCH_SIZE = 32_768
const BEHIND = 64
const AHEAD = 4096
/** Maximum number of findings of one rule in one piece; a rule that yields more is stopped. */
const MAX_FINDINGS = 10_000

/** Maximum time between two yields to the event loop, in milliseconds. */
const TURN_MS = 10

export interface ScanParts {
  clock: Pick<Clock, 'yield' | 'monotonic'>
  /** Called when a rule throws. @returns whether the text is blocked */
  stopsOnError: (rule: GuardrailRule, error: unknown) => boolean
}

/**
 * Applies the rules to a text and returns what may pass. Earlier rules take precedence for the same span. Takes linear
 * time and yields to the event loop between pieces.
 */
export async function scan(text: string, rules: readonly GuardrailRule[], parts: ScanParts): Promise<CheckedText> {
  const account = new Account(text)
  for (let from = 0; rules.length > 0 && from < text.length; from += BATCH_SIZE) {
    if (from > 0) await parts.clock.yield()
    const found: Finding[] = []
    await look(text, from, rules, parts, found)
    account.add(found)
  }
  return account.result()
}

/** Applies the rules to one piece. */
async function look(
  text: string,
  from: number,
  rules: readonly GuardrailRule[],
  { clock, stopsOnError }: ScanParts,
  found: Finding[],
): Promise<void> {
  const past = from + BATCH_SIZE
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
    let left = MAX_FINDINGS
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

/** Collects the findings, piece by piece, and builds the resulting text. */
class Account {
  readonly #text: string
  readonly #findings: Finding[] = []
  #action: CheckedText['action'] = 'pass'
  /** End of the last finding of each action. Findings are sorted, so an enclosing one is added first. */
  readonly #reach = new Map<Finding['action'], number>()
  #redacted = ''
  /** Position up to which the text is copied or redacted. */
  #done = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Adds findings in order; skips those within an earlier one of equal or stronger action. */
  add(found: Finding[]): void {
    const pieces: string[] = []
    // Findings of the same span stay in the order of the rules.
    for (const finding of found.sort((a, b) => a.start - b.start || b.end - a.end)) {
      const { kind, start, end, action } = finding
      if (ACTIONS.slice(ACTIONS.indexOf(action)).some(each => (this.#reach.get(each) ?? -1) >= end)) continue
      this.#findings.push(finding)
      this.#reach.set(action, Math.max(this.#reach.get(action) ?? -1, end))
      this.#action = stronger(this.#action, action)
      if (action !== 'redact') continue
      // Overlapping findings become one redaction.
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
