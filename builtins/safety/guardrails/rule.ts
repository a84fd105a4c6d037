import type { GuardrailRule } from './contract.ts'
import type { Match } from './prefilter/prefilter.ts'

export interface Span {
  start: number
  end: number
}

/** An empty span that a rule yields where a scan may let the event loop run. */
export const PAUSE: Span = Object.freeze({ start: 0, end: 0 })

/** A text, and what expressions of the prefilter match in it. */
export interface InspectedText {
  text: string
  matches(expression: RegExp): Iterable<Match>
}

/** A rule without what the configuration decides: where it is asked and what becomes of its finds. */
export type Finder = Pick<GuardrailRule, 'name' | 'kind' | 'find'>
