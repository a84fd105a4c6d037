import { brief } from '#lib/brief'
import { describeEvent, isFailure } from '#lib/event-text'
import type { LoggedEvent } from '#observability/runs/contract'
import { clock, plural } from './format.ts'
import type { Report } from './gather.ts'
import { html, type Markup } from './html.ts'

/** Events that a report leaves out, because it shows them elsewhere or they are of no interest. */
const LEFT_OUT = new Set(['model_called', 'tool_result', 'suffering_changed'])

function isShown({ type, data }: LoggedEvent): boolean {
  return !LEFT_OUT.has(type) && (type !== 'cycle_done' || data.error !== undefined)
}

function toneOf({ type, data }: LoggedEvent): 'good' | 'bad' | '' {
  if (isFailure(type, data)) return 'bad'
  return type === 'goal_completed' || data.status === 'completed' ? 'good' : ''
}

/** Maximum length of a line in the list, in characters. */
const LONGEST = 400
/** Shown in place of the agent for events of the whole project. */
const NO_AGENT = 'the project'
/** Number of lines in one piece of markup. */
const BATCH_SIZE = 200

/** Lists the events other than calls of models and tools, oldest first. */
export function* renderHappenings({ events, run }: Report): Generator<Markup> {
  const lines = events.filter(isShown)
  if (lines.length === 0) return
  yield html`<section id="events"><h2>Events</h2><p class="soft">${plural(lines.length, 'event')} other than model and tool calls; times in UTC</p><div class="card"><ol class="timeline">`
  for (let at = 0; at < lines.length; at += BATCH_SIZE) {
    yield html`${lines
      .slice(at, at + BATCH_SIZE)
      .map(
        event =>
          html`<li><time>${clock(event.at, run.started_at)}</time><span class="who" title="${event.agent_id ?? NO_AGENT}">${event.agent_id ?? NO_AGENT}</span><span class="what ${toneOf(event)}">${brief(describeEvent(event.type, event.data), LONGEST)}</span></li>`,
      )}`
  }
  yield html`</ol></div></section>`
}
