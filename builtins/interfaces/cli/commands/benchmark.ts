import type { Kernel, SvcError } from '#kernel'
import { Benchmark, type BenchmarkReport, type Forecast } from '#lab/benchmark/contract'
import { pluralize } from '#lib/pluralize'
import type { HandWritten } from '../context.ts'
import { UsageError } from '../contract.ts'
import { invokeMasked } from '../operations/invoke-masked.ts'
import { openWithWarnings } from '../process/warnings.ts'
import { findProject } from '../project/project.ts'
import { endSignal, INTERRUPTED } from '../screen/interrupt.ts'
import { canWriteOutput, writeOutput } from '../screen/output.ts'
import { printable, printableJson } from '../screen/printable.ts'

const USAGE = 'svc benchmark --models openai:lite,anthropic:standard --cycles 5'

/**
 * Benchmarks models.
 * @returns exit code 1 if the measurement of a model was not completed
 */
const benchmark: HandWritten = async (input, context) => {
  const { terminal, ports, json } = context
  const models = [...listOf(input.models), ...((input.model as string[] | undefined) ?? [])]
  if (models.length === 0) throw new UsageError({ problem: 'benchmark: the option --models is missing', usage: USAGE })
  const root = await findProject(ports, context.named)
  // Paid model calls start only once the output is known to be writable.
  for (const path of [input.output, input.html]) await canWriteOutput(ports, path)
  const signal = endSignal()
  await using kernel = await openWithWarnings(root, context)
  const report = await run(kernel, input, models, signal, line => terminal.err(printable(line)))
  const { table, html } = kernel.use(Benchmark)
  const text = `${JSON.stringify(report, null, 2)}\n`
  await writeOutput(ports, input.output, text)
  await writeOutput(ports, input.html, html(report))
  terminal.out(json ? printableJson(text.trimEnd()) : printable(table(report)))
  if (signal.aborted) return INTERRUPTED
  return report.models.every(({ complete }) => complete) ? 0 : 1
}
export default benchmark

async function run(
  kernel: Kernel,
  { cycles, runs, repeat, seed, scenarios, task, goals, category, profile }: Readonly<Record<string, unknown>>,
  models: readonly string[],
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<BenchmarkReport> {
  const named = { scenarios, goals, categories: category }
  const chosen = Object.entries(named).flatMap(([key, words]) => (words === undefined ? [] : [[key, listOf(words)]]))
  const options = { models, cycles, runs: runs ?? repeat, seed, task, profile, ...Object.fromEntries(chosen) }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  try {
    for (const line of forecastLines(await kernel.use(Benchmark).forecast(given as never))) progress(line)
    return await invokeMasked<BenchmarkReport>(kernel, 'benchmark.run', given, { signal, progress })
  } catch (error) {
    // Invalid values came from the command's own options.
    if ((error as SvcError).code === 'invalid_input') {
      throw new UsageError({ problem: `benchmark: ${(error as Error).message}`, usage: USAGE })
    }
    throw error
  }
}

/** Returns the expected cost of the benchmark. */
function forecastLines(forecasts: readonly Forecast[]): string[] {
  const lines = forecasts.map(({ asked, runs, tokens, cost_usd, problem }) => {
    if (problem !== undefined) return `${asked} cannot be measured: ${problem}`
    const price = cost_usd === null ? 'its price is unknown' : `about $${cost_usd.toFixed(2)}`
    return `${asked}: ${pluralize(runs, 'run')}, about ${Math.round(tokens / 1000).toLocaleString('en')}k tokens, ${price}`
  })
  if (forecasts.every(({ problem }) => problem !== undefined)) return lines
  return [
    ...lines,
    'Models differ widely in cost; the budget of the project applies. Ctrl-C stops the benchmark and shows the results so far.',
  ]
}

function listOf(words: unknown): string[] {
  return String(words ?? '')
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')
}
