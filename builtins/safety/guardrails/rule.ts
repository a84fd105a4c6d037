import type { GuardrailRule } from './contract.ts'
import type { Match } from './prefilter/prefilter.ts'

export interface Span {
  start: number
  end: number
}

/** Empty span that a rule yields to let the event loop run. */
export const PAUSE: Span = Object.freeze({ start: 0, end: 0 })

/** A text, and the matches of expressions in it. */
export interface InspectedText {
  text: string
  matches(expression: RegExp): Iterable<Match>
}

/** A rule without its stages and action, which come from the configuration. */
export type Finder = Pick<GuardrailRule, 'name' | 'kind' | 'find'>
