/** How figures and times are written. */

const LOCALE = 'en'

/** A whole number with separators. */
export const integer = (n: number) => n.toLocaleString(LOCALE)
const usd = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', maximumFractionDigits: 2 })

/** `$1,204.50`, and `$0.0042` with two digits that count where it is little. */
export function dollars(amount: number): string {
  if (amount === 0 || Math.abs(amount) >= 0.0995) return usd.format(amount)
  return `$${amount.toFixed(Math.min(9, 1 - Math.floor(Math.log10(Math.abs(amount)))))}`
}
/** Units of large numbers, and where each begins: a number that rounds to a thousand of one unit is shown in the next. */
const UNITS = [
  ['B', 1e9, 999_950_000],
  ['M', 1e6, 999_950],
  ['K', 1e3, 1_000],
] as const

/** `740`, `12.3K`, `4M`: by hand, as each row of long lists has one while it scrolls by. */
export function count(n: number): string {
  const [unit, size] = UNITS.find(([, , from]) => n >= from) ?? ['', 1]
  return `${Math.round((n / size) * 10) / 10}${unit}`
}
export const percent = (share: number) => `${Math.round(share * 100)} %`
export const plural = (n: number, one: string, many = `${one}s`) =>
  `${n.toLocaleString(LOCALE)} ${n === 1 ? one : many}`

/** The heading of a list that shows the newest items: all of them, or a number. */
export const newest = (n: number, most: number, one: string) =>
  n < most ? plural(n, one) : `The newest ${most} ${one}s`

interface Amounts<N> {
  usd: N
  tokens: N
}

/** How much of the tighter of the two limits is used, from 0 to 1 and beyond. */
export function usedOf({ spent, limits }: { spent: Amounts<number>; limits: Amounts<number | null> }): number {
  const share = (of: number, limit: number | null) => (limit === null ? 0 : limit === 0 ? 1 : of / limit)
  return Math.max(share(spent.usd, limits.usd), share(spent.tokens, limits.tokens))
}

/** Units, one and many, how many seconds each has, and from how many of it on it is precise enough. */
const STEPS = [
  ['year', 'years', 31_557_600, 2],
  ['month', 'months', 2_629_800, 2],
  ['day', 'days', 86_400, 1],
  ['h', 'h', 3_600, 1],
  ['min', 'min', 60, 1],
  ['s', 's', 1, 0],
] as const

/** `in 5 min`, `2 h ago`, `3 days ago`; seconds where it is close. */
export function ago(at: string, now: number): string {
  const ahead = (Date.parse(at) - now) / 1000
  const seconds = Math.abs(ahead)
  if (seconds < 2) return 'now'
  // What would be rounded to sixty minutes is an hour.
  const [one, many, length] = STEPS.find(
    ([, , length, from], n) => seconds >= length * from - (STEPS[n + 1]?.[2] ?? 0) / 2,
  )!
  const n = Math.round(seconds / length)
  const words = `${n} ${n === 1 ? one : many}`
  return ahead > 0 ? `in ${words}` : `${words} ago`
}

/** `740 ms`, `3.2 s`, `5 min 4 s`, `2 h`: as precise as one reads at a glance. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`
  const s = Math.round(ms / 1000)
  if (s < 60) return `${s} s`
  if (s < 3_600) return twoUnits(Math.floor(s / 60), 'min', s % 60, 's')
  const minutes = Math.round(s / 60)
  return twoUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

const twoUnits = (n: number, unit: string, rest: number, small: string) =>
  rest === 0 ? `${n} ${unit}` : `${n} ${unit} ${rest} ${small}`

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const digits = (n: number) => String(n).padStart(2, '0')

/** `Nov 21, 2026, 20:55:01`, on the reader's clock. */
export function moment(at: string): string {
  const date = new Date(at)
  return `${MONTHS[date.getMonth()]} ${date.getDate()}, ${date.getFullYear()}, ${timeOfDay(at)}`
}
/** `20:55:01` of today, `Nov 21, 20:55:01` of another day. */
export function shortMoment(at: string, now: number): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return isToday ? timeOfDay(at) : `${MONTHS[date.getMonth()]} ${date.getDate()}, ${timeOfDay(at)}`
}
/** A sentence of the server, its moments as the reader's clock has them. */
export const withLocalTimes = (text: string) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, moment)
/** The time of day alone. */
function timeOfDay(at: string): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(digits).join(':')
}

/** Control characters, marks of direction and what has no width, made visible: text of agents must not pretend. */
export function visible(text: string): string {
  return text.replace(
    /(?![\n\t])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    mark => `\\u{${mark.codePointAt(0)!.toString(16)}}`,
  )
}
