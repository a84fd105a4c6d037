import type { InspectedText, Span } from '../rule.ts'

/**
 * Matches social security numbers: area 001 to 899 except 666, group 01 to 99, serial 0001 to 9999 (Social Security
 * Administration, since 2011).
 */
export const SSN = /(?<![\w.+-])(?!000|666|9\d\d)\d{3}(?:-(?!00)\d{2}-| (?!00)\d{2} )(?!0000)\d{4}(?![\w-])/g
/** Matches numbers without hyphens, but only after words such as "social security". */
export const NAMED_SSN =
  /\b(?:ssn|social security(?: (?:number|no\.?|#))?)(?: is| was)?[ :#=]{1,4}((?!000|666|9\d\d)\d{3}(?!00)\d{2}(?!0000)\d{4})(?!\d)/gi

export function* findSsns({ matches }: InspectedText): Generator<Span> {
  yield* matches(SSN)
  for (const { end } of matches(NAMED_SSN)) yield { start: end - 9, end }
}
