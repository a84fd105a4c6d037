import { type Clock, errorMessage } from '#kernel'
import { isoTime } from '#platform/store/contract'
import { BadAlarmError, BadScheduleError } from './contract.ts'

/** Maximum number of missed slots that are counted. */
const COUNTED = 2_000
/** Number of slots computed without yielding to the event loop; each takes about 0.1 ms. */
const IN_A_ROW = 100

/** Columns of a row that define when it is due. */
export interface Times {
  every_ms: number | null
  cron: string | null
  time_zone: string | null
}

/** Loads croner on first use: most processes never count a slot. */
async function cronOf(expression: string, timezone: string) {
  const { Cron } = await import('croner')
  return new Cron(expression, { timezone, paused: true })
}

/** @throws BadScheduleError when the expression is invalid, or never due */
export async function checkCron(expression: string, time_zone: string, now: number): Promise<void> {
  let next: Date | null
  try {
    next = (await cronOf(expression, time_zone)).nextRun(new Date(now))
  } catch (error) {
    const problem = isZone(time_zone)
      ? `"${expression}" is not a cron expression such as "0 9 * * 1-5": ${errorMessage(error)}`
      : `"${time_zone}" is not a time zone such as Europe/Berlin.`
    throw new BadScheduleError({ problem })
  }
  // Croner also accepts a single date, which is due once.
  if (!next || /^\d{4}-/.test(expression.trim()))
    throw new BadScheduleError({ problem: `"${expression}" does not recur; give a cron expression that does.` })
}

/** Returns the first slot after a time, in milliseconds; null if there are no more. */
export async function slotAfter(
  { every_ms, cron, time_zone }: Times,
  from: number,
  time: number,
): Promise<number | null> {
  if (every_ms !== null) return from + every_ms * (Math.floor(Math.max(0, time - from) / every_ms) + 1)
  return (await cronOf(cron as string, time_zone as string)).nextRun(new Date(time))?.getTime() ?? null
}

export interface PassedSlots {
  /** Number of slots until now, the first one included. */
  count: number
  /** The last of these slots. */
  last: number
  /** The first slot after now; null if there are no more. */
  next: number | null
}

/** Returns the slots from `first` until now. Of a cron expression at most 2,000 are counted. */
export async function passedSlots(times: Times, first: number, now: number, clock: Clock): Promise<PassedSlots> {
  if (times.every_ms !== null) {
    const count = Math.floor((now - first) / times.every_ms) + 1
    const last = first + (count - 1) * times.every_ms
    return { count, last, next: last + times.every_ms }
  }
  const cron = await cronOf(times.cron as string, times.time_zone as string)
  let [count, last] = [1, first]
  for (;;) {
    const next = cron.nextRun(new Date(last))?.getTime() ?? null
    if (next === null || next > now) return { count, last, next }
    if (count === COUNTED) return { count, last, next: cron.nextRun(new Date(now))?.getTime() ?? null }
    last = next
    if (++count % IN_A_ROW === 0) await clock.yield()
  }
}

const UNITS: readonly (readonly [names: RegExp, ms: number])[] = [
  [/^(?:s|secs?|seconds?)$/i, 1_000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
  [/^(?:w|weeks?)$/i, 604_800_000],
]
const DURATION = /(\d{1,9}(?:\.\d{1,3})?) *([a-z]+)(?:,? *(?:and )?)/gi

/**
 * Reads a time of day or date, with or without a zone or offset, or a time from now (`in 5 minutes`).
 * @param time_zone IANA name, for a time that names no zone itself
 * @param now in milliseconds since 1970, like the result
 * @throws BadAlarmError
 */
export async function timeOf(text: string, time_zone: string, now: number): Promise<number> {
  const written = text.trim()
  const later = durationOf(written)
  if (later !== undefined) return now + later
  const { time: local, zone = time_zone } = splitZone(written)
  const time = isoTimeOf(written) ?? (await localTimeOf(local, zone, now).catch(() => undefined))
  if (time !== undefined && Number.isFinite(time)) return time
  throw new BadAlarmError({
    problem: `"${written.slice(0, 100)}" is not a time; write it like 2026-01-31T18:00:00Z, 18:00 (${time_zone}), 2026-01-31 18:00 America/New_York or "in 5 minutes".`,
  })
}

/** Parses a duration such as `in 1 hour 30 minutes` to milliseconds; undefined for anything else. */
function durationOf(text: string): number | undefined {
  const amounts = /^in +(.+)$/i.exec(text)?.[1]
  if (amounts === undefined || amounts.replace(DURATION, '') !== '') return undefined
  let total = 0
  for (const [, amount, unit = ''] of amounts.matchAll(DURATION)) {
    const [, ms] = UNITS.find(([names]) => names.test(unit)) ?? []
    if (ms === undefined) return undefined
    total += Number(amount) * ms
  }
  return total
}

/** Splits the zone off a time: `18:00 Europe/Berlin`, `2026-01-31T18:00[Europe/Berlin]`. */
function splitZone(text: string): { time: string; zone?: string } {
  const [, time = text, zone] = /^(.*\d)(?: +|\[)([A-Za-z][\w+/-]*)\]?$/.exec(text) ?? []
  return zone !== undefined && isZone(zone) ? { time, zone } : { time: text }
}

/** Parses a date and time with an offset; undefined for anything else. */
function isoTimeOf(text: string): number | undefined {
  const absolute = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/i.test(text)
  return absolute && isDay(text.slice(0, 10)) ? Date.parse(text.replace(' ', 'T')) : undefined
}

/**
 * Parses a time of day, for its next occurrence, or a date, by the clocks in the zone.
 * @throws if croner refuses it
 */
async function localTimeOf(text: string, zone: string, now: number): Promise<number | undefined> {
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text)
  if (clock) {
    const cron = await cronOf(`${clock[3] ?? 0} ${clock[2]} ${clock[1]} * * *`, zone)
    return cron.nextRun(new Date(now))?.getTime()
  }
  const isDate = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?$/.test(text)
  if (!isDate || !isDay(text.slice(0, 10))) return undefined
  // Croner reads a date as a single slot in its zone; searching from 1970 finds it.
  return (await cronOf(fullTime(text), zone)).nextRun(new Date(0))?.getTime()
}

/** Returns whether a date exists: 30 February does not, although some parsers read it as a day in March. */
function isDay(date: string): boolean {
  const time = Date.parse(`${date}T00:00:00Z`)
  return Number.isFinite(time) && isoTime(time).startsWith(date)
}

function fullTime(text: string): string {
  const [date, time = '00:00'] = text.split(/[T ]/)
  return `${date}T${time.length === 5 ? `${time}:00` : time}`
}

export function isZone(time_zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: time_zone })
    return true
  } catch {
    return false
  }
}
