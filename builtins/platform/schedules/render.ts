import { idAndName } from '#lib/id-and-name'
import type { Alarm, Schedule } from './contract.ts'

/** Renders when a schedule is due. */
export function timingOf({ every_n_cycles, every, cron, time_zone }: Schedule): string {
  if (every_n_cycles !== null) return every_n_cycles === 1 ? 'every cycle' : `every ${every_n_cycles} cycles`
  return every === null ? `${cron} (${time_zone})` : `every ${every} s`
}

export function scheduleLine(schedule: Schedule): string {
  const {
    schedule_id,
    agent_id,
    agent_name: name,
    enabled,
    objective,
    next_at,
    next_cycle,
    held_by,
    skipped,
    last_skip,
  } = schedule
  const next = enabled ? `next ${next_at ?? `with cycle ${next_cycle}`}` : 'disabled'
  const held = held_by === null ? '' : `; due, but ${held_by}`
  const lost = skipped === 0 ? '' : `; ${skipped} skipped, last because ${last_skip}`
  return `${schedule_id}  ${idAndName({ agent_id, name })}  ${timingOf(schedule)}, ${next}${held}${lost}\n    ${objective.replace(/\s+/g, ' ')}`
}

export function renderSchedules(schedules: readonly Schedule[]): string {
  return (
    schedules.map(scheduleLine).join('\n') ||
    'no schedules; add one with: svc schedules add <agent> <objective> --every 3600'
  )
}

export function alarmLine({ alarm_id, agent_id, agent_name: name, at, status, description }: Alarm): string {
  const agent = idAndName({ agent_id, name })
  return `${alarm_id}  ${agent}  ${at}${status === 'fired' ? ' (fired)' : ''}  ${description.replace(/\s+/g, ' ')}`
}

export function renderAlarms(alarms: readonly Alarm[]): string {
  return alarms.map(alarmLine).join('\n') || 'no alarms; set one with: svc alarms set <agent> 18:00 <what>'
}
