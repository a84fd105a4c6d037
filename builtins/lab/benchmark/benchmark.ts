import { InvalidInputError, type Issue, near, type PluginHandle } from '#kernel'
import { measure, type Plan } from './bench.ts'
import { type Benchmark, type BenchmarkOptions, type BenchmarkReport, Scenario, Scenarios } from './contract.ts'
import { html } from './html.ts'
import { table } from './table.ts'

const MOST_MODELS = 20
const MOST_RUNS = 100
const MOST_CYCLES = 100

const METHODS = [
  'Each model ran in temporary projects of its own, one call after another; nothing was written into the database of this project but what the calls cost.',
  'A run is scored by code: the weighted share of its checks that held. It passed when all held and the model brought it to an end by itself. In "goals" the score is the share of cycles that brought a goal which was taken.',
  "A model's score is the mean over scenarios of the mean over runs.",
  'Intervals of pass rates are those of Wilson for 95 % (E. B. Wilson, Journal of the American Statistical Association 22, 1927). Pooled over scenarios they are if anything too wide.',
  'Intervals of scores are percentile intervals for 95 % of 2,000 bootstrap resamples within scenarios (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13), from three runs on. They say how the score varies over runs of these scenarios, and nothing of other scenarios.',
  'Repetitions take other variants of a scenario as long as there are some. Models were asked with temperature 0.',
  'Latency is that of whole answered calls with their retries, by nearest rank. Cost is tokens at catalogue prices.',
]

export function benchmarkOf(svc: PluginHandle): Benchmark {
  const scenarios = () => svc.list(Scenarios).map(each => Scenario.parse(each))
  return {
    scenarios,
    table,
    html,
    async run(options) {
      const plan = planOf(scenarios(), options, svc.ports.random.seed)
      const models: BenchmarkReport['models'] = []
      for (const asked of options.models) models.push(await measure(svc, asked, plan))
      const { seed, runs, cycles } = plan
      return {
        ...{ version: 1, at: svc.clock.now().toISOString(), seed, runs, cycles, models, methods: METHODS },
        scenarios: plan.scenarios.map(({ name, title, measures }) => ({ name, title, measures })),
      }
    },
  }
}

/** @throws InvalidInputError */
function planOf(known: readonly Scenario[], options: BenchmarkOptions, fallback: number): Plan {
  const { models, cycles = 5, runs = 1, seed = fallback, task, signal, progress } = options
  const issues: Issue[] = []
  const whole = (path: string, value: number, most: number) => {
    if (!Number.isInteger(value) || value < 1 || value > most)
      issues.push({ path, message: `must be a whole number from 1 to ${most}` })
  }
  whole('cycles', cycles, MOST_CYCLES)
  whole('runs', runs, MOST_RUNS)
  if (!Number.isSafeInteger(seed)) issues.push({ path: 'seed', message: 'must be a whole number' })
  if (models.length === 0 || models.length > MOST_MODELS)
    issues.push({ path: 'models', message: `must name 1 to ${MOST_MODELS} models` })
  const twice = models.find((each, n) => models.indexOf(each) !== n)
  if (twice !== undefined) issues.push({ path: 'models', message: `names "${twice}" twice` })
  const names = known.map(({ name }) => name)
  for (const name of options.scenarios ?? []) {
    if (names.includes(name)) continue
    const [closest] = near(name, names)
    const message = `has no "${name}"; ${closest ? `did you mean "${closest}"?` : `there are: ${names.join(', ')}`}`
    issues.push({ path: 'scenarios', message })
  }
  if (issues.length > 0) throw new InvalidInputError({ what: 'The benchmark', issues }, { errors: issues })
  const chosen = known.filter(({ name }) => options.scenarios?.includes(name) ?? true)
  return { scenarios: task === undefined ? chosen : [ownTask(task)], runs, cycles, seed, signal, progress }
}

function ownTask(task: string): Scenario {
  return Scenario.parse({
    name: 'task',
    title: 'A task of your own',
    measures: `Whether it answers: ${task.slice(0, 200)}`,
    mode: 'task',
    asks: [task],
    checks: [{ of: 'answer', what: 'there is an answer', is: {} }],
  })
}
