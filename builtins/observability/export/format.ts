/** Formats numbers and times for a report. */

let grouped: Intl.NumberFormat | undefined

/**
 * Formats an integer. The formatter is created on demand: locale data takes eight megabytes, which only a report needs.
 */
export function formatInteger(value: number): string {
  grouped ??= new Intl.NumberFormat('en-US')
  return grouped.format(value)
}

/** Formats a time as `2026-01-01 12:00:00 UTC`. */
export function moment(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

/** Formats a time of day, with the date when it differs from that of `from`. */
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

/** Converts a value of any kind to text for people. */
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
