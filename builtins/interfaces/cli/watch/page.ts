import { describeEvent, isFailure } from '#lib/event-text'
import { idAndName } from '#lib/id-and-name'
import { formatUsd } from '#lib/usd'
import { printableLine } from '../screen/printable.ts'
import type { Style } from '../screen/terminal.ts'
import { wrap } from '../screen/width.ts'
import type { Snapshot } from './feed.ts'
import { fitLine, joinColumns, type Line, type Panel, panel, type Span } from './paint.ts'

type Member = Snapshot['agents'][number]
type Event = Snapshot['events'][number]

/** Shown over the panels: a page of text, or a question below them. */
export type Overlay =
  | { kind: 'none' }
  | { kind: 'text'; title: string; lines: readonly string[]; from: number }
  | { kind: 'ask'; question: string; answer: string }

/** Data of a page. */
export interface View {
  snapshot: Snapshot
  /** Index of the selected agent. */
  at: number
  over: Overlay
  /** Result of the last key. */
  notice: string
  /** Time of day, as HH:MM:SS. */
  time: string
  compact: boolean
}

const STATUS: Readonly<Record<string, readonly [mark: string, paint: keyof Style]>> = {
  working: ['●', 'green'],
  idle: ['○', 'dim'],
  waiting: ['◌', 'yellow'],
  waiting_approval: ['?', 'yellow'],
  paused: ['‖', 'cyan'],
  dead: ['×', 'red'],
}
const KEYS = 'q quit  ↑↓ choose  p pause  n nudge  a approve  f freeze  ? help'
export const HELP = [
  'q, Esc, Ctrl-C   quit; the agents keep running',
  '↑ ↓, j k         choose an agent',
  'p                pause or resume the agent',
  'n                send the agent a nudge, which it reads before its next model call',
  'a                review the tool call that waits longest, with all of its arguments, and decide',
  'f                freeze all agents, so that nothing is spent, or thaw them',
  '?                this page',
  '',
  '● works  ○ idle  ◌ waits  ? waits for your decision  ‖ paused  × dead',
]
/** Minimum number of columns for panels side by side; below it they are stacked. */
const BESIDE_LEAST = 70

/** Returns all lines of the page, each exactly as wide as the terminal. */
export function page(view: View, columns: number, rows: number, style: Style): string[] {
  const head = fitLine(header(view), columns, style)
  const foot = fitLine(footer(view), columns, style)
  const height = rows - 2
  return [head, ...body(view, columns, height, style), foot].slice(0, Math.max(1, rows))
}

function body(view: View, columns: number, height: number, style: Style): string[] {
  const { over, compact } = view
  if (height <= 0) return []
  if (over.kind === 'text') return panel({ title: over.title, lines: textLines(over, columns) }, columns, height, style)
  if (compact) return panel(agents(view, columns), columns, height, style)
  if (columns < BESIDE_LEAST) return stackParts(view, columns, height, style)
  const top = Math.max(5, Math.ceil(height * 0.45))
  const bottom = height - top
  const left = Math.floor((columns - 2) * 0.62)
  const right = columns - 2 - left
  const of = (each: Panel, width: number, rows: number) => panel(each, width, rows, style)
  return [
    ...joinColumns(of(agents(view, left), left, top), of(vitals(view), right, top)),
    ...joinColumns(of(activity(view), left, bottom), of(attention(view, right), right, bottom)),
  ]
}

function stackParts(view: View, columns: number, height: number, style: Style): string[] {
  const parts = [agents(view, columns), attention(view, columns), activity(view), vitals(view)]
  const shares = [0.35, 0.2, 0.25].map(share => Math.max(2, Math.floor(height * share)))
  const heights = [...shares, height - shares.reduce((sum, each) => sum + each, 0)]
  return parts.flatMap((each, at) => panel(each, columns, heights[at]!, style)).slice(0, height)
}

function header({ snapshot: { daemon, problem }, time }: View): Line {
  const state: Span = problem
    ? [problem, 'red']
    : !daemon
      ? 'looking…'
      : daemon.health === 'healthy'
        ? [`daemon ${daemon.pid}, a heartbeat every ${daemon.heartbeat_s} s`, 'green']
        : [daemon.health === 'stopped' ? 'no daemon: svc start' : `daemon ${daemon.health}`, 'yellow']
  const frozen: Span[] = daemon?.frozen ? ['  ', ['FROZEN', 'red']] : []
  return [['svc ', 'bold'], `${time}  `, state, ...frozen]
}

function footer({ over, notice }: View): Line {
  if (over.kind === 'ask') return [[`${over.question} `, 'bold'], over.answer, ['█', 'dim']]
  if (over.kind === 'text') return [[notice || '↑↓ page  Esc back', 'dim']]
  return notice ? [[notice, 'yellow']] : [[KEYS, 'dim']]
}

function agents({ snapshot, at }: View, width: number): Panel {
  const lines = snapshot.agents.map(agent => agentLine(agent, width))
  const none: Line[] = [[['none yet; spawn one with: svc spawn coder', 'dim']]]
  const { hidden } = snapshot
  return {
    title: `Agents (${snapshot.agents.length}${hidden > 0 ? `, ${hidden} ended hidden` : ''})`,
    lines: lines.length > 0 ? lines : none,
    marked: lines.length > 0 ? at : undefined,
  }
}

