import type { InspectedText, Span } from '../rule.ts'

/** Groups of at least twelve digits in total, with single spaces or hyphens between them, not within a number or name. */
export const DIGIT_GROUPS = /(?<![\w.+]|\d[ -])\d(?:[ -]?\d){11,}/g

/** Issuers' first digits and their lengths (ISO/IEC 7812; the ranges as issuers publish them). */
const ISSUERS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [19, 16, 13]],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14, 16]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^(?:2131|1800)/, [15]],
  [/^62/, [16, 17, 18, 19]],
  [/^220[0-4]/, [16]],
  [/^(?:50(?:18|20|38)|5[678]|6304|6390|6759|676[1-3]|0604)/, [12, 13, 14, 15, 16, 17, 18, 19]],
]
/**
 * Maximum number of digit groups: cards are printed as 4-4-4-4, 4-6-5 or 4-6-4, each with up to three further digits,
 * or as one group.
 */
const MOST_GROUPS = 5
const SHORTEST = 12
const LONGEST = 19

export function* findCards({ matches }: InspectedText): Generator<Span> {
  for (const { start, found } of matches(DIGIT_GROUPS)) {
    const [run] = found
    for (let at = 0; at < run.length; at++) {
      const end = cardEnd(run, at)
      if (end !== undefined) yield { start: start + at, end: start + end }
      at = end ?? groupEnd(run, at)
    }
  }
}

/** Returns the end of the card number that begins with this group; undefined if there is none. */
function cardEnd(run: string, start: number): number | undefined {
  const digits: number[] = []
  let last: number | undefined
  for (let n = 0, at = start; n < MOST_GROUPS && digits.length < LONGEST && at < run.length; n++) {
    const end = groupEnd(run, at)
    const size = end - at
    if (n === 0 ? size > LONGEST : size < 2 || size > 6) break
    for (; at < end; at++) digits.push(run.charCodeAt(at) - 48)
    if (isCard(digits)) last = end
    if (size !== 4 && n === 0) break
    at = end + 1
  }
  return last
}

function groupEnd(run: string, start: number): number {
  let end = start
  while (isDigit(run.charCodeAt(end))) end++
  return end
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isCard(digits: readonly number[]): boolean {
  if (digits.length < SHORTEST || digits.length > LONGEST || !luhn(digits)) return false
  const number = digits.join('')
  return ISSUERS.some(([prefix, lengths]) => lengths.includes(number.length) && prefix.test(number))
}

/** Returns whether the check digit is valid (ISO/IEC 7812-1). */
function luhn(digits: readonly number[]): boolean {
  let sum = 0
  for (let n = 0; n < digits.length; n++) {
    const digit = digits[digits.length - 1 - n] as number
    sum += n % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum > 0 && sum % 10 === 0
}
