import { describeEvent } from '#lib/event-text'
import { idAndName } from '#lib/id-and-name'
import { oneLine, removeControlCharacters } from '#lib/sanitize'
import type { EventEnvelope } from '#platform/store/contract'
import type { NotificationsConfig } from './config.ts'

/** Maximum length of the description of one event, in characters. */
const LONGEST = 500

type Data = EventEnvelope['data']
/** Where more of an event is shown: by a command, and on the dashboard's page of this address. */
type Next = readonly [command: string, ...page: unknown[]]

const ofGoal = ({ goal_id, agent_id }: Data): Next => [
  `svc goals show ${goal_id}`,
  'agents',
  agent_id,
  'goals',
  goal_id,
]
const NEXT: Readonly<Record<string, (data: Data) => Next>> = {
  approval_requested: ({ approval_id }) => [`svc approvals show ${approval_id}`, 'approvals', 'item', approval_id],
  question_asked: ({ question_id, agent_id }) => [`svc questions show ${question_id}`, 'agents', agent_id],
  budget_exceeded: () => ['svc budget', 'spend'],
  goal_completed: ofGoal,
  goal_abandoned: ofGoal,
  task_ended: ({ task_id, session_id }) => [`svc task ${task_id}`, 'sessions', session_id],
}

/**
 * Describes an event on one line, with the command that shows more of it.
 * @param address of this server, for a link to its dashboard; empty for no link
 */
export function lineOf({ type, data, agent_id, agent_name }: EventEnvelope, address: string): string {
  const who = agent_id === null ? '' : `${idAndName({ agent_id, name: agent_name })} `
  const [command, ...page] = NEXT[type]?.(data) ?? ['']
  const next = command && ` (${command})`
  const link =
    command &&
    address &&
    ` ${address.replace(/\/$/, '')}/#/${page.map(part => encodeURIComponent(String(part))).join('/')}`
  const what = oneLine(removeControlCharacters(describeEvent(type, data))).slice(0, LONGEST)
  return `${who}${what}${next}${link}`
}

interface Message {
  text: string
  events: readonly EventEnvelope[]
  /** As in `lineOf`. */
  address: string
}

/** Returns the body of a request, and its media type. */
export function requestBody(format: NotificationsConfig['format'], { text, events, address }: Message) {
  if (format === 'text') return { body: text, type: 'text/plain; charset=utf-8' }
  const shown = events.map(event => {
    const { seq, type, at, agent_id, agent_name = null } = event
    return { seq, type, at, agent_id, agent_name, text: lineOf(event, address) }
  })
  const message = format === 'chat' ? { text: withoutMarkup(text) } : { text, events: shown }
  return { body: JSON.stringify(message), type: 'application/json' }
}

/** Keeps text of agents from becoming links with another text, and mentions of everyone, in a chat. */
function withoutMarkup(text: string): string {
  return text
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('](', '] (')
    .replace(/@(?=everyone|here|channel|all)/gi, '@ ')
}
