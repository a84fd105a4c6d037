import { formatUsd } from '#lib/usd'
import type { RunDetail, Trace } from '#observability/runs/contract'
import { formatDuration, formatInteger, moment, plural } from './format.ts'
import type { Report } from './gather.ts'
import { html, type Markup } from './html.ts'

/** Shows the run's title and main facts. */
export function heading({ run, trace }: Report): Markup {
  const { run_id, kind, status, exit, started_at, ended_at, duration_s, model } = run
  const { notice } = trace.root.attributes
  return html`<header>
<p class="eyebrow">svc · report of a run</p>
<h1>${run_id}</h1>
<p class="facts"><span><span class="mark ${status}">${status}</span>${exit && exit !== status ? exit : ''}</span>
<span>${kind === 'task' ? 'a one-shot task' : kind}</span>
<span>started <b>${moment(started_at)}</b></span>
${ended_at && html`<span>ended <b>${moment(ended_at)}</b></span>`}
<span>duration <b>${formatDuration(duration_s * 1000)}</b></span>
<span>model <b>${model || 'none'}</b></span></p>
${typeof notice === 'string' && html`<p class="notice">The model is ${notice}.</p>`}
${renderOmissions(trace)}</header>`
}

function renderOmissions({ complete, left_out, broken_lines }: Trace): Markup | false {
  if (complete && left_out === 0 && broken_lines === 0) return false
  const broken = broken_lines > 0 ? ` ${plural(broken_lines, 'line')} of the log could not be read.` : ''
  const calls = `${plural(left_out, 'call')} of models and tools`
  const old = complete
    ? left_out > 0 && `${calls} are not in the log any more. `
    : `This was a long run: the report shows only its newest part, and omits ${calls} before it. `
  return html`<p class="notice">${old}The totals cover the whole run.${broken}</p>`
}

/** Shows totals of the run. */
export function totals({ run }: Report): Markup {
  const { goals_generated, goals_completed, goals_abandoned, tool_calls, tool_failures } = run
  const tiles: [string, string, string][] = [
    ['Agents', formatInteger(run.agents), ''],
    ['Cycles', formatInteger(run.cycles), 'in which something happened'],
    [
      'Goals',
      formatInteger(goals_completed),
      `completed of ${formatInteger(goals_generated)}; ${formatInteger(goals_abandoned)} abandoned`,
    ],
    ['Model calls', formatInteger(run.model_calls), ''],
    [
      'Tool calls',
      formatInteger(tool_calls),
      tool_failures > 0 ? `${formatInteger(tool_failures)} failed` : 'none failed',
    ],
    ['Tokens', formatInteger(run.tokens), ''],
    ['Cost', formatUsd(run.cost_usd), ''],
  ]
  return html`<section id="summary"><h2>Summary</h2>
<dl class="tiles">${tiles.map(([name, value, more]) => html`<div><dt>${name}</dt><dd>${value}${more && html`<small>${more}</small>`}</dd></div>`)}</dl></section>`
}

/** Shows the agents that took part. */
export function agents({ run }: Report): Markup | false {
  if (run.agents_seen.length === 0) return false
  const head = ['Agent', 'Model', 'Cycles', 'Goals', 'Model calls', 'Tool calls', 'Tokens', 'Cost']
  const rows = run.agents_seen.map(agent => {
    const { agent_id, name, model, cycles, goals_completed, goals_generated, model_calls, tool_calls } = agent
    const { tokens, cost_usd } = agent
    const numbers = [
      formatInteger(cycles),
      `${formatInteger(goals_completed)}/${formatInteger(goals_generated)}`,
      formatInteger(model_calls),
    ]
    return html`<tr><td>${agent_id.startsWith(`${name}-`) ? agent_id : `${name || agent_id} ${name && `(${agent_id})`}`}</td><td>${model || 'default'}</td>
${[...numbers, formatInteger(tool_calls), formatInteger(tokens), formatUsd(cost_usd)].map(number => html`<td class="number">${number}</td>`)}</tr>`
  })
  return html`<section id="agents"><h2>Agents</h2><div class="card wide"><table>
<thead><tr>${head.map((name, n) => html`<th scope="col" class="${n > 1 ? 'number' : ''}">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div></section>`
}

const MADE_OF = [
  'run_id',
  'kind',
  'status',
  'exit',
  'started_at',
  'ended_at',
  'svc_version',
  'node',
  'seed',
  'heartbeat',
  'model',
  'model_config',
  'agent_id',
  'task_id',
  'session_id',
  'profiles',
  'agent_ids',
  'tools',
  'plugins',
] as const satisfies readonly (keyof RunDetail)[]

/** Shows the run's manifest. */
export function manifest({ run }: Report): Markup {
  const facts = Object.fromEntries(MADE_OF.map(name => [name, run[name]]))
  return html`<section id="manifest"><h2>Manifest</h2>
<details><summary>Version, configuration, agents, tools and plugins of the run</summary><div class="inside"><pre>${JSON.stringify(facts, null, 2)}</pre></div></details></section>`
}
