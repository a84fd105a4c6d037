import { brief } from '#lib/brief'
import { formatUsd } from '#lib/usd'
import type { Span } from '#observability/runs/contract'
import { clock, formatDuration, plural, toText } from './format.ts'
import type { Report } from './gather.ts'
import { html, type Markup } from './html.ts'

interface Window {
  from: number
  to: number
}

/** Draws the goals of all agents over the whole run, one lane per agent. */
export function lanes({ run, trace }: Report): Markup | false {
  const { children } = trace.root
  if (children.length === 0) return false
  const all = windowOf(trace.complete ? [trace.root, ...children] : children.flatMap(({ children }) => children))
  const colours = ['completed', 'active', 'abandoned', 'decision'] as const
  const names = {
    completed: 'goal completed',
    active: 'goal not ended',
    abandoned: 'goal abandoned',
    decision: 'choosing a goal',
  }
  return html`<section id="timeline"><h2>Timeline</h2><figure class="card">
${children.map(agent => html`<div class="lane"><span title="${agent.name}">${agent.name}</span>${bars(agent.children, all)}</div>`)}
<div class="lane"><span></span><div class="ends"><span>${clock(new Date(all.from).toISOString(), run.started_at)}</span><span>${clock(new Date(all.to).toISOString(), run.started_at)} UTC</span></div></div>
<figcaption class="key">${colours.map(colour => html`<span><svg class="bars" viewBox="0 0 1 1" aria-hidden="true"><rect class="${colour}" width="1" height="1"/></svg>${names[colour]}</span>`)}</figcaption>
</figure></section>`
}

/** Number of goals that are unfolded at first. */
const OPEN = 3

/** Shows the steps of each agent for each goal. Yields one piece of markup per goal. */
export function* waterfall(report: Report): Generator<Markup> {
  const { trace } = report
  yield html`<section id="work"><h2>Work</h2>`
  if (trace.root.children.length === 0) yield html`<p class="soft">Nothing was done in this run.</p>`
  let shown = 0
  for (const agent of trace.root.children) {
    const { cycles = {}, last_error } = agent.attributes
    const results = Object.entries(cycles as Record<string, number>).map(([result, n]) => `${result} ${n}`)
    yield html`<div class="card"><h3>${agent.name}</h3><p class="soft">${plural(agent.tokens, 'token')}, ${formatUsd(agent.cost_usd)}${results.length > 0 && ` · cycles: ${results.join(', ')}`}</p>
${typeof last_error === 'string' && html`<p class="label">Last error</p><pre>${last_error}</pre>`}</div>`
    const alone = agent.children.filter(({ kind }) => kind !== 'goal')
    const isTask = report.task !== undefined
    for (const goal of agent.children) if (goal.kind === 'goal') yield goalOf(report, goal, shown++ < OPEN)
    if (alone.length > 0) yield steps(report, isTask ? 'The task, step by step' : 'Outside of goals', alone, isTask)
  }
  yield html`</section>`
}

function goalOf(report: Report, goal: Span, open: boolean): Markup {
  const { reasoning, result } = report.goals.get(goal.span_id) ?? {}
  const facts: [string, string | null | undefined][] = [
    ['Goal', goal.name.length > 160 ? goal.name : null],
    ['Reason', reasoning],
    ['Result', result],
  ]
  const known = facts.filter(([, fact]) => fact)
  return html`<details${open && html` open`}><summary><span class="mark ${goal.status}">${goal.status}</span>${brief(goal.name)}
<span class="soft">${formatDuration(lengthOf(goal))} · ${spendLabel(goal)}</span></summary><div class="inside">
${known.length > 0 && html`<dl class="about">${known.map(([name, fact]) => html`<dt>${name}</dt><dd>${fact}</dd>`)}</dl>`}
${stepsOf(report, goal.children)}</div></details>`
}

