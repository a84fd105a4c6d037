import type { Span } from '../rule.ts'

/** Digits in groups, single blanks or hyphens between them. */
export const DIGIT_GROUPS = /\d+(?:[ -]\d+)*/g

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
/** Printed in groups: 4-4-4-4, 4-6-5, 4-6-4 or with three more at the end; or in one. */
const MOST_GROUPS = 5

export function* findCards(text: string): Generator<Span> {
  for (const { 0: run, index } of text.matchAll(DIGIT_GROUPS)) {
    if (run.length < 12 || /[\w.+]/.test(text[index - 1] ?? '')) continue
    const groups = [...run.matchAll(/\d+/g)]
    for (let first = 0; first < groups.length; first++) {
      const last = lastGroup(groups, first)
      if (last === undefined) continue
      const end = (groups[last]?.index ?? 0) + (groups[last]?.[0].length ?? 0)
      yield { start: index + (groups[first]?.index ?? 0), end: index + end }
      first = last
    }
  }
}

/** The group with which a card number ends that begins with the group `first`; undefined when none does. */
function lastGroup(groups: readonly RegExpExecArray[], first: number): number | undefined {
  let digits = ''
  let last: number | undefined
  for (let n = first; n < Math.min(groups.length, first + MOST_GROUPS) && digits.length < 19; n++) {
    const group = groups[n]?.[0] ?? ''
    if (n > first && (group.length < 2 || group.length > 6)) break
    digits += group
    if (isCard(digits)) last = n
    if (group.length !== 4 && n === first) break
  }
  return last
}

function isCard(digits: string): boolean {
  const known = ISSUERS.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits))
  return known && luhn(digits)
}

/** The check digit of ISO/IEC 7812-1. */
export function luhn(digits: string): boolean {
  let sum = 0
  for (let n = 0; n < digits.length; n++) {
    const digit = digits.charCodeAt(digits.length - 1 - n) - 48
    sum += n % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0 && /[1-9]/.test(digits)
}
