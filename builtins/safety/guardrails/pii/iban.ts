import type { InspectedText, Span } from '../rule.ts'

/** Lengths by country, from the IBAN registry of SWIFT. */
const LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
  FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
  LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
  SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map(entry => [entry.slice(0, 2), Number(entry.slice(2))]),
)

export const IBAN_START = /(?<![a-z0-9])[a-z]{2}\d{2}(?=[ -]?[a-z0-9])/gi

export function* findIbans({ text, matches }: InspectedText): Generator<Span> {
  for (const { start } of matches(IBAN_START)) {
    const end = ibanEnd(text, start)
    if (end) yield { start, end }
  }
}

/** Returns the end of the IBAN that begins here, with single blanks or hyphens inside; undefined if there is none. */
function ibanEnd(text: string, start: number): number | undefined {
  const length = LENGTHS[text.slice(start, start + 2).toUpperCase()]
  if (!length) return undefined
  let at = start
  let separated = false
  const compact: number[] = []
  for (; compact.length < length; at++) {
    const code = text.charCodeAt(at)
    const value = digitOf(code)
    if (value >= 0) compact.push(value)
    else if ((code !== 32 && code !== 45) || separated) return undefined
    separated = value < 0
  }
  return digitOf(text.charCodeAt(at)) >= 0 || !isIban(compact) ? undefined : at
}

/** Returns the value of an ASCII letter or digit in base 36; -1 for others, and for NaN outside the text. */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const small = code | 0x20
  return small >= 97 && small <= 122 ? small - 87 : -1
}

/**
 * Returns whether the check digits are valid (ISO 13616): the number, rearranged and with letters as 10 to 35, is 1
 * modulo 97.
 */
function isIban(compact: readonly number[]): boolean {
  let rest = 0
  for (let n = 0; n < compact.length; n++) {
    const value = compact[(n + 4) % compact.length] as number
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}
