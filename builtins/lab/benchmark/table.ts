import { columns } from '#lib/columns'
import { pluralize } from '#lib/pluralize'
import type { BenchmarkReport, ModelResult } from './contract.ts'
import { cost, duration, failures, interval, nameOf, percent } from './words.ts'

type Row = readonly string[]

/** The report for a terminal: how each model did, then scenario by scenario. */
export function table({ models, scenarios, runs, cycles, seed }: BenchmarkReport): string {
  const measured = models.filter(({ runs }) => runs > 0)
  const head = `${scenarios.length} scenarios, ${pluralize(runs, 'run')} each, ${pluralize(cycles, 'cycle')}, seed ${seed}`
  const overall = [
    ['MODEL', 'SCORE', '95 %', 'PASSED', '95 %', 'CALLS', 'TOKENS', 'COST', 'P50', 'P95', 'FAILURES'],
    ...measured.map(overallRow),
  ]
  const each = [
    ['SCENARIO', ...measured.map(({ asked }) => asked)],
    ...scenarios.map(({ name }) => [name, ...measured.map(model => scenarioCell(model, name))]),
  ]
  const absent = models.flatMap(({ asked, reason, runs }) =>
    reason === null ? [] : [`${asked} ${runs > 0 ? 'was not measured to the end' : 'was not measured'}: ${reason}`],
  )
  const notices = models.flatMap(each => (each.notice ? [nameOf(each)] : []))
  const parts = [
    head,
    ...(measured.length > 0 ? [overall, each].map(rows => columns(rows).join('\n')) : []),
    notices.join('\n'),
    absent.join('\n'),
  ]
  return parts.filter(Boolean).join('\n\n')
}

function overallRow(model: ModelResult): Row {
  const { score, score_interval, passed, runs, pass_interval, calls, tokens, latency_ms } = model
  return [
    ...[model.asked, percent(score), interval(score_interval), `${passed} of ${runs}`, interval(pass_interval)],
    ...[String(calls), String(tokens.input + tokens.output), cost(model)],
    ...(latency_ms ? [duration(latency_ms.p50), duration(latency_ms.p95)] : ['-', '-']),
    failures(model),
  ]
}

function scenarioCell({ scenarios }: ModelResult, name: string): string {
  const found = scenarios.find(each => each.name === name)
  return found ? `${percent(found.score)} (${found.passed} of ${found.runs})` : '-'
}
