import { columns } from '#lib/columns'
import { pluralize } from '#lib/pluralize'
import { formatUsd } from '#lib/usd'
import type { BenchmarkReport, ModelResult, Spread } from '../contract.ts'
import { wilson } from '../statistics.ts'
import { cost, duration, failures, interval, nameOf, percent } from './format.ts'

type Row = readonly string[]

/** Formats the report for a terminal: a summary of each model, then each scenario. */
export function table({ models, scenarios, runs, cycles, seed, left_out }: BenchmarkReport): string {
  const measured = models.filter(({ runs }) => runs > 0)
  const head = `${pluralize(scenarios.length, 'scenario')}, ${pluralize(runs, 'run')} each, ${pluralize(cycles, 'cycle')}, seed ${seed}`
  const overall = [
    ['MODEL', 'SCORE', '95 %', 'PASSED', '95 %', 'CALLS', 'TOKENS', 'COST', 'P50', 'P95', 'FAILURES'],
    ...measured.map(overallRow),
  ]
  const perRun = [
    ['PER RUN (10 TO 90 %)', 'TURNS', 'TOKENS', 'COST', 'TIME'],
    ...measured.flatMap(({ asked, per_run }) => (per_run ? [[asked, ...spreads(per_run)]] : [])),
  ]
  const each = [
    ['SCENARIO', ...measured.map(({ asked }) => asked)],
    ...scenarios.map(({ name }) => [name, ...measured.map(model => scenarioCell(model, name))]),
  ]
  const categories = [...new Set(scenarios.map(({ category }) => category))]
  const byCategory = [
    ['CATEGORY', ...measured.map(({ asked }) => asked)],
    ...categories.map(category => [category, ...measured.map(model => categoryCell(model, category, scenarios))]),
  ]
  const tables = [overall, perRun, ...(categories.length > 1 ? [byCategory] : []), each]
  const absent = models.flatMap(({ asked, reason, runs }) =>
    reason === null ? [] : [`${asked} ${runs > 0 ? 'was not measured to the end' : 'was not measured'}: ${reason}`],
  )
  const notices = models.flatMap(each => (each.notice ? [nameOf(each)] : []))
  const parts = [
    head,
    ...(measured.length > 0 ? tables.map(rows => columns(rows).join('\n')) : []),
    left_out.length > 0 ? `Left out because no sandbox is available to run programs: ${left_out.join(', ')}` : '',
    notices.join('\n'),
    absent.join('\n'),
  ]
  return parts.filter(Boolean).join('\n\n')
}

function overallRow(model: ModelResult): Row {
  const { score, score_interval, passed, runs, pass_interval, calls, tokens, latency_ms } = model
  return [
    model.asked,
    percent(score),
    interval(score_interval),
    `${passed} of ${runs}`,
    interval(pass_interval),
    String(calls),
    String(tokens.input + tokens.output),
    cost(model),
    ...(latency_ms ? [duration(latency_ms.p50), duration(latency_ms.p95)] : ['-', '-']),
    failures(model),
  ]
}

function scenarioCell({ scenarios }: ModelResult, name: string): string {
  const found = scenarios.find(each => each.name === name)
  return found ? `${percent(found.score)} (${found.passed} of ${found.runs})` : '-'
}

/** Returns the share of passed runs of a category, with its interval. */
function categoryCell({ scenarios }: ModelResult, category: string, all: BenchmarkReport['scenarios']): string {
  const names = new Set(all.filter(each => each.category === category).map(({ name }) => name))
  const own = scenarios.filter(({ name }) => names.has(name))
  const sum = (of: 'passed' | 'runs') => own.reduce((total, each) => total + each[of], 0)
  return own.length > 0 ? `${sum('passed')} of ${sum('runs')} (${interval(wilson(sum('passed'), sum('runs')))})` : '-'
}

function spreads({ calls, tokens, cost_usd, duration_ms }: NonNullable<ModelResult['per_run']>): string[] {
  const text = ({ median, p10, p90 }: Spread, say: (value: number) => string) =>
    `${say(median)} (${say(p10)} to ${say(p90)})`
  const whole = (value: number) => String(Math.round(value))
  return [text(calls, whole), text(tokens, whole), text(cost_usd, formatUsd), text(duration_ms, duration)]
}
