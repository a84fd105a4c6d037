import { Acceptance } from '#core/goals/contract'
import { point, token, z } from '#kernel'

/** Lower-case name, such as `tool-use`. */
const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and "-"')
const weight = z.number().positive().max(100).default(1)
const what = z.string().min(1).max(200).describe('Statement that is true when the check passes, shown in the report')
const text = z.string().max(20_000)

/** How text is compared. Unless `exact`, case is ignored and white space counts as one blank. */
const TextMatch = z.strictObject({
  equals: text.optional(),
  contains: z.array(text).min(1).optional().describe('The text must contain all of these strings'),
  any: z.array(text).min(1).optional().describe('The text must contain at least one of these strings'),
  lacks: z.array(text).min(1).optional().describe('The text must contain none of these strings'),
  lines: z.int().min(0).optional().describe('Exact number of lines that are not empty'),
  max_words: z.int().min(1).optional(),
  exact: z.boolean().default(false),
})
export type TextMatch = z.infer<typeof TextMatch>

/** The folder of an agent when the scenario is over, and its answer. */
export interface Folder {
  /** Last answer of the agent. */
  readonly answer: string
  /** Returns the text of a file; undefined when the file does not exist. */
  file(path: string): Promise<string | undefined>
  /**
   * Runs a command in the agent's sandbox.
   * @param files written to a temporary folder beside the agent's files: `{check}` in the command
   */
  run(command: string, files: Readonly<Record<string, string>>): Promise<{ code: number | null; text: string }>
}
const fn = <T>() => z.custom<T>(value => typeof value === 'function', 'must be a function')

/** One check at the end of a scenario. No check is judged by a model. */
export const ScenarioCheck = z.discriminatedUnion('of', [
  z.strictObject({ of: z.literal('answer'), what, weight, is: TextMatch }),
  z
    .strictObject({ of: z.literal('file'), what, weight, path: z.string().min(1), is: TextMatch.nullable() })
    .describe('A file of the workspace; `is: null` requires that it does not exist'),
  z
    .strictObject({ of: z.literal('field'), what, weight, path: z.string().min(1), equals: z.json() })
    .describe('A field of the structured answer, by its path; strings are compared case-insensitively'),
  z
    .strictObject({
      of: z.literal('tool'),
      what,
      weight,
      name: z.string().min(1),
      min: z.int().min(0).default(1),
      max: z.int().min(0).optional(),
      arguments: z
        .record(z.string(), text)
        .default({})
        .describe('Count only calls in which each of these arguments contains the given text'),
    })
    .describe('Number of calls of a tool'),
  z
    .strictObject({
      of: z.literal('folder'),
      what,
      weight,
      holds: fn<(folder: Folder) => boolean | Promise<boolean>>(),
    })
    .describe('A function that examines the folder'),
])
export type ScenarioCheck = z.infer<typeof ScenarioCheck>

/** Reply of a scenario's tool. The first one that matches and is not used up is taken. */
const Reply = z.strictObject({
  text,
  error: z.boolean().default(false).describe('Whether the call fails with this text as its error'),
  when: z
    .record(z.string(), text)
    .default({})
    .describe('Use this reply only if each of these arguments contains the given text'),
  times: z.int().min(1).optional().describe('Maximum number of uses of this reply'),
})
const ScenarioTool = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  description: z.string().min(1).max(1_000),
  parameters: z
    .record(z.string(), z.string().max(300))
    .default({})
    .describe('Parameters by name, each with its description; all are strings'),
  replies: z.array(Reply).min(1),
})
export type ScenarioTool = z.infer<typeof ScenarioTool>

const Files = z.record(z.string(), text)
/** A tool call of a model. */
const ToolUse = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) })
export type ToolUse = z.infer<typeof ToolUse>

/**
 * Task for a model. In all strings `{{key}}` is replaced by a value of the run's variant, so that repetitions are not
 * identical requests.
 */
