import { Profiles } from '#core/profiles/contract'
import { closestMatches, InvalidInputError, type Issue, type PluginHandle } from '#kernel'
import { succeeds } from '#lib/succeeds'
import { Shell } from '#tools/toolkits/shell/contract'
import { measure, type Plan } from './bench.ts'
import { type Benchmark, type BenchmarkOptions, type BenchmarkReport, Scenario, Scenarios } from './contract.ts'
import { forecast } from './forecast.ts'
import { html } from './report/html.ts'
import { table } from './report/table.ts'

const MOST_MODELS = 20
const MOST_RUNS = 100
const MOST_CYCLES = 100
/** Name that selects all work goals. */
const ALL = 'all'

const METHODS = [
  'Each model ran in separate temporary projects, one call after another. Only the cost of the calls was written to the database of this project.',
  'Code scores each run: the score is the weighted share of passed checks. A run passed when all checks passed and the model ended the run by itself. In "goals" the score is the share of cycles that produced an accepted goal.',
  "A model's score is the mean over scenarios of the mean over runs.",
  'Intervals of pass rates are 95 % Wilson intervals (E. B. Wilson, Journal of the American Statistical Association 22, 1927). Pooled over scenarios, they are if anything too wide.',
  'Intervals of scores are 95 % percentile intervals of 2,000 bootstrap resamples within scenarios (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13), from three runs on. They show how the score varies over runs of these scenarios; they do not apply to other scenarios.',
  'A work goal passed when its agent ended it in the expected way and all checks passed. The agent does not see the checks. Programs check the folder of the agent in its sandbox.',
  'Turns, tokens, cost and time of a run are given as the median and the range from the 10th to the 90th percentile.',
  'Repeated runs use different variants of a scenario while unused variants remain. Models were called with temperature 0, or with that of the preset where a preset worked.',
  'Latency is the time of an answered call with its retries; percentiles use the nearest rank. Cost is the number of tokens at catalogue prices.',
]

export function benchmarkOf(svc: PluginHandle): Benchmark {
  const scenarios = () => svc.list(Scenarios).map(each => Scenario.parse(each))
  const makePlan = (options: Chosen) => planOf(svc, scenarios(), options)
  return {
    scenarios,
    table,
    html,
    forecast: async options => forecast(svc, options.models, await makePlan(options)),
    async run(options) {
      const { signal, progress } = options
      const plan = { ...(await makePlan(options)), signal, progress }
      const models: BenchmarkReport['models'] = []
      for (const modelName of options.models) {
        if (models.length > 0 && signal.aborted) break
        models.push(await measure(svc, modelName, plan))
      }
      const { seed, runs, cycles, left_out } = plan
      return {
        version: 1,
        at: svc.clock.now().toISOString(),
        seed,
        runs,
        cycles,
        left_out,
        models,
        methods: METHODS,
        scenarios: plan.scenarios.map(({ name, title, measures, category }) => ({ name, title, measures, category })),
      }
    },
  }
}

type Chosen = Omit<BenchmarkOptions, 'signal' | 'progress'>

/**
 * Builds the plan of a benchmark from its options.
 * @throws InvalidInputError
 */
async function planOf(
  svc: PluginHandle,
  known: readonly Scenario[],
  options: Chosen,
): Promise<Omit<Plan, 'signal' | 'progress'> & { left_out: string[] }> {
  const { models, cycles = 5, runs = 1, seed = svc.ports.random.seed, task, goals, categories = [] } = options
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
  if (twice !== undefined) issues.push({ path: 'models', message: `contains "${twice}" more than once` })
  const isWork = ({ category }: Scenario) => category !== 'models'
  const work = known.filter(isWork)
  const others = known.filter(each => !isWork(each))
  const namesOf = (all: readonly Scenario[]) => all.map(({ name }) => name)
  const kinds = [...new Set(work.map(({ category }) => category))]
  issues.push(...unknown('scenarios', options.scenarios ?? [], namesOf(others)))
  issues.push(
    ...unknown(
      'goals',
      (goals ?? []).filter(name => name !== ALL),
      namesOf(work),
    ),
  )
  issues.push(...unknown('categories', categories, kinds))
  if (issues.length > 0) throw new InvalidInputError({ what: 'The benchmark', issues }, { errors: issues })
  const isChosen = ({ name, category }: Scenario) =>
    goals?.includes(ALL) || goals?.includes(name) || categories.includes(category)
  const chosen =
    goals || categories.length > 0
      ? work.filter(isChosen)
      : others.filter(({ name }) => options.scenarios?.includes(name) ?? true)
  const missing = chosen.some(each => each.runs_programs) && !(await canRunPrograms(svc))
  const left_out = missing ? chosen.filter(each => each.runs_programs) : []
  const profile = options.profile === undefined ? {} : { profile: await profileOf(svc, options.profile) }
  const scenarios = task === undefined ? chosen.filter(each => !left_out.includes(each)) : [ownTask(task)]
  return { scenarios, runs, cycles, seed, left_out: namesOf(left_out), ...profile }
}

function unknown(path: string, given: readonly string[], names: readonly string[]): Issue[] {
  return given.flatMap(name => {
    if (names.includes(name)) return []
    const [closest] = closestMatches(name, names)
    const message = `contains the unknown name "${name}"; ${closest ? `did you mean "${closest}"?` : `there are: ${names.join(', ')}`}`
    return [{ path, message }]
  })
}

/** Returns whether the shell rules allow agents to run programs such as node. */
async function canRunPrograms(svc: PluginHandle): Promise<boolean> {
  if (!svc.has(Shell)) return false
  return succeeds(svc.use(Shell).check('node --version'))
}

/**
 * Returns a preset of the project as a file for the trial.
 * @throws ProfileNotFoundError, BadFileError
 */
async function profileOf(svc: PluginHandle, name: string) {
  const { workspace: _, folders: __, ...profile } = await svc.use(Profiles).read(name)
  return { name, text: `${JSON.stringify(profile)}\n` }
}

function ownTask(task: string): Scenario {
  return Scenario.parse({
    name: 'task',
    title: 'Custom task',
    measures: `Whether the model answers: ${task.slice(0, 200)}`,
    mode: 'task',
    asks: [task],
    checks: [{ of: 'answer', what: 'there is an answer', is: {} }],
  })
}