function agentLine({ agent_id, name, status, goal, held, cost_usd, cycle_count }: Member, width: number): Line {
  const [mark, paint] = STATUS[status] ?? ['·', 'dim']
  const cost: Span[] =
    width >= 60 ? [[`${formatUsd(cost_usd).padStart(10)} ${String(cycle_count).padStart(5)} `, 'dim']] : []
  return [
    [`${mark} `, paint],
    [`${idAndName({ agent_id, name }).padEnd(20)} `, 'bold'],
    ...cost,
    held ? [held, 'yellow'] : (goal ?? status),
  ]
}

function activity({ snapshot: { events } }: View): Panel {
  return { title: 'Activity', lines: events.map(eventLine), atEnd: true }
}

/** Formats an event as one line. */
export function eventLine({ at, agent_id, agent_name, type, data }: Event): Line {
  const who: Span[] = agent_id ? [[`${idAndName({ agent_id, name: agent_name })} `, 'bold']] : []
  const words = describeEvent(type, data)
  return [
    [`${new Date(at).toTimeString().slice(0, 8)} `, 'dim'],
    ...who,
    isFailure(type, data) ? [words, 'red'] : words,
  ]
}

function attention({ snapshot: { approvals, agents, daemon, budget } }: View, width: number): Panel {
  const waiting = approvals.flatMap(({ agent_id, tool_name, approval_id, danger }): Line[] => [
    [['? ', 'yellow'], [tool_name, 'bold'], ` ${agent_id}`],
    [
      ['  ', 'dim'],
      [width > 40 && danger ? `${approval_id}  ${danger}` : approval_id, 'dim'],
    ],
  ])
  const held = agents.filter(({ stuck, waits_for }) => stuck || waits_for === 'answer')
  const lines: Line[] = [
    ...(daemon?.health === 'stalled' || daemon?.health === 'dead'
      ? [[[`daemon ${daemon.health}: svc doctor`, 'red'] as const]]
      : []),
    ...(budget?.exceeded ? [[[budget.message, 'red'] as const]] : []),
    ...waiting,
    ...held.map((agent): Line => [['! ', 'yellow'], `${idAndName(agent)} ${agent.held}`]),
  ]
  const nothing: Line[] = [[['nothing needs your attention', 'dim']]]
  return { title: `Attention (${approvals.length} to decide)`, lines: lines.length > 0 ? lines : nothing }
}

function vitals({ snapshot: { budget, daemon, chosen } }: View): Panel {
  const fact = (name: string, value: string, paint?: keyof Style): Line => [
    [`${name.padEnd(10)}`, 'dim'],
    paint ? [value, paint] : value,
  ]
  const { load, level } = (chosen?.suffering ?? {}) as { load?: number; level?: string }
  const all: Line[] = [
    ...(budget ? [fact('spent', formatSpend(budget.spent.usd, budget.spent.tokens))] : []),
    ...(budget
      ? [fact('budget', budget.unlimited ? 'unlimited' : formatRemaining(budget), budget.exceeded ? 'red' : undefined)]
      : []),
    ...(daemon ? [fact('cycles', `${daemon.in_flight} running`)] : []),
  ]
  if (!chosen) return { title: 'Vitals', lines: all }
  const own: Line[] = [
    [],
    [[idAndName(chosen), 'bold']],
    ...(load === undefined
      ? []
      : [fact('load', `${bar(load)} ${load.toFixed(2)} ${level ?? ''}`, load >= 0.7 ? 'red' : undefined)]),
    ...(chosen.mood ? [fact('mood', chosen.mood)] : []),
    fact('spent', formatSpend(chosen.cost_usd, chosen.tokens)),
    fact('model', chosen.model || 'the default'),
    fact('next', chosen.next.reason),
    ...(chosen.error ? [fact('error', chosen.error, 'red')] : []),
  ]
  return { title: 'Vitals', lines: [...all, ...own] }
}

function formatRemaining({ remaining }: NonNullable<Snapshot['budget']>): string {
  const parts = [
    remaining.usd === null ? '' : formatUsd(remaining.usd),
    remaining.tokens === null ? '' : `${inShort(remaining.tokens)} tokens`,
  ]
  return `${parts.filter(Boolean).join(', ')} left`
}

function formatSpend(usd: number, tokens: number): string {
  return `${formatUsd(usd)}, ${inShort(tokens)} tokens`
}

function inShort(count: number): string {
  if (count < 10_000) return String(count)
  return count < 1e6 ? `${Math.round(count / 1e3)}k` : `${(count / 1e6).toFixed(1)}M`
}

/** Draws a bar for a number from 0 to 1. */
function bar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * 10)
  return '█'.repeat(full) + '░'.repeat(10 - full)
}

function textLines({ lines, from }: { lines: readonly string[]; from: number }, columns: number): Line[] {
  return lines
    .flatMap(line => {
      // Wrapped lines keep the indentation of the first.
      const [indent = ''] = /^ */.exec(line) ?? []
      const available = Math.max(1, columns - indent.length)
      return wrap(printableLine(line.slice(indent.length)), available, true).map(part => indent + part)
    })
    .slice(from)
    .map(line => [line])
}