export const Scenario = z.strictObject({
  name,
  title: z.string().min(1).max(80),
  measures: z.string().min(1).max(300).describe('What the scenario measures, in one sentence'),
  /**
   * `task`: asked once, or several times in separate sessions. `pursuit`: a goal, over several cycles. `goals`: the
   * agent chooses its own goals.
   */
  mode: z.enum(['task', 'pursuit', 'goals']),
  role: z.string().max(500).default('Assistant that does exactly what it is asked, and says so when it cannot'),
  asks: z
    .array(z.string().min(1).max(8_000))
    .default([])
    .describe('Instructions, given one after another; the last answer counts'),
  max_steps: z.int().min(1).max(100).default(12),
  toolkits: z.array(z.string()).default([]).describe('Toolkits of the service: file, memory, …'),
  files: z
    .union([Files, fn<() => Record<string, string>>()])
    .default({})
    .describe('Initial files of the workspace, by path; a function may create large files'),
  tools: z.array(ScenarioTool).default([]),
  schema: z.record(z.string(), z.json()).optional().describe('JSON Schema that the last answer must match'),
  variants: z.array(z.record(z.string(), z.string())).min(1).default([{}]),
  checks: z.array(ScenarioCheck).default([]),
  category: name.default('models').describe('Category: `models`, or the kind of work'),
  preset: z.string().optional().describe('Preset of the agent, in place of role, toolkits and max_steps'),
  acceptance: z
    .array(Acceptance)
    .default([])
    .describe('Criteria that must be met before the goal counts as reached; the agent sees them'),
  runs_programs: z
    .boolean()
    .default(false)
    .describe('Whether the scenario runs programs such as node, which need a sandbox'),
  ends: z
    .enum(['completed', 'abandoned'])
    .default('completed')
    .describe('Expected final status of the goal of a pursuit'),
  arrivals: z
    .array(z.strictObject({ after: z.int().min(1), files: Files }))
    .default([])
    .describe('Files added while the agent works; `after` is the number of tool calls that come first'),
  operator: text.optional().describe('Answer of the operator to each question of the agent'),
  solution: fn<() => readonly ToolUse[]>().optional().describe('Tool calls that reach the goal, for scripted models'),
})
export type Scenario = z.infer<typeof Scenario>
export const Scenarios = point<z.input<typeof Scenario>>('benchmark_scenarios', {
  key: scenario => scenario.name,
  shape: Scenario,
})

const unit = z.number().min(0).max(1)
const ShareInterval = z.object({ low: unit, high: unit })
export type ShareInterval = z.infer<typeof ShareInterval>
const Tokens = z.object({ input: z.int(), output: z.int() })
/** Spread of a value over runs: the median, and the 10 % and 90 % quantiles. */
const Spread = z.object({ median: z.number(), p10: z.number(), p90: z.number() })
export type Spread = z.infer<typeof Spread>

/** One scenario, run once. */
export const ScenarioRun = z.object({
  run: z.int().describe('Number of the run, from 1'),
  score: unit.describe('Weighted share of passed checks'),
  passed: z.boolean().describe('Whether all checks passed and the run ended without a failure'),
  failure: z
    .string()
    .nullable()
    .describe(
      'Kind of failure: `wrong` (a check failed), or what prevented an answer, such as `max_steps` or `model_error`; null when the run passed',
    ),
  detail: z.string().nullable(),
  checks: z.array(z.object({ what: z.string(), held: z.boolean() })),
  answer: z.string().describe('Last answer of the model, cut after 500 characters'),
  calls: z.int().describe('Number of model calls (turns)'),
  tokens: Tokens,
  cost_usd: z.number(),
  duration_ms: z.number(),
})
export type ScenarioRun = z.infer<typeof ScenarioRun>

const Measured = z.object({
  score: unit.nullable().describe('Mean score over the runs of a scenario; for a model, the mean over its scenarios'),
  runs: z.int(),
  passed: z.int(),
  pass_rate: unit.nullable(),
  pass_interval: ShareInterval.nullable().describe('95 % Wilson interval of the pass rate'),
  calls: z.int(),
  tokens: Tokens,
  cost_usd: z.number(),
})

/** Results of a model in one scenario. */
export const ScenarioResult = Measured.extend({ name: z.string(), results: z.array(ScenarioRun) })
export type ScenarioResult = z.infer<typeof ScenarioResult>

