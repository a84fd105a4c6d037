import { Acceptance } from '#core/goals/contract'
import { point, token, z } from '#kernel'

/** Lower-case name, such as `tool-use`. */
const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and "-"')
const weight = z.number().positive().max(100).default(1)
const what = z.string().min(1).max(200).describe('What is right when it holds, as the report says it')
const text = z.string().max(20_000)

/** How text is compared. Unless `exact`, case is ignored and white space counts as one blank. */
const TextMatch = z.strictObject({
  equals: text.optional(),
  contains: z.array(text).min(1).optional().describe('All of them'),
  any: z.array(text).min(1).optional().describe('At least one of them'),
  lacks: z.array(text).min(1).optional().describe('None of them'),
  lines: z.number().int().min(0).optional().describe('Number of lines that are not empty'),
  max_words: z.number().int().min(1).optional(),
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
    .describe('A file of the workspace; `is: null` wants that there is none'),
  z
    .strictObject({ of: z.literal('field'), what, weight, path: z.string().min(1), equals: z.json() })
    .describe('A field of the structured answer, by its path; texts are compared without case'),
  z
    .strictObject({
      ...{ of: z.literal('tool'), what, weight, name: z.string().min(1) },
      min: z.number().int().min(0).default(1),
      max: z.number().int().min(0).optional(),
      arguments: z.record(z.string(), text).default({}).describe('Only calls in which these arguments hold this text'),
    })
    .describe('How often a tool was called'),
  z
    .strictObject({
      of: z.literal('folder'),
      what,
      weight,
      holds: fn<(folder: Folder) => boolean | Promise<boolean>>(),
    })
    .describe('What a program finds in the folder'),
])
export type ScenarioCheck = z.infer<typeof ScenarioCheck>

/** Reply of a scenario's tool. The first one that matches and is not used up is taken. */
const Reply = z.strictObject({
  text,
  error: z.boolean().default(false).describe('The call fails with this text'),
  when: z.record(z.string(), text).default({}).describe('Only when these arguments hold this text'),
  times: z.number().int().min(1).optional().describe('Maximum number of uses'),
})
const ScenarioTool = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  description: z.string().min(1).max(1_000),
  parameters: z
    .record(z.string(), z.string().max(300))
    .default({})
    .describe('Description of each parameter, which is a string'),
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
  measures: z.string().min(1).max(300).describe('In a sentence'),
  /**
   * `task`: asked once, or several times in separate sessions. `pursuit`: a goal, over several cycles. `goals`: the
   * agent chooses its own goals.
   */
  mode: z.enum(['task', 'pursuit', 'goals']),
  role: z.string().max(500).default('Assistant that does exactly what it is asked, and says so when it cannot'),
  asks: z
    .array(z.string().min(1).max(8_000))
    .default([])
    .describe('What is asked, one after another; the last answer counts'),
  max_steps: z.number().int().min(1).max(100).default(12),
  toolkits: z.array(z.string()).default([]).describe('Of the service: file, memory, …'),
  files: z
    .union([Files, fn<() => Record<string, string>>()])
    .default({})
    .describe('What the workspace begins with; a function makes what is large'),
  tools: z.array(ScenarioTool).default([]),
  schema: z.record(z.string(), z.json()).optional().describe('JSON Schema that the last answer is to fit'),
  variants: z.array(z.record(z.string(), z.string())).min(1).default([{}]),
  checks: z.array(ScenarioCheck).default([]),
  category: name.default('models').describe('`models`, or the kind of work'),
  preset: z.string().optional().describe('The preset that is spawned, in place of role, toolkits and max_steps'),
  acceptance: z.array(Acceptance).default([]).describe('The terms of the goal, which the agent is shown'),
  runs_programs: z.boolean().default(false).describe('Whether it takes programs such as node, and so a sandbox'),
  ends: z.enum(['completed', 'abandoned']).default('completed').describe('How a pursuit is to end'),
  arrivals: z
    .array(z.strictObject({ after: z.number().int().min(1), files: Files }))
    .default([])
    .describe('Files that come while the agent works, after this number of tool calls'),
  operator: text.optional().describe('What the operator answers when the agent asks'),
  solution: fn<() => readonly ToolUse[]>().optional().describe('Calls that reach the goal, for scripted models'),
})
export type Scenario = z.infer<typeof Scenario>
export const Scenarios = point<z.input<typeof Scenario>>('benchmark_scenarios', {
  key: scenario => scenario.name,
  shape: Scenario,
})

