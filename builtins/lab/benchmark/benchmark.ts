import { Profiles } from '#core/profiles/contract'
import { InvalidInputError, type Issue, near, type PluginHandle } from '#kernel'
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
  'Each model ran in temporary projects of its own, one call after another; nothing was written into the database of this project but what the calls cost.',
  'A run is scored by code: the weighted share of its checks that held. It passed when all held and the model brought it to an end by itself. In "goals" the score is the share of cycles that brought a goal which was taken.',
  "A model's score is the mean over scenarios of the mean over runs.",
  'Intervals of pass rates are those of Wilson for 95 % (E. B. Wilson, Journal of the American Statistical Association 22, 1927). Pooled over scenarios they are if anything too wide.',
  'Intervals of scores are percentile intervals for 95 % of 2,000 bootstrap resamples within scenarios (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13), from three runs on. They say how the score varies over runs of these scenarios, and nothing of other scenarios.',
  'A work goal passed when its agent ended it in the right way and all its checks held, which the agent is not shown. Its folder is checked by programs in the sandbox of the agent.',
  'Turns, tokens, cost and time of a run: the median, and between what eight of ten runs lie.',
  'Repetitions take other variants of a scenario as long as there are some. Models were asked with temperature 0.',
  'Latency is that of whole answered calls with their retries, by nearest rank. Cost is tokens at catalogue prices.',
]

export function benchmarkOf(svc: PluginHandle): Benchmark {
  const scenarios = () => svc.list(Scenarios).map(each => Scenario.parse(each))
  const planned = (options: Chosen) => planOf(svc, scenarios(), options)
  return {
    scenarios,
    table,
    html,
    forecast: async options => forecast(svc, options.models, await planned(options)),
    async run(options) {
      const { signal, progress } = options
      const plan = { ...(await planned(options)), signal, progress }
      const models: BenchmarkReport['models'] = []
      for (const asked of options.models) {
        if (models.length > 0 && signal.aborted) break
        models.push(await measure(svc, asked, plan))
      }
      const { seed, runs, cycles, left_out } = plan
      return {
        ...{ version: 1, at: svc.clock.now().toISOString(), seed, runs, cycles, left_out, models, methods: METHODS },
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
  if (twice !== undefined) issues.push({ path: 'models', message: `names "${twice}" twice` })
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
  return { ...{ scenarios, runs, cycles, seed, left_out: namesOf(left_out) }, ...profile }
}

function unknown(path: string, given: readonly string[], names: readonly string[]): Issue[] {
  return given.flatMap(name => {
    if (names.includes(name)) return []
    const [closest] = near(name, names)
    const message = `has no "${name}"; ${closest ? `did you mean "${closest}"?` : `there are: ${names.join(', ')}`}`
    return [{ path, message }]
  })
}

/** Returns whether the shell rules allow agents to run programs such as node. */
async function canRunPrograms(svc: PluginHandle): Promise<boolean> {
  if (!svc.has(Shell)) return false
  return svc
    .use(Shell)
    .check('node --version')
    .then(
      () => true,
      () => false,
    )
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
    title: 'A task of your own',
    measures: `Whether it answers: ${task.slice(0, 200)}`,
    mode: 'task',
    asks: [task],
    checks: [{ of: 'answer', what: 'there is an answer', is: {} }],
  })
}
