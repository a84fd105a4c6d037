import type { InspectedText, Span } from '../rule.ts'

const EXTENSION = '(?: ?(?:x|ext\\.?|extension|#) ?\\d{1,6})?'
const END = '(?![\\w-]|[./]\\d)'
const BEFORE = '(?<![\\w./:#$-]|\\d )'

/** North American numbers: area code and exchange begin with 2 to 9, with one separator throughout. */
const AMERICAN = ['-', '\\.', ' '].map(by => `[2-9]\\d\\d${by}[2-9]\\d\\d${by}\\d{4}`).join('|')

/** Formats of phone numbers, each with its minimum and maximum number of digits without an extension. */
export const PHONE_SHAPES: readonly (readonly [shape: RegExp, least: number, most: number])[] = [
  // E.164: + or 00 and a country code.
  [new RegExp(`(?<![\\w+.])\\+[1-9](?:[ .()/-]{0,2}\\d){6,14}${EXTENSION}${END}`, 'gi'), 8, 15],
  [new RegExp(`${BEFORE}00[1-9]\\d{0,2}[ .-](?:[ .()/-]{0,2}\\d){6,12}${EXTENSION}${END}`, 'gi'), 9, 17],
  [new RegExp(`${BEFORE}(?:1[ .-])?(?:${AMERICAN})${EXTENSION}${END}`, 'gi'), 10, 11],
  [new RegExp(`${BEFORE}\\([2-9]\\d\\d\\) ?[2-9]\\d\\d[ .-]?\\d{4}${EXTENSION}${END}`, 'gi'), 10, 10],
  // An area code in parentheses.
  [new RegExp(`(?<!\\w)\\(\\+?0?\\d{1,5}\\)[ /-]?\\d{2,8}(?:[ -]\\d{2,5}){0,4}${EXTENSION}${END}`, 'gi'), 9, 13],
  // A leading 0: 030 1234567, 0171/1234567, 01 23 45 67 89. With one more pair, the digits would be a list of bytes.
  [
    new RegExp(
      `${BEFORE}0[1-9]\\d{0,4}(?: ?[/-] ?| )\\d{2,8}(?:[ -]\\d{2,8}){0,4}${EXTENSION}${END}(?! [\\da-f]{2}\\b)`,
      'gi',
    ),
    9,
    12,
  ],
]
/** A number of at least seven digits after a word such as "phone". */
export const NAMED_PHONE = new RegExp(
  `\\b(?:tel(?:e(?:ph|f)on[eo]?)?|phone|mobile?|cell|fax|whatsapp|handy|rufnummer|movil|portable|dial|(?:call|text|reach|ring) (?:me|us|him|her|them)(?: back)?)(?: (?:number|no\\.?|nr\\.?|is|at|on|under)){0,3}["'.:=# ]{1,5}([+(]{0,2}\\d(?:[ .()/-]{0,2}\\d){6,14}${EXTENSION})${END}`,
  'gi',
)
/** Matches dates and nine-digit post codes, which are not phone numbers. */
const NO_PHONE = /^(?:\d{5}-\d{4}$|\d{4}[-/. ]\d{1,2}[-/. ]\d{1,2}(?!\d)|\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}(?!\d))/

export function* findPhones({ matches }: InspectedText): Generator<Span> {
  for (const [shape, least, most] of PHONE_SHAPES) {
    for (const { start, end, found } of matches(shape)) {
      const digits = (found[0].split(/x|ext|#/i, 1)[0] ?? '').replace(/\D/g, '')
      if (digits.length >= least && digits.length <= most && !NO_PHONE.test(found[0])) yield { start, end }
    }
  }
  for (const { end, found } of matches(NAMED_PHONE)) {
    const [, number = ''] = found
    if (!NO_PHONE.test(number)) yield { start: end - number.length, end }
  }
}
