import { describeEvent } from '#lib/event-text'
import { idAndName } from '#lib/id-and-name'
import type { EventEnvelope } from '#platform/store/contract'
import type { NotificationsConfig } from './config.ts'

/** Maximum length of the description of one event, in characters. */
const LONGEST = 500

/** Commands that show what to decide, by type of event. */
const NEXT: Readonly<Record<string, (data: EventEnvelope['data']) => string>> = {
  approval_requested: ({ approval_id }) => `svc approvals show ${approval_id}`,
  question_asked: ({ question_id }) => `svc questions show ${question_id}`,
  budget_exceeded: () => 'svc budget',
  goal_completed: ({ goal_id }) => `svc goal ${goal_id}`,
  goal_abandoned: ({ goal_id }) => `svc goal ${goal_id}`,
  task_ended: ({ task_id }) => `svc task ${task_id}`,
}

/** Describes an event on one line, with the command that shows more of it. */
export function lineOf({ type, data, agent_id, agent_name }: EventEnvelope): string {
  const who = agent_id === null ? '' : `${idAndName({ agent_id, name: agent_name })} `
  const next = NEXT[type]?.(data)
  return `${who}${describeEvent(type, data).slice(0, LONGEST)}${next ? ` (${next})` : ''}`
}

interface Message {
  text: string
  events: readonly EventEnvelope[]
}

/** Returns the body of a request, and its media type. */
export function requestBody(format: NotificationsConfig['format'], { text, events }: Message) {
  if (format === 'text') return { body: text, type: 'text/plain; charset=utf-8' }
  const shown = events.map(event => {
    const { seq, type, at, agent_id, agent_name = null } = event
    return { seq, type, at, agent_id, agent_name, text: lineOf(event) }
  })
  return { body: JSON.stringify(format === 'chat' ? { text } : { text, events: shown }), type: 'application/json' }
}
