import { CallLimits, Models } from '#core/models/contract'
import { errorMessage, type Kernel, type PluginHandle } from '#kernel'
import { Trials } from '#lab/trials/contract'
import { usdOf } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import { examine } from './checks.ts'
import type { ModelResult, Scenario, ScenarioResult, ScenarioRun } from './contract.ts'
import { Meter, type Reading } from './meter.ts'
import { PROPS } from './props.ts'
import { ScenarioAgent, type ScenarioOutcome } from './scenario-agent.ts'
import { bootstrap, mean, quantile, round, spread, wilson } from './statistics.ts'
import { variantOf } from './variants.ts'

/** Number of consecutive runs without an answer after which the model counts as unavailable. */
const SILENT_RUNS = 2
const LONGEST_ANSWER = 500
/** Output limit of one call, so that a rambling model costs little. */
const MAX_TOKENS = 2048

export interface Plan {
  scenarios: readonly Scenario[]
  runs: number
  cycles: number
  seed: number
  /** Preset that replaces those of the work goals. */
  profile?: { name: string; text: string } | undefined
  signal: AbortSignal
  progress(line: string): void
}

/** Runs one model through all scenarios, in a separate project. An error is part of the result. */
export async function measure(svc: PluginHandle, modelName: string, plan: Plan): Promise<ModelResult> {
  const began = svc.clock.monotonic()
  const meter = new Meter()
  const results = new Map<string, { runs: ScenarioRun[]; reading: Reading[] }>()
  let model: string | null = null
  let notice: string | null = null
  let reason: string | null = null
  try {
    const target = await svc.use(Models).resolve(modelName)
    model = target.id
    notice = target.provider.notice ?? null
    const { available, reason: missing } = await target.provider.availability()
    if (!available) reason = missing ?? 'the model is not available'
    else reason = await runScenarios(svc, modelName, !target.provider.simulated, plan, meter, results)
  } catch (error) {
    reason = plan.signal.aborted ? 'the benchmark was interrupted' : errorMessage(error)
  }
  const scenarios = plan.scenarios.flatMap(({ name }): ScenarioResult[] => {
    const found = results.get(name)
    return found ? [{ name, ...measureRuns(found.runs, found.reading), results: found.runs }] : []
  })
  return summarize(
    { asked: modelName, model, notice, reason },
    scenarios,
    meter.since(0),
    plan,
    svc.clock.monotonic() - began,
  )
}

/**
 * Runs all scenarios with one model.
 * @param counts whether its calls count against the project's budget
 * @returns the reason why not all of them were run; null when all were
 */
async function runScenarios(
  svc: PluginHandle,
  modelName: string,
  counts: boolean,
  plan: Plan,
  meter: Meter,
  results: Map<string, { runs: ScenarioRun[]; reading: Reading[] }>,
): Promise<string | null> {
  await using trial = await svc.use(Trials).open({ seed: plan.seed, ...setting(plan) })
  trial.kernel.points.add(CallLimits, meter, svc.name)
  let silent = 0
  for (let run = 1; run <= plan.runs; run++) {
    for (const scenario of plan.scenarios) {
      plan.signal.throwIfAborted()
      if (counts && svc.has(Budget) && (await svc.use(Budget).isExceeded()))
        return (await svc.use(Budget).status()).message
      const mark = meter.mark
      const performed = await runOnce(trial.kernel, variantOf(scenario, run, trial.ports.random), modelName, run, plan)
      const reading = meter.since(mark)
      const { calls, tokens, cost_micros } = reading
      const done: ScenarioRun = { ...performed, calls, tokens, cost_usd: usdOf(cost_micros) }
      const found = results.get(scenario.name) ?? { runs: [], reading: [] }
      results.set(scenario.name, found)
      found.runs.push(done)
      found.reading.push(reading)
      plan.progress(`${modelName}  ${scenario.name} ${run}/${plan.runs}  ${describeRun(done)}`)
      silent = reading.calls === reading.failed ? silent + 1 : 0
      if (silent === SILENT_RUNS) return done.detail ?? 'the model does not answer'
    }
  }
  return null
}

/** Returns the configuration and files of a project where only the scenario influences the model. */
function setting({ scenarios, profile }: Plan) {
  const toolkits = [...new Set([...scenarios.flatMap(each => each.toolkits), PROPS])]
  const config = {
    daemon: { heartbeat: 0.05, min_rest: 0 },
    model: { sim_delay: 0, planning_model: '' },
    tasks: { toolkits },
    suffering: { enabled: false },
    plugins: { enabled: false },
  }
  const own = scenarios.filter(({ preset }) => preset === undefined)
  const files = own.map(({ name, role, toolkits, max_steps }) => {
    const profile = { name, role, toolkits: [...toolkits, PROPS], max_steps, max_tokens: MAX_TOKENS, temperature: 0 }
    return [`profiles/${name}.yaml`, `${JSON.stringify(profile)}\n`]
  })
  const given = profile ? [[`profiles/${profile.name}.yaml`, profile.text]] : []
  return { config, files: Object.fromEntries([...files, ...given]) as Record<string, string> }
}

