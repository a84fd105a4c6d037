import { ContextUse } from '#core/models/contract'
import { columns } from '#lib/columns'
import { formatCount } from '#lib/format-count'
import { pluralize } from '#lib/pluralize'
import { formatUsd } from '#lib/usd'
import type { Run, RunDetail, RunTotals, Span, Trace } from './contract.ts'

/** Renders runs for a terminal. */
export function renderRuns(runs: readonly Run[]): string {
  if (runs.length === 0) return 'no runs yet; start one with: svc start'
  const rows = runs.map(run => [
    run.run_id,
    run.kind,
    run.status,
    duration(run.duration_s),
    String(run.agents),
    `${run.goals_completed}/${run.goals_generated}`,
    String(run.tool_calls),
    formatCount(run.tokens),
    formatUsd(run.cost_usd),
  ])
  const head = ['RUN', 'KIND', 'STATUS', 'DURATION', 'AGENTS', 'GOALS', 'TOOLS', 'TOKENS', 'COST']
  return columns([head, ...rows]).join('\n')
}

export function renderRun(run: RunDetail): string {
  const { run_id, kind, status, started_at, ended_at, exit, model, seed, svc_version, node } = run
  const facts: [string, string][] = [
    ['run', `${run_id} (${kind}, ${status}${exit && exit !== status ? `: ${exit}` : ''})`],
    ['started', started_at],
    ['ended', ended_at ?? '-'],
    ['duration', duration(run.duration_s)],
    ['model', model || '-'],
    ['built on', `svc ${svc_version}, node ${node}, seed ${seed ?? '-'}`],
    ['goals', `${run.goals_generated} generated, ${run.goals_completed} completed, ${run.goals_abandoned} abandoned`],
    ['calls', `${run.model_calls} model calls, ${run.tool_calls} tool calls (${run.tool_failures} failed)`],
    ['spent', `${formatCount(run.tokens)} tokens, ${formatUsd(run.cost_usd)}`],
  ]
  const lines = facts.map(([name, value]) => `${name.padEnd(8)}  ${value}`)
  if (run.agents_seen.length === 0) return lines.join('\n')
  const agents = run.agents_seen.map(agent => [agent.agent_id, agent.model || 'default', ...shares(agent)])
  const head = ['AGENT', 'MODEL', 'CYCLES', 'GOALS', 'CALLS', 'TOOLS', 'TOKENS', 'COST']
  return [...lines, '', ...columns([head, ...agents]), '', `show the full trace with: svc trace ${run_id}`].join('\n')
}

export function renderTrace({ root, run_id, next_after, next_before, left_out, broken_lines }: Trace): string {
  const notes = [
    next_before !== null && `show the previous part with: svc trace ${run_id} --before ${next_before}`,
    next_after !== null && `show the next part with: svc trace ${run_id} --after ${next_after}`,
    left_out > 0 && `${left_out} decisions and tool calls are not shown`,
    broken_lines > 0 && `${pluralize(broken_lines, 'line')} of the log could not be read`,
  ].filter(note => note !== false)
  return [...tree(root, '', ''), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n')
}

function tree(span: Span, first: string, below: string): string[] {
  const own = `${first}${line(span)}`
  const children = span.children.flatMap((child, n) => {
    const isLast = n === span.children.length - 1
    return tree(child, `${below}${isLast ? '└ ' : '├ '}`, `${below}${isLast ? '  ' : '│ '}`)
  })
  return [own, ...children]
}

const MARK: Readonly<Record<Span['status'], string>> = {
  running: '…',
  active: '…',
  ok: '·',
  ended: '·',
  completed: '✓',
  abandoned: '✗',
  error: '✗',
  crashed: '✗',
}

function line({ kind, name, status, start_time, end_time, tokens, cost_usd, attributes }: Span): string {
  const mark = kind === 'agent' ? '' : `${MARK[status]} `
  const time = start_time.slice(11, 19)
  const took = kind === 'decision' || kind === 'tool' ? ms(attributes.duration_ms) : durationOf(start_time, end_time)
  const cost = tokens > 0 ? `${formatCount(tokens)} tokens${cost_usd > 0 ? `, ${formatUsd(cost_usd)}` : ''}` : ''
  const detail = kind === 'tool' ? short(attributes.error ?? attributes.params) : kind === 'run' ? status : ''
  const notice = attributes.notice ? `(${attributes.notice})` : ''
  const tools = Array.isArray(attributes.tools) ? ` → ${attributes.tools.join(', ').replaceAll(/\s+/g, ' ')}` : ''
  const what = kind === 'decision' ? `${name} (${attributes.decision_type ?? 'call'})${tools}` : name.split('\n')[0]
  const context = kind === 'decision' ? contextOf(attributes.context) : ''
  return [`${time}  ${mark}${what}`, took, cost, context, detail, notice].filter(Boolean).join('  ')
}

const SHORTENED = {
  summary: 'older turns replaced by a summary',
  digest: 'older turns replaced by a digest',
  cleared: 'old results cleared',
  cut: 'long messages cut',
}

/** Describes how full the context window was, by section; empty if the run did not record it. */
function contextOf(recorded: unknown): string {
  const { data } = ContextUse.safeParse(recorded)
  if (!data) return ''
  const { window, system, tools, messages, answer, room_made } = data
  const percent = (tokens: number) => Math.round((tokens / window) * 100)
  const parts = `system ${percent(system)}, tools ${percent(tools)}, messages ${percent(messages)}, answer ${percent(answer)}`
  const freed = room_made ? `; ${SHORTENED[room_made]}` : ''
  return `${percent(system + tools + messages + answer)} % of ${formatCount(window)} (${parts})${freed}`
}

function shares(totals: RunTotals): string[] {
  const { cycles, goals_completed, goals_generated, model_calls, tool_calls, tokens, cost_usd } = totals
  return [
    cycles,
    `${goals_completed}/${goals_generated}`,
    model_calls,
    tool_calls,
    formatCount(tokens),
    formatUsd(cost_usd),
  ].map(String)
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`
}

function durationOf(from: string, to: string | null): string {
  return to === null ? '' : duration(Math.round((Date.parse(to) - Date.parse(from)) / 100) / 10)
}

function ms(value: unknown): string {
  return typeof value === 'number' ? `${Math.round(value)} ms` : ''
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
  const [first = ''] = text.split('\n')
  return first.length > 80 ? `${first.slice(0, 79)}…` : first
}
