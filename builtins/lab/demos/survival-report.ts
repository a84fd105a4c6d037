import type { AgentDetail } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import { formatUsd } from '#lib/usd'
import type { LifeMoment } from '#society/economy/contract'
import { dayOf } from './clock.ts'
import type { DemoContext, DemoReport, ReportBlock } from './contract.ts'

/** Maximum number of turning points reported for each agent. */
const TURNING_POINTS = 5
const LONGEST_QUOTE = 400
const RULE =
  'The thriving score is at most 100: up to 40 for money (credits / (credits + 300), 0 when in debt), up to 25 for happiness, up to 20 for health, and up to 15 for the share of its goals that the agent completed.'

/** An agent's state at the end of a day. */
interface DayEnd {
  day: number
  /** Balance in credits. */
  balance: number
  mood: string
  load: number
  crisis: boolean
}
/** An event, described in a sentence. */
interface Moment {
  day: number
  what: string
  /** Weight among the turning points. */
  weight: number
}
export interface Life {
  name: string
  agent_id: string
  evenings: DayEnd[]
  moments: Moment[]
  detail: AgentDetail
  goals: readonly Goal[]
  /** The agent's journal. */
  journal: string
  events: readonly LifeMoment[]
}

interface Standing {
  balance: number
  job: string | null
  happiness: number
  health: number
  thriving: number
  completed: number
  ended: number
}

/** Returns the report for people: who did well, money over time, turning points, moods, quotes and the costs. */
export function survivalReport(
  lives: readonly Life[],
  { named, seed }: Pick<DemoContext, 'named' | 'seed'>,
  days: number,
): DemoReport {
  const ranked = lives
    .map(life => ({ ...life, standing: finalStateOf(life) }))
    .sort((a, b) => b.standing.thriving - a.standing.thriving || a.name.localeCompare(b.name))
  const blocks: ReportBlock[] = [
    { kind: 'heading', text: 'Ranking' },
    { kind: 'text', text: verdict(ranked) },
    rankingOf(ranked),
    { kind: 'text', text: RULE },
    { kind: 'heading', text: 'Money over time' },
    {
      kind: 'series',
      title: `Credits at the end of each of ${days} days`,
      unit: 'credits',
      lines: ranked.map(({ name, evenings }) => ({ name, values: evenings.map(({ balance }) => balance) })),
    },
    { kind: 'heading', text: 'Suffering and moods' },
    {
      kind: 'series',
      title: 'Suffering load at the end of each day; 100 is the maximum',
      unit: '',
      range: [0, 100],
      lines: ranked.map(({ name, evenings }) => ({ name, values: evenings.map(({ load }) => Math.round(load * 100)) })),
    },
    {
      kind: 'table',
      head: ['Agent', 'Moods over time'],
      rows: ranked.map(({ name, evenings }) => [name, moodsOf(evenings)]),
    },
    ...ranked.flatMap(lifeOf),
    { kind: 'heading', text: 'Cost' },
    {
      kind: 'table',
      head: ['Agent', 'Cycles', 'Tokens', 'USD'],
      rows: ranked.map(({ name, detail }) => [
        name,
        String(detail.cycle_count),
        detail.tokens.toLocaleString('en-US'),
        formatUsd(detail.cost_usd),
      ]),
    },
  ]
  const lead = `${lives.length} agents, ${days} days, one small world. Model: ${named}. Seed ${seed}.`
  return { title: 'Survival', lead, blocks }
}

function rankingOf(ranked: readonly (Life & { standing: Standing })[]): ReportBlock {
  return {
    kind: 'table',
    head: ['Agent', 'Score', 'Credits', 'Job', 'Mood', 'Happiness', 'Health', 'Goals'],
    rows: ranked.map(({ name, evenings, standing }) => [
      name,
      String(standing.thriving),
      standing.balance.toFixed(2),
      standing.job ?? 'none',
      evenings.at(-1)?.mood ?? '-',
      percent(standing.happiness),
      percent(standing.health),
      `${standing.completed} of ${standing.ended} completed`,
    ]),
  }
}

