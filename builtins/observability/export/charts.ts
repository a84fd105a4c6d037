import { formatUsd } from '#lib/usd'
import type { Span } from '#observability/runs/contract'
import { clock, formatInteger, plural } from './format.ts'
import { type Report, spansOf } from './gather.ts'
import { html, type Markup } from './html.ts'

/** Draws costs, or tokens where nothing had a cost, over time, by model and by agent. */
export function cost(report: Report): Markup {
  const { run, trace } = report
  const calls = spansOf(trace.root)
    .filter(({ kind }) => kind === 'decision')
    .sort((a, b) => endOf(a) - endOf(b))
  const isFree = run.cost_usd === 0
  const [amount, write] = isFree
    ? ([({ tokens }: Span) => tokens, (value: number) => plural(Math.round(value), 'token')] as const)
    : ([({ cost_usd }: Span) => cost_usd, formatUsd] as const)
  return html`<section id="cost"><h2>Cost</h2>
<figure class="card"><figcaption class="soft">${isFree ? 'Tokens (nothing was charged)' : 'US dollars'}, cumulative over the run</figcaption>
${plot(report, calls, amount, write)}</figure>
<div class="grid">${share('By model', calls, call => call.name)}${share('By kind of call', calls, kindOf)}</div></section>`
}

function kindOf({ attributes }: Span): string {
  return String(attributes.decision_type ?? 'other').replaceAll('_', ' ')
}

const endOf = ({ start_time, end_time }: Span) => Date.parse(end_time ?? start_time)

/** Size of a plot in SVG units. Calls at the same rounded position share a point. */
const WIDTH = 1000
const HEIGHT = 100

function plot(
  { run, trace }: Report,
  calls: readonly Span[],
  amount: (span: Span) => number,
  write: (value: number) => string,
): Markup {
  const shown = calls.reduce((sum, call) => sum + amount(call), 0)
  // The line begins at what was spent before the part that is shown.
  const total = Math.max(amount(trace.root), shown)
  const from = trace.complete
    ? Date.parse(run.started_at)
    : Math.min(...calls.map(endOf), Date.parse(run.started_at) + 1)
  const begin = trace.complete ? from : calls[0] ? endOf(calls[0]) : from
  const end = Math.max(begin + 1, ...calls.slice(-1).map(endOf), Date.parse(run.ended_at ?? run.started_at))
  const x = (at: number) => (((at - begin) / (end - begin)) * WIDTH).toFixed(1)
  const y = (value: number) => (HEIGHT - (value / (total || 1)) * HEIGHT).toFixed(2)
  let sum = total - shown
  let path = `M0 ${y(sum)}`
  let drawn = '0.0'
  for (const call of calls) {
    sum += amount(call)
    const at = x(endOf(call))
    path += at === drawn ? `V${y(sum)}` : `H${at}V${y(sum)}`
    drawn = at
  }
  path += `H${WIDTH}`
  return html`<div class="ends"><span>${write(total)}</span></div>
<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="From ${write(total - shown)} to ${write(total)}">
<path class="area" d="${path}V${HEIGHT}H0Z"/><path class="line" d="${path}"/><path class="base" d="M0 ${HEIGHT}H${WIDTH}"/></svg>
<div class="ends"><span>${clock(new Date(begin).toISOString(), run.started_at)}</span><span>${clock(new Date(end).toISOString(), run.started_at)} UTC</span></div>`
}

function share(title: string, calls: readonly Span[], nameOf: (span: Span) => string): Markup | false {
  const sums = new Map<string, { calls: number; tokens: number; cost: number }>()
  for (const call of calls) {
    const sum = sums.get(nameOf(call)) ?? { calls: 0, tokens: 0, cost: 0 }
    sums.set(nameOf(call), { calls: sum.calls + 1, tokens: sum.tokens + call.tokens, cost: sum.cost + call.cost_usd })
  }
  if (sums.size === 0) return false
  const rows = [...sums].sort(([, a], [, b]) => b.cost - a.cost || b.tokens - a.tokens)
  return html`<div class="card wide"><table><thead><tr><th scope="col">${title}</th>${['Calls', 'Tokens', 'Cost'].map(name => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${rows.map(([name, sum]) => html`<tr><td>${name}</td><td class="number">${formatInteger(sum.calls)}</td><td class="number">${formatInteger(sum.tokens)}</td><td class="number">${formatUsd(sum.cost)}</td></tr>`)}</tbody></table></div>`
}