/** Results of a model. */
export const ModelResult = Measured.extend({
  asked: z.string().meta({ examples: ['openai:lite'] }),
  model: z.string().nullable().describe('Resolved model, as `provider:model`'),
  notice: z.string().nullable().describe('Notice shown with the name of the model, as for the simulated model'),
  complete: z.boolean().describe('Whether all scenarios were run'),
  reason: z.string().nullable().describe('Reason why not all scenarios were run; null when all were'),
  score_interval: ShareInterval.nullable().describe(
    '95 % bootstrap interval of the score, within scenarios; null for fewer than three runs',
  ),
  failed_calls: z.int(),
  priced: z.enum(['catalogue', 'free', 'unknown', 'mixed']).nullable().describe('Source of the prices'),
  estimated: z.boolean().describe('Whether some token counts were estimated'),
  latency_ms: z
    .object({ p50: z.number(), p95: z.number() })
    .nullable()
    .describe('Latency of answered calls, in milliseconds'),
  duration_ms: z.number(),
  per_run: z
    .object({ calls: Spread, tokens: Spread, cost_usd: Spread, duration_ms: Spread })
    .nullable()
    .describe('Spread of the values of one run, over all runs'),
  failures: z.array(z.object({ kind: z.string(), count: z.int() })),
  scenarios: z.array(ScenarioResult),
})
export type ModelResult = z.infer<typeof ModelResult>

export const BenchmarkReport = z.object({
  version: z.literal(1),
  at: z.iso.datetime(),
  seed: z.int(),
  runs: z.int(),
  cycles: z.int(),
  scenarios: z.array(z.object({ name: z.string(), title: z.string(), measures: z.string(), category: z.string() })),
  left_out: z
    .array(z.string())
    .describe('Names of work goals left out because they run programs and no sandbox is available'),
  models: z.array(ModelResult),
  methods: z.array(z.string()).describe('Methods by which the figures were computed'),
})
export type BenchmarkReport = z.infer<typeof BenchmarkReport>

export interface BenchmarkOptions {
  /** Names of models: `provider:model`, `provider:lite|standard|pro`. */
  models: readonly string[]
  /** Number of cycles in scenarios that run over cycles. */
  cycles?: number | undefined
  /** Number of runs of each scenario, each with another variant. */
  runs?: number | undefined
  seed?: number | undefined
  /** Names of scenarios; all without it. */
  scenarios?: readonly string[] | undefined
  /** Custom instruction that replaces the scenarios; a run passes when there is an answer. */
  task?: string | undefined
  /** Names of work goals, or `all`; they replace the scenarios. */
  goals?: readonly string[] | undefined
  /** Categories of work goals, of which all goals are run. */
  categories?: readonly string[] | undefined
  /** Preset of the project that replaces those of the goals, to compare prompts and tool sets. */
  profile?: string | undefined
  signal: AbortSignal
  /** Called with a line of progress. */
  progress(line: string): void
}

/** Number of runs planned for a model, and their estimated cost. */
export interface Forecast {
  asked: string
  runs: number
  tokens: number
  /** Cost in US dollars; null where no price is known. */
  cost_usd: number | null
  /** Why the model cannot be measured, such as a misspelt name; undefined if it can. */
  problem?: string
}

export interface Benchmark {
  /** Returns the available scenarios. */
  scenarios(): readonly Scenario[]
  /**
   * Estimates a benchmark before it begins.
   * @throws InvalidInputError for invalid options
   */
  forecast(options: Omit<BenchmarkOptions, 'signal' | 'progress'>): Promise<Forecast[]>
  /**
   * Runs a benchmark. An aborted signal ends it with a report of the finished part.
   * @throws InvalidInputError for invalid options; a model that cannot be called is part of the report
   */
  run(options: BenchmarkOptions): Promise<BenchmarkReport>
  /** Formats the report for a terminal. */
  table(report: BenchmarkReport, columns?: number): string
  /** Returns the report as one self-contained HTML file with plots. */
  html(report: BenchmarkReport): string
}
export const Benchmark = token<Benchmark>('benchmark', {
  scenarios: 'function',
  forecast: 'function',
  run: 'function',
  table: 'function',
  html: 'function',
})

declare module '#kernel' {
  interface Replaceable {
    benchmark: { benchmark: Benchmark }
  }
}