function finalStateOf({ evenings, detail, goals }: Life): Standing {
  const world = (detail.world ?? {}) as { job?: string | null; happiness?: number; health?: number }
  const { job = null, happiness = 0, health = 0 } = world
  const balance = evenings.at(-1)?.balance ?? 0
  const over = goals.filter(({ status }) => status !== 'active')
  const completed = over.filter(({ status }) => status === 'completed').length
  const wealth = balance > 0 ? balance / (balance + 300) : 0
  const reached = over.length > 0 ? completed / over.length : 0
  const thriving = Math.round(40 * wealth + 25 * happiness + 20 * health + 15 * reached)
  return { balance, job, happiness, health, thriving, completed, ended: over.length }
}

function verdict(ranked: readonly (Life & { standing: Standing })[]): string {
  const [first, ...others] = ranked
  const last = others.at(-1)
  const { standing } = first!
  const work = standing.job ? `works as ${standing.job}` : 'has no job'
  const best = `The ${first!.name} did best: it ${work}, has ${standing.balance.toFixed(2)} credits and is ${mood(first!)}.`
  if (!last) return best
  const debt = last.standing.balance < 0 ? 'ended in debt' : `ended with ${last.standing.balance.toFixed(2)} credits`
  return `${best} The ${last.name} had the hardest time: it ${debt} and is ${mood(last)}.`
}

function mood({ evenings }: Life): string {
  return evenings.at(-1)?.mood ?? 'as before'
}

/** Formats spans of moods, as in `content (12 days), tense (3), content (15)`. */
function moodsOf(evenings: Life['evenings']): string {
  const spans: { mood: string; days: number }[] = []
  for (const { mood } of evenings) {
    const last = spans.at(-1)
    if (last?.mood === mood) last.days++
    else spans.push({ mood, days: 1 })
  }
  return spans.map(({ mood, days }) => `${mood} (${days})`).join(', ')
}

function lifeOf({ name, moments, journal, goals, events }: Life): ReportBlock[] {
  const points = turningPoints(moments)
  const quotes = quotesOf(journal)
  const reached = goals.filter(({ status }) => status === 'completed').slice(0, 3)
  return [
    { kind: 'heading', text: `The ${name}` },
    { kind: 'text', text: `Events in its life: ${events.length}. The turning points:` },
    { kind: 'list', items: points.map(({ day, what }) => `Day ${day}: ${what}`) },
    ...quotes.map(({ day, text }): ReportBlock => ({ kind: 'quote', text, by: `from its journal, day ${day}` })),
    ...(reached.length > 0
      ? [
          { kind: 'text', text: 'Its last completed goals:' } as const,
          { kind: 'list', items: reached.map(({ objective }) => objective) } as const,
        ]
      : []),
  ]
}

/** Returns the moments of greatest weight, in order of time. */
export function turningPoints(moments: Life['moments']): Life['moments'] {
  const heaviest = [...moments].sort((a, b) => b.weight - a.weight || a.day - b.day).slice(0, TURNING_POINTS)
  const points = heaviest.sort((a, b) => a.day - b.day)
  return points.length > 0 ? points : [{ day: 0, what: 'No turning points; its days were quiet.', weight: 0 }]
}

/** Returns the longest entries of the journal's first and last half. */
function quotesOf(journal: string): { text: string; day: number }[] {
  // Each heading has a time; the first piece is the text before all headings.
  const pieces = journal.split(/^## (\d{4}-\S+)$/m).slice(1)
  const entries = pieces.flatMap((at, n) => (n % 2 === 0 ? [{ day: dayOf(at), text: pieces[n + 1]!.trim() }] : []))
  const half = Math.ceil(entries.length / 2)
  const longest = (part: typeof entries) => part.toSorted((a, b) => b.text.length - a.text.length).slice(0, 1)
  return [...longest(entries.slice(0, half)), ...longest(entries.slice(half))].map(({ day, text }) => {
    return { day, text: text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE - 1)}…` : text }
  })
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
