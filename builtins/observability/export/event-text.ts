import type { LoggedEvent } from '#observability/runs/contract'
import { brief, clock, plural } from './format.ts'
import type { Report } from './gather.ts'
import { html, type Markup } from './html.ts'

type Data = Readonly<Record<string, unknown>>
interface EventText {
  what: string
  tone?: 'good' | 'bad'
}

const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? null))

/** Descriptions of events. undefined leaves an event out, because it is shown elsewhere or is of no interest. */
const SENTENCES: Readonly<Record<string, (data: Data) => EventText | undefined>> = {
  model_called: () => undefined,
  tool_result: () => undefined,
  suffering_changed: () => undefined,
  cycle_done: ({ result, error }) =>
    error ? { what: `cycle ended as ${text(result)}: ${text(error)}`, tone: 'bad' } : undefined,
  agent_spawned: ({ preset }) => ({ what: `spawned from ${text(preset)}` }),
  goal_generated: ({ objective }) => ({ what: `generated a goal: ${text(objective)}` }),
  goal_added: ({ objective, origin }) => ({ what: `received a goal (${text(origin)}): ${text(objective)}` }),
  goal_completed: () => ({ what: 'completed its goal', tone: 'good' }),
  goal_abandoned: () => ({ what: 'abandoned its goal', tone: 'bad' }),
  goal_max_steps: ({ steps_done }) => ({ what: `ran out of steps after ${text(steps_done)}` }),
  approval_requested: ({ tool_name }) => ({ what: `requests approval to call ${text(tool_name)}` }),
  approval_resolved: ({ decision, resolved_by }) => ({ what: `${text(decision)} by ${text(resolved_by)}` }),
  model_failover: ({ from, to, reason }) => ({
    what: `called ${text(to)} instead of ${text(from)}: ${text(reason)}`,
    tone: 'bad',
  }),
  message_sent: ({ type, to_agent }) => ({ what: `sent ${text(type)} to ${text(to_agent)}` }),
  nudge_received: ({ message }) => ({ what: `received a nudge${message ? `: ${text(message)}` : ''}` }),
  task_started: () => ({ what: 'started the task' }),
  task_ended: ({ status }) => ({
    what: `ended the task: ${text(status)}`,
    tone: status === 'completed' ? 'good' : 'bad',
  }),
}

function describeEvent({ type, data }: LoggedEvent): EventText | undefined {
  const sentence = SENTENCES[type]
  if (sentence) return sentence(data)
  const { agent_id: _, ...rest } = data
  return { what: `${type.replaceAll('_', ' ')}${Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : ''}` }
}

/** Maximum length of a line in the list, in characters. */
const LONGEST = 400
/** Number of lines in one piece of markup. */
const BATCH_SIZE = 200

/** Lists the events other than calls of models and tools, oldest first. */
export function* renderHappenings({ events, run }: Report): Generator<Markup> {
  const lines = events.flatMap(event => {
    const line = describeEvent(event)
    return line ? [{ ...line, at: event.at, who: event.agent_id ?? 'the project' }] : []
  })
  if (lines.length === 0) return
  yield html`<section id="events"><h2>Events</h2><p class="soft">${plural(lines.length, 'event')} other than model and tool calls; times in UTC</p><div class="card"><ol class="timeline">`
  for (let at = 0; at < lines.length; at += BATCH_SIZE) {
    yield html`${lines
      .slice(at, at + BATCH_SIZE)
      .map(
        ({ at, who, what, tone }) =>
          html`<li><time>${clock(at, run.started_at)}</time><span class="who" title="${who}">${who}</span><span class="what ${tone ?? ''}">${brief(what, LONGEST)}</span></li>`,
      )}`
  }
  yield html`</ol></div></section>`
}