function steps(report: Report, title: string, spans: readonly Span[], open: boolean): Markup {
  const [first, last] = [spans[0]!, spans.at(-1)!]
  const took = Date.parse(last.end_time ?? last.start_time) - Date.parse(first.start_time)
  return html`<details${open && html` open`}><summary>${title} <span class="soft">${plural(spans.length, 'call')} in ${formatDuration(took)}</span></summary>
<div class="inside">${stepsOf(report, spans)}</div></details>`
}

/** Draws decisions and tool calls as rows, on a common time axis. */
function stepsOf({ run }: Report, spans: readonly Span[]): Markup {
  const all = windowOf(spans)
  return html`<ol class="steps">${spans.map(span => {
    const { kind, name, status, start_time, attributes } = span
    const what =
      kind === 'decision' ? `${name} · ${String(attributes.decision_type ?? 'call').replaceAll('_', ' ')}` : name
    const row = html`<time>${clock(start_time, run.started_at)}</time><span class="name ${status}" title="${what}">${what}</span>${bars([span], all)}<span class="took">${formatDuration(lengthOf(span))}</span>`
    const more = kind === 'tool' ? toolCall(span) : decision(span)
    return html`<li>${more ? html`<details><summary>${row}</summary><div class="inside">${more}</div></details>` : html`<div class="step">${row}</div>`}</li>`
  })}</ol>`
}

function toolCall({ attributes: { params, output, error } }: Span): Markup {
  const parts: [string, string][] = [
    ['Arguments', toText(params)],
    ['Result', toText(output)],
    ['Error', toText(error)],
  ]
  return html`${parts.map(([name, text]) => text && html`<p class="label">${name}</p><pre>${text}</pre>`)}`
}

function decision(span: Span): Markup | false {
  const { input_tokens, output_tokens, attempts } = span.attributes
  if (span.tokens === 0 && span.status === 'ok') return false
  const tries = typeof attempts === 'number' && attempts > 1 ? `, ${attempts} attempts` : ''
  const failed = span.status === 'error' ? ', no answer' : ''
  return html`<p class="soft">${plural(Number(input_tokens ?? 0), 'token')} in, ${plural(Number(output_tokens ?? 0), 'token')} out, ${formatUsd(span.cost_usd)}${tries}${failed}</p>`
}

function spendLabel({ tokens, cost_usd, children }: Span): string {
  const leaves = children.filter(({ kind }) => kind === 'decision' || kind === 'tool').length
  return [leaves > 0 && plural(leaves, 'call'), plural(tokens, 'token'), formatUsd(cost_usd)].filter(Boolean).join(', ')
}

function lengthOf({ start_time, end_time }: Span): number {
  return end_time === null ? 0 : Math.max(0, Date.parse(end_time) - Date.parse(start_time))
}

function windowOf(spans: readonly Span[]): Window {
  let from = Number.POSITIVE_INFINITY
  let to = 0
  for (const { start_time, end_time } of spans) {
    from = Math.min(from, Date.parse(start_time))
    to = Math.max(to, Date.parse(end_time ?? start_time))
  }
  return Number.isFinite(from) ? { from, to: Math.max(to, from + 1) } : { from: 0, to: 1 }
}

/** Minimum length of a bar, so that each can be seen. */
const LEAST = 4

function bars(spans: readonly Span[], { from, to }: Window): Markup {
  const scale = 1000 / (to - from)
  const rects = spans.map(({ kind, name, status, start_time, end_time }) => {
    const begin = (Date.parse(start_time) - from) * scale
    const length = Math.max(LEAST, (Date.parse(end_time ?? new Date(to).toISOString()) - from) * scale - begin)
    const x = Math.max(0, Math.min(begin, 1000 - length))
    const colour = kind === 'goal' ? status : `${kind} ${status}`
    return html`<rect class="${colour}" x="${x.toFixed(1)}" width="${length.toFixed(1)}" height="10"><title>${brief(name)}: ${status}</title></rect>`
  })
  return html`<svg class="bars" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${plural(spans.length, 'span')}">${rects}</svg>`
}
