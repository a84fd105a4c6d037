import { type Clock, sentenceOf } from '#kernel'
import { isoTime } from '../store/contract.ts'
import { BadAlarmError, BadScheduleError } from './contract.ts'

/** Missed slots are counted up to here. */
const COUNTED = 2_000
/** So many slots are worked out in a row: each takes about 0.1 ms. */
const IN_A_ROW = 100

/** When something is due, as its row says. */
export interface Times {
  every_ms: number | null
  cron: string | null
  time_zone: string | null
}

/** Croner comes when it is needed: most processes never count a slot. */
async function cronOf(expression: string, timezone: string) {
  const { Cron } = await import('croner')
  return new Cron(expression, { timezone, paused: true })
}

/** @throws BadScheduleError when the expression means nothing, or nothing that ever comes */
export async function checkCron(expression: string, time_zone: string, now: number): Promise<void> {
  let next: Date | null
  try {
    next = (await cronOf(expression, time_zone)).nextRun(new Date(now))
  } catch (error) {
    const problem = isZone(time_zone)
      ? `"${expression}" is not a cron expression such as "0 9 * * 1-5": ${sentenceOf(error)}`
      : `"${time_zone}" is not a time zone such as Europe/Berlin.`
    throw new BadScheduleError({ problem })
  }
  // A single date, which croner takes too, comes once.
  if (!next || /^\d{4}-/.test(expression.trim()))
    throw new BadScheduleError({ problem: `"${expression}" never comes again; give a cron expression that does.` })
}

/** The first slot after a time, in milliseconds; null when there is none any more. */
export async function slotAfter(
  { every_ms, cron, time_zone }: Times,
  from: number,
  time: number,
): Promise<number | null> {
  if (every_ms !== null) return from + every_ms * (Math.floor(Math.max(0, time - from) / every_ms) + 1)
  return (await cronOf(cron as string, time_zone as string)).nextRun(new Date(time))?.getTime() ?? null
}

export interface Passed {
  /** How many slots have come, the first one included. */
  count: number
  /** The last of them. */
  last: number
  /** The first that has not; null when there is none any more. */
  next: number | null
}

/** What has come of the slots from `first` on until now. Of a calendar at most 2,000 are counted. */
export async function slotsPassed(times: Times, first: number, now: number, clock: Clock): Promise<Passed> {
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

/** The time that a text means, in milliseconds. @throws BadAlarmError */
export async function timeOf(text: string, time_zone: string, now: number): Promise<number> {
  const written = text.trim()
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(written)
  const local = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?$/.test(written)
  const absolute = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/i.test(written)
  let time: number | undefined
  try {
    if (absolute && isDay(written.slice(0, 10))) time = Date.parse(written)
    if (clock) {
      const cron = await cronOf(`${clock[3] ?? 0} ${clock[2]} ${clock[1]} * * *`, time_zone)
      time = cron.nextRun(new Date(now))?.getTime()
    }
    // Croner reads a date as a single slot, with the rules of its zone: it must lie ahead of what it is asked after.
    if (local && isDay(written.slice(0, 10)))
      time = (await cronOf(fullTime(written), time_zone)).nextRun(new Date(0))?.getTime()
  } catch {
    time = undefined
  }
  if (time !== undefined && Number.isFinite(time)) return time
  throw new BadAlarmError({
    problem: `"${written.slice(0, 100)}" is not a time; write it like 2026-01-31T18:00:00Z, 2026-01-31T18:00 or 18:00 (${time_zone}).`,
  })
}

/** 30 February is none, though some take it for a day in March. */
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
