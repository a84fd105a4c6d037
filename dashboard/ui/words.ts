/** How figures and times are written. */

const LOCALE = 'en'
const usd = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', maximumFractionDigits: 2 })
const cents = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 })
const compact = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto', style: 'narrow' })
const clock = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
const daytime = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'medium', hourCycle: 'h23' })

export function dollars(amount: number): string {
  return amount !== 0 && Math.abs(amount) < 0.1 ? cents.format(amount) : usd.format(amount)
}
export const count = (n: number) => compact.format(n)
export const percent = (share: number) => `${Math.round(share * 100)} %`
export const plural = (n: number, one: string, many = `${one}s`) =>
  `${n.toLocaleString(LOCALE)} ${n === 1 ? one : many}`

/** The heading of a list of which the newest are shown: all there are, or so many. */
export const newest = (n: number, most: number, one: string, many = `${one}s`) =>
  n < most ? plural(n, one, many) : `The newest ${most} ${many}`

interface Amounts<N> {
  usd: N
  tokens: N
}

/** How much of the tighter of the two limits is used, from 0 to 1 and beyond. */
export function usedOf({ spent, limits }: { spent: Amounts<number>; limits: Amounts<number | null> }): number {
  const share = (of: number, limit: number | null) => (limit === null ? 0 : limit === 0 ? 1 : of / limit)
  return Math.max(share(spent.usd, limits.usd), share(spent.tokens, limits.tokens))
}

/** Units, how many seconds each has, and from how many of it on it is precise enough. */
const STEPS = [
  ['year', 31_557_600, 2],
  ['month', 2_629_800, 2],
  ['day', 86_400, 1],
  ['hour', 3_600, 1],
  ['minute', 60, 1],
] as const

/** `in 5 min`, `2 hr ago`, seconds where it is close. */
export function ago(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000
  if (Math.abs(seconds) < 2) return 'now'
  for (const [unit, length, from] of STEPS) {
    if (Math.abs(seconds) >= length * from) return relative.format(Math.round(seconds / length), unit)
  }
  return relative.format(Math.round(seconds), 'second')
}

/** `740 ms`, `3.2 s`, `5 min 4 s`, `2 h`: as precise as one reads at a glance. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`
  const s = Math.round(ms / 1000)
  if (s < 60) return `${s} s`
  if (s < 3_600) return parted(Math.floor(s / 60), 'min', s % 60, 's')
  const minutes = Math.round(s / 60)
  return parted(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

const parted = (n: number, unit: string, rest: number, small: string) =>
  rest === 0 ? `${n} ${unit}` : `${n} ${unit} ${rest} ${small}`

export const moment = (at: string) => clock.format(new Date(at))
/** The time of day alone. */
export const timeOfDay = (at: string) => daytime.format(new Date(at))

/** Control characters, marks of direction and what has no width, made visible: text of agents must not pretend. */
export function visible(text: string): string {
  return text.replace(
    /(?![\n\t])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    mark => `\\u{${mark.codePointAt(0)!.toString(16)}}`,
  )
}