async function runOnce(
  kernel: Kernel,
  scenario: Scenario,
  model: string,
  run: number,
  { cycles, signal, profile }: Plan,
): Promise<UnpricedRun> {
  const { clock } = kernel.ports
  const began = clock.monotonic()
  const examinee = new ScenarioAgent(kernel, scenario, profile?.name)
  try {
    const performance = await examinee.perform(model, cycles, signal)
    return await judge(scenario, performance, run, clock.monotonic() - began)
  } catch (error) {
    signal.throwIfAborted()
    const failure = (error as { code?: string }).code ?? 'error'
    const nothing = { answer: '', parsed: null, called: [], file: async () => undefined, run: async () => NOT_RUN }
    const performance = { ...nothing, failure, detail: errorMessage(error) }
    return await judge(scenario, performance, run, clock.monotonic() - began)
  } finally {
    await examinee.leave()
  }
}

/** A run without its costs. */
type UnpricedRun = Omit<ScenarioRun, 'calls' | 'tokens' | 'cost_usd'>
const NOT_RUN = { code: null, text: '' }

async function judge(
  { checks }: Scenario,
  performance: ScenarioOutcome,
  run: number,
  duration_ms: number,
): Promise<UnpricedRun> {
  const { failure, detail, answer, share } = performance
  const held = await examine(checks, performance)
  const whole = checks.reduce((sum, { weight }) => sum + weight, 0)
  const reached = checks.reduce((sum, { weight }, n) => sum + (held[n] ? weight : 0), 0)
  // A run without any answer must not pass checks for the absence of something.
  const silent = failure !== null && answer.trim() === '' && performance.called.length === 0
  const score = share ?? (silent ? 0 : whole > 0 ? reached / whole : failure === null ? 1 : 0)
  const passed = score === 1 && failure === null
  return {
    run,
    passed,
    detail,
    score: round(score),
    failure: failure ?? (passed ? null : 'wrong'),
    checks: checks.map(({ what }, n) => ({ what, held: !silent && held[n]! })),
    answer: answer.slice(0, LONGEST_ANSWER),
    duration_ms: Math.round(duration_ms),
  }
}

function measureRuns(runs: readonly ScenarioRun[], readings: readonly Reading[]) {
  const passed = runs.filter(run => run.passed).length
  const sum = (of: (reading: Reading) => number) => readings.reduce((all, reading) => all + of(reading), 0)
  return {
    score: runs.length > 0 ? round(mean(runs.map(({ score }) => score))) : null,
    runs: runs.length,
    passed,
    pass_rate: runs.length > 0 ? round(passed / runs.length) : null,
    pass_interval: wilson(passed, runs.length),
    calls: sum(({ calls }) => calls),
    tokens: { input: sum(({ tokens }) => tokens.input), output: sum(({ tokens }) => tokens.output) },
    cost_usd: usdOf(sum(({ cost_micros }) => cost_micros)),
  }
}

function summarize(
  named: Pick<ModelResult, 'asked' | 'model' | 'notice' | 'reason'>,
  scenarios: ScenarioResult[],
  reading: Reading,
  plan: Plan,
  duration: number,
): ModelResult {
  const all = scenarios.flatMap(({ results }) => results)
  const scores = scenarios.map(({ results }) => results.map(({ score }) => score))
  const kinds = new Map<string, number>()
  for (const { failure } of all) if (failure) kinds.set(failure, (kinds.get(failure) ?? 0) + 1)
  const random = keyedRandom(plan.seed)
  const prices = [...reading.priced]
  return {
    ...named,
    complete: named.reason === null,
    ...measureRuns(all, [reading]),
    score: scenarios.length > 0 ? round(mean(scenarios.map(({ score }) => score!))) : null,
    score_interval: bootstrap(scores, random),
    failed_calls: reading.failed,
    priced: prices.length > 1 ? 'mixed' : (prices[0] ?? null),
    estimated: reading.estimated,
    latency_ms:
      reading.latencies.length > 0
        ? { p50: quantile(reading.latencies, 0.5), p95: quantile(reading.latencies, 0.95) }
        : null,
    duration_ms: Math.round(duration),
    per_run: spreadOf(all),
    failures: [...kinds].map(([kind, count]) => ({ kind, count })).sort((a, b) => b.count - a.count),
    scenarios,
  }
}

function spreadOf(runs: readonly ScenarioRun[]): ModelResult['per_run'] {
  const of = (value: (run: ScenarioRun) => number) => spread(runs.map(value))!
  if (runs.length === 0) return null
  return {
    calls: of(({ calls }) => calls),
    tokens: of(({ tokens }) => tokens.input + tokens.output),
    cost_usd: of(({ cost_usd }) => cost_usd),
    duration_ms: of(({ duration_ms }) => duration_ms),
  }
}

/**
 * Returns a fast random function by index, with values in [0, 1) (mulberry32 of the hashed index); a bootstrap needs
 * very many.
 */
function keyedRandom(seed: number): (draw: number) => number {
  return draw => {
    let t = (seed ^ Math.imul(draw + 1, 0x9e3779b1)) + 0x6d2b79f5
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function describeRun({ passed, score, failure }: UnpricedRun): string {
  return passed ? 'passed' : `${Math.round(score * 100)} % (${failure})`
}
