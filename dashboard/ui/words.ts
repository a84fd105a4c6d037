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

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** `in 5 min`, `2 hr ago`, seconds where it is close. */
export function ago(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000
  if (Math.abs(seconds) < 2) return 'now'
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit)
  }
  return relative.format(Math.round(seconds), 'second')
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`
}

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
