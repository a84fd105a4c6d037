/** Numbers and times, as a report writes them. */

let grouped: Intl.NumberFormat | undefined

/** What knows the world's languages is eight megabytes, which only a report needs. */
export function formatInteger(value: number): string {
  grouped ??= new Intl.NumberFormat('en-US')
  return grouped.format(value)
}

/** Six places where it matters: that is the grain of the ledger. */
export function usd(value: number): string {
  return `$${value.toFixed(value !== 0 && value < 0.01 ? 6 : 2)}`
}

/** `2026-01-01 12:00:00 UTC` */
export function moment(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

/** The time of day, with the day where the run has several. */
export function clock(iso: string, from: string): string {
  return iso.slice(0, 10) === from.slice(0, 10) ? iso.slice(11, 19) : `${iso.slice(5, 10)} ${iso.slice(11, 19)}`
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${formatInteger(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

export function plural(count: number, one: string): string {
  return `${formatInteger(count)} ${count === 1 ? one : `${one}s`}`
}

/** A value of any kind, as text for people. */
export function toText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  if (!/^\s*[[{]/.test(value)) return value
  try {
    return JSON.stringify(JSON.parse(value), null, 2)
  } catch {
    return value
  }
}

/** One line of it. */
export function brief(text: string, longest = 160): string {
  const line = text
    .slice(0, 4 * longest)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > longest ? `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…` : line
}
