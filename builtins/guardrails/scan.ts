import type { Clock } from '#kernel'
import { ACTIONS, type Checked, type Finding, type GuardrailRule } from './contract.ts'
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
  failed: (rule: GuardrailRule, error: unknown) => boolean
}

/**
 * Asks the rules about a text, and makes of it what may go on. Rules that come first have precedence where two find the same.
 * Time is linear in the text's length; between two pieces the event loop gets its turn.
 */
export async function scan(text: string, rules: readonly GuardrailRule[], parts: ScanParts): Promise<Checked> {
  const found: Finding[] = []
  for (let from = 0; rules.length > 0 && from < text.length; from += PIECE) {
    if (from > 0) await parts.clock.yield()
    await look(text, from, rules, parts, found)
  }
  const findings = withoutRepeats(found)
  const action = findings.reduce<Checked['action']>((worst, each) => stronger(worst, each.action), 'pass')
  return { action, text: action === 'block' ? '' : redacted(text, findings), findings }
}

/** Asks about one piece. */
async function look(
  text: string,
  from: number,
  rules: readonly GuardrailRule[],
  { clock, failed }: ScanParts,
  found: Finding[],
): Promise<void> {
  const past = from + PIECE
  const begin = Math.max(0, from - BEHIND)
  let since = clock.monotonic()
  const view = fold(text.slice(begin, past + AHEAD))
  for (const rule of rules) {
    const { name, kind, action } = rule
    let left = MOST
    try {
      for (const span of rule.find(view.text)) {
        if (left-- === 0) break
        if (clock.monotonic() - since > TURN_MS) {
          await clock.yield()
          since = clock.monotonic()
        }
        if (!(span.start >= 0 && span.end > span.start && span.end <= view.text.length)) continue
        const at = view.span(span.start, span.end)
        const start = begin + at.start
        if (start >= from && start < past) found.push({ rule: name, kind, start, end: begin + at.end, action })
      }
    } catch (error) {
      if (failed(rule, error))
        found.push({ rule: name, kind, start: from, end: Math.min(past, text.length), action: 'block' })
    }
  }
}

/** In the order of the text; what lies within a find of equal or stronger action that came before it is left out. */
function withoutRepeats(found: readonly Finding[]): Finding[] {
  const ordered = found.map((finding, n) => ({ finding, n }))
  ordered.sort((a, b) => a.finding.start - b.finding.start || b.finding.end - a.finding.end || a.n - b.n)
  const kept: Finding[] = []
  // The furthest reaching of each action so far; an outer one begins no later, by the order.
  const reach = new Map<Finding['action'], number>()
  for (const { finding } of ordered) {
    const covered = ACTIONS.slice(ACTIONS.indexOf(finding.action)).some(
      action => (reach.get(action) ?? -1) >= finding.end,
    )
    if (covered) continue
    kept.push(finding)
    reach.set(finding.action, Math.max(reach.get(finding.action) ?? -1, finding.end))
  }
  return kept
}

function stronger(one: Checked['action'], other: Finding['action']): Finding['action'] {
  return one === 'pass' || ACTIONS.indexOf(other) > ACTIONS.indexOf(one) ? other : one
}

/** The text with the kind in place of what is not to go on; finds that overlap become one gap. */
function redacted(text: string, findings: readonly Finding[]): string {
  const pieces: string[] = []
  let at = 0
  for (const { kind, start, end, action } of findings) {
    if (action !== 'redact') continue
    if (start >= at) pieces.push(text.slice(at, start), `[REDACTED:${kind}]`)
    at = Math.max(at, end)
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(at)
}
