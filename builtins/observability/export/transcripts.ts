import type { ImageRef } from '#core/images/contract'
import { brief } from '#lib/brief'
import { clock, plural, toText } from './format.ts'
import type { Report, TranscriptMessage } from './gather.ts'
import { html, type Markup } from './html.ts'

/** Shows the stored messages to and from models. Yields one piece of markup per conversation. */
export function* transcripts({ talks, pictures, task, trace, run }: Report): Generator<Markup> {
  if (talks.size === 0 && !task) return
  yield html`<section id="transcripts"><h2>Transcripts</h2>`
  if (task) {
    yield html`<div class="card"><h3>The task</h3><pre>${task.instruction}</pre><p class="label">${task.status}</p><pre>${task.output || 'no output'}</pre></div>`
  }
  const names = new Map(
    trace.root.children.flatMap(agent =>
      agent.children.map(goal => [goal.span_id, `${agent.name}: ${goal.name}`] as const),
    ),
  )
  for (const [about, messages] of talks) {
    yield html`<details${task && html` open`}><summary>${brief(names.get(about) ?? about)} <span class="soft">${plural(messages.length, 'message')}</span></summary>
<div class="inside">${messages.map(each => messageOf(each, pictures, run.started_at))}</div></details>`
  }
  if (!task) yield html`<p class="soft">The transcript of a goal is kept only while the goal is active.</p>`
  yield html`</section>`
}

function messageOf(
  { role, content, tool_calls = [], name, is_error, images = [], at }: TranscriptMessage,
  pictures: Report['pictures'],
  from: string,
): Markup {
  return html`<div class="said ${role} ${is_error && 'failed'}"><p class="soft">${role}${name && ` · ${name}`} · ${clock(at, from)}</p>
${content && (role === 'tool' ? html`<pre>${content}</pre>` : html`<div class="text">${content}</div>`)}
${images.map(image => pictureOf(image, pictures.get(image.sha256)))}
${tool_calls.map(call => html`<p class="label">calls <code>${call.name}</code></p><pre>${toText(call.arguments)}</pre>`)}</div>`
}

function pictureOf({ name = 'image', media_type, width, height }: ImageRef, data: string | undefined): Markup {
  const label = `${name} (${media_type}, ${width} × ${height} pixels)`
  if (data === undefined) return html`<p class="soft">${label}</p>`
  return html`<p><img src="data:${media_type};base64,${data}" alt="${label}" width="${width}" height="${height}"></p>`
}

/** Shows the messages between agents. */
export function mail({ mail, run }: Report): Markup | false {
  if (mail.length === 0) return false
  return html`<section id="messages"><h2>Messages</h2><div class="card">${mail.map(
    ({ type, from, to, subject, body, at }) =>
      html`<div class="said"><p class="soft">${from} to ${to} · ${type} · ${clock(at, run.started_at)}</p>
${subject && html`<h3>${subject}</h3>`}<div class="text">${body}</div></div>`,
  )}</div></section>`
}