const unit = z.number().min(0).max(1)
const ShareInterval = z.object({ low: unit, high: unit })
export type ShareInterval = z.infer<typeof ShareInterval>
const Tokens = z.object({ input: z.number().int(), output: z.number().int() })
/** Spread of a value over runs: the median, and the 10 % and 90 % quantiles. */
const Spread = z.object({ median: z.number(), p10: z.number(), p90: z.number() })
export type Spread = z.infer<typeof Spread>

/** One scenario, run once. */
export const ScenarioRun = z.object({
  run: z.number().int().describe('From 1'),
  score: unit.describe('The weighted share of checks that held'),
  passed: z.boolean().describe('All of them did'),
  failure: z
    .string()
    .nullable()
    .describe('`wrong`, or what kept it from an answer, such as `max_steps` or `model_error`'),
  detail: z.string().nullable(),
  checks: z.array(z.object({ what: z.string(), held: z.boolean() })),
  answer: z.string().describe('What was said last, cut after 500 characters'),
  calls: z.number().int().describe('Model calls, which are its turns'),
  tokens: Tokens,
  cost_usd: z.number(),
  duration_ms: z.number(),
})
export type ScenarioRun = z.infer<typeof ScenarioRun>

const Measured = z.object({
  score: unit.nullable().describe('The mean over runs; over scenarios the mean of theirs'),
  runs: z.number().int(),
  passed: z.number().int(),
  pass_rate: unit.nullable(),
  pass_interval: ShareInterval.nullable().describe('95 %, after Wilson'),
  calls: z.number().int(),
  tokens: Tokens,
  cost_usd: z.number(),
})

/** Results of a model in one scenario. */
export const ScenarioResult = Measured.extend({ name: z.string(), results: z.array(ScenarioRun) })
export type ScenarioResult = z.infer<typeof ScenarioResult>

/** Results of a model. */
export const ModelResult = Measured.extend({
  asked: z.string().meta({ examples: ['openai:lite'] }),
  model: z.string().nullable().describe('What that meant, as `provider:model`'),
  notice: z.string().nullable().describe('What is said wherever the model is named, as of the simulated one'),
  complete: z.boolean().describe('All scenarios were run'),
  reason: z.string().nullable().describe('Why not'),
  score_interval: ShareInterval.nullable().describe('95 %, by bootstrap within scenarios; null below three runs'),
  failed_calls: z.number().int(),
  priced: z.enum(['catalogue', 'free', 'unknown', 'mixed']).nullable().describe('Where the prices are from'),
  estimated: z.boolean().describe('Some tokens were estimated'),
  latency_ms: z.object({ p50: z.number(), p95: z.number() }).nullable().describe('Of calls that were answered'),
  duration_ms: z.number(),
  per_run: z
    .object({ calls: Spread, tokens: Spread, cost_usd: Spread, duration_ms: Spread })
    .nullable()
    .describe('Over all runs'),
  failures: z.array(z.object({ kind: z.string(), count: z.number().int() })),
  scenarios: z.array(ScenarioResult),
})
export type ModelResult = z.infer<typeof ModelResult>

export const BenchmarkReport = z.object({
  version: z.literal(1),
  at: z.iso.datetime(),
  seed: z.number().int(),
  runs: z.number().int(),
  cycles: z.number().int(),
  scenarios: z.array(z.object({ name: z.string(), title: z.string(), measures: z.string(), category: z.string() })),
  left_out: z.array(z.string()).describe('Work goals that run programs, where there is no sandbox for them'),
  models: z.array(ModelResult),
  methods: z.array(z.string()).describe('How the figures came about'),
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
export const Benchmark = token<Benchmark>('benchmark')

declare module '#kernel' {
  interface Replaceable {
    benchmark: { benchmark: Benchmark }
  }
}
