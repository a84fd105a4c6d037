/** Formats of figures, times and text for display. */

import { DECEIVING } from '../../../builtins/lib/sanitize.ts'

const LOCALE = 'en'

/** Formats a whole number with separators. */
export const integer = (n: number) => n.toLocaleString(LOCALE)
const usd = new Intl.NumberFormat(LOCALE, { style: 'currency', currency: 'USD', maximumFractionDigits: 2 })

/** Formats an amount: `$1,204.50`, and small ones with two significant digits, such as `$0.0042`. */
export function dollars(amount: number): string {
  if (amount === 0 || Math.abs(amount) >= 0.0995) return usd.format(amount)
  return `$${amount.toFixed(Math.min(9, 1 - Math.floor(Math.log10(Math.abs(amount)))))}`
}
/** Units of large numbers, and where each begins: a number that would round to 1,000 of a unit uses the next one. */
const UNITS = [
  ['B', 1e9, 999_950_000],
  ['M', 1e6, 999_950],
  ['K', 1e3, 1_000],
] as const

/**
 * Formats a number as `740`, `12.3K` or `4M`. Written by hand, because each row of a long list needs it while
 * scrolling.
 */
export function count(n: number): string {
  const [unit, size] = UNITS.find(([, , from]) => n >= from) ?? ['', 1]
  return `${Math.round((n / size) * 10) / 10}${unit}`
}
export const percent = (share: number) => `${Math.round(share * 100)} %`
export const plural = (n: number, one: string, many = `${one}s`) =>
  `${n.toLocaleString(LOCALE)} ${n === 1 ? one : many}`

/** Returns the heading of a list of the newest items: how many there are, or how many are shown. */
export const newest = (n: number, most: number, one: string) =>
  n < most ? plural(n, one) : `The newest ${most} ${one}s`

/** Units: singular, plural, length in seconds, and the smallest number at which the unit is precise enough. */
const STEPS = [
  ['year', 'years', 31_557_600, 2],
  ['month', 'months', 2_629_800, 2],
  ['day', 'days', 86_400, 1],
  ['h', 'h', 3_600, 1],
  ['min', 'min', 60, 1],
  ['s', 's', 1, 0],
] as const

/** Formats a distance in time as `in 5 min`, `2 h ago` or `3 days ago`; in seconds if it is short. */
export function ago(at: string, now: number): string {
  const ahead = (Date.parse(at) - now) / 1000
  const seconds = Math.abs(ahead)
  if (seconds < 2) return 'now'
  // What would round to sixty minutes is shown as an hour.
  const [one, many, length] = STEPS.find(
    ([, , length, from], n) => seconds >= length * from - (STEPS[n + 1]?.[2] ?? 0) / 2,
  )!
  const n = Math.round(seconds / length)
  const words = `${n} ${n === 1 ? one : many}`
  return ahead > 0 ? `in ${words}` : `${words} ago`
}

/** Formats a duration as `740 ms`, `3.2 s`, `5 min 4 s` or `2 h`, as precisely as is readable at a glance. */
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

/** Formats a time as `Nov 21, 2026, 20:55:01`, by the reader's clock. */
export function moment(at: string): string {
  const date = new Date(at)
  return `${MONTHS[date.getMonth()]} ${date.getDate()}, ${date.getFullYear()}, ${timeOfDay(at)}`
}
/** Formats a time of today as `20:55:01`, of another day as `Nov 21, 20:55:01`. */
export function shortMoment(at: string, now: number): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return isToday ? timeOfDay(at) : `${MONTHS[date.getMonth()]} ${date.getDate()}, ${timeOfDay(at)}`
}
/** Converts the times in a message of the server to the reader's clock. */
export const withLocalTimes = (text: string) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, moment)
/** Formats the time of day. */
function timeOfDay(at: string): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(digits).join(':')
}

/**
 * Makes control characters, direction marks and invisible characters visible, so that text of agents cannot deceive.
 */
export function visible(text: string): string {
  return text.replace(DECEIVING, mark => `\\u{${mark.codePointAt(0)!.toString(16)}}`)
}
