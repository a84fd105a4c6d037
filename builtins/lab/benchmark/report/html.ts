import { htmlPage, htmlText } from '#lab/trials/contract'
import { pluralize } from '#lib/pluralize'
import type { BenchmarkReport, ModelResult, ScenarioResult } from '../contract.ts'
import { cost, duration, failures, interval, nameOf, percent } from './format.ts'
import { type Bar, bars } from './plot.ts'

/**
 * Returns the report as one HTML file: plots, tables, and every run with its passed and failed checks. Answers of
 * models are escaped.
 */
export function html(report: BenchmarkReport): string {
  const { models, scenarios, at, seed, runs, cycles, methods } = report
  const measured = models.filter(each => each.runs > 0)
  const body = [
    '<h1>Benchmark of models</h1>',
    `<p class="dim">${text(at)} · ${pluralize(scenarios.length, 'scenario')} · runs per scenario: ${runs} · cycles: ${cycles} · seed ${seed}</p>`,
    ...models.filter(({ notice }) => notice).map(each => `<p><strong>${text(nameOf(each))}</strong></p>`),
    ...models
      .filter(({ reason }) => reason !== null)
      .map(
        each =>
          `<p><strong>${text(each.asked)}</strong> was not measured${each.runs > 0 ? ' to the end' : ''}: ${text(each.reason!)}</p>`,
      ),
    ...(measured.length > 0 ? plots(measured) : []),
    ...(measured.length > 0 ? ['<h2>Figures</h2>', figures(measured)] : []),
    '<h2>Scenarios</h2>',
    grid(scenarios, measured),
    ...measured.map(model => details(model, scenarios)),
    '<h2>How the figures were computed</h2>',
    `<ul>${methods.map(each => `<li>${text(each)}</li>`).join('')}</ul>`,
  ]
  return htmlPage('Benchmark of models', body.filter(Boolean).join('\n'))
}

const text = htmlText

function plots(models: readonly ModelResult[]): string[] {
  const name = (model: ModelResult) => model.asked
  const passed = models.map((model): Bar => {
    const { low, high } = model.pass_interval ?? { low: 0, high: 0 }
    const label = `${percent(model.pass_rate)}, ${model.passed} of ${model.runs}`
    return { name: name(model), value: model.pass_rate ?? 0, low, high, label }
  })
  const scores = models.map((model): Bar => {
    const { low, high } = model.score_interval ?? { low: null, high: null }
    return { name: name(model), value: model.score ?? 0, low, high, label: percent(model.score) }
  })
  const slowest = Math.max(1, ...models.map(({ latency_ms }) => latency_ms?.p95 ?? 0))
  const latency = models.flatMap((model): Bar[] => {
    if (!model.latency_ms) return []
    const { p50, p95 } = model.latency_ms
    const label = `${duration(p50)}, p95 ${duration(p95)}`
    return [{ name: name(model), value: p50 / slowest, low: p50 / slowest, high: p95 / slowest, label }]
  })
  const dearest = Math.max(1e-9, ...models.map(({ cost_usd }) => cost_usd))
  const costs = models.map((model): Bar => {
    return { name: name(model), value: model.cost_usd / dearest, low: null, high: null, label: cost(model) }
  })
  return [
    '<h2>At a glance</h2>',
    figure(bars(passed, '100 %'), 'Share of runs that passed; the whisker is the 95 % Wilson interval.'),
    figure(bars(scores, '100 %'), 'Score; the whisker is the 95 % bootstrap interval, from three runs on.'),
    figure(
      bars(latency, duration(slowest)),
      'Latency of a call: the bar is the median, the whisker ends at the 95th percentile.',
    ),
    figure(bars(costs, ''), 'Total cost.'),
  ]
}

function figure(svg: string, caption: string): string {
  return `<figure>${svg}<figcaption>${text(caption)}</figcaption></figure>`
}

function figures(models: readonly ModelResult[]): string {
  const head = ['Model', 'Score', '95 %', 'Passed', '95 %', 'Calls', 'Tokens in, out', 'Cost', 'p50, p95', 'Failures']
  const rows = models.map(model => [
    nameOf(model),
    percent(model.score),
    interval(model.score_interval),
    `${model.passed} of ${model.runs}`,
    interval(model.pass_interval),
    `${model.calls}, ${model.failed_calls} failed`,
    `${model.tokens.input}, ${model.tokens.output}`,
    cost(model),
    model.latency_ms ? `${duration(model.latency_ms.p50)}, ${duration(model.latency_ms.p95)}` : '-',
    failures(model),
  ])
  return tableOf(head, rows)
}

function grid(scenarios: BenchmarkReport['scenarios'], models: readonly ModelResult[]): string {
  const rows = scenarios.map(({ name, title, measures }) => [
    `${title}: ${measures}`,
    ...models.map(model => {
      const found = resultOf(model, name)
      return found
        ? `${percent(found.score)}, passed ${found.passed} of ${found.runs} (${interval(found.pass_interval)})`
        : '-'
    }),
  ])
  return tableOf(['Scenario', ...models.map(({ asked }) => asked)], rows)
}

function details(model: ModelResult, scenarios: BenchmarkReport['scenarios']): string {
  const parts = scenarios.flatMap(({ name, title }) => {
    const runs = resultOf(model, name)?.results ?? []
    return runs.map(({ run, score, failure, detail, checks, answer, duration_ms }) => {
      const held = checks.map(({ what, held }) => `<li>${held ? '✓' : '✗'} ${text(what)}</li>`).join('')
      const why = failure ? `<p>${text(failure)}${detail ? `: ${text(detail)}` : ''}</p>` : ''
      const answerText = answer ? `<pre>${text(answer)}</pre>` : ''
      const line = `${title}, run ${run}: ${percent(score)}, ${duration(duration_ms)}`
      return `<details><summary>${text(line)}</summary><ul>${held}</ul>${why}${answerText}</details>`
    })
  })
  return `<h2>${text(model.asked)}, run by run</h2>\n${parts.join('\n')}`
}

function resultOf(model: ModelResult, name: string): ScenarioResult | undefined {
  return model.scenarios.find(each => each.name === name)
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) => row.map(each => `<${tag}>${text(each)}</${tag}>`).join('')
  const lines = rows.map(row => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${lines}</tbody></table>`
}
