import { defineError, type Effect, token, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import type { EventEnvelope } from '#platform/store/contract'

/** Reference to a run, as users enter it. */
export const RunRef = idSchema("A run's id", 'run-20260102-030405-1a2b3c')

export const RUN_STATUSES = ['running', 'ended', 'crashed'] as const

/** Totals of a run, or of one agent in it. */
export const RunTotals = z.object({
  cycles: z.int().describe('Cycles in which something happened'),
  goals_generated: z.int(),
  goals_completed: z.int(),
  goals_abandoned: z.int(),
  model_calls: z.int(),
  tool_calls: z.int(),
  tool_failures: z.int(),
  tokens: z.int(),
  cost_usd: z.number(),
})
export type RunTotals = z.infer<typeof RunTotals>

/** A run as shown in lists. */
export const Run = RunTotals.extend({
  run_id: z.string().meta({ examples: ['run-20260101-120000-9c8b7a'] }),
  kind: z.string().describe('`daemon`: from the start to the stop of the daemon; `task`: a one-shot task'),
  status: z.enum(RUN_STATUSES).describe('crashed: the process ended without recording the end of the run'),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
  duration_s: z.number().describe('Duration in seconds; until now while the run is in progress'),
  exit: z.string().nullable().describe('How the run ended, in one word'),
  model: z.string().describe('Default model, as provider:model; for a task, the model that it called'),
  heartbeat: z.number().nullable().describe("Seconds between an agent's cycles; null for runs without cycles"),
  agents: z.int().describe('Number of agents that were active in the run'),
}).meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const RunAgent = RunTotals.extend({
  agent_id: z.string(),
  name: z.string(),
  model: z.string().describe('provider:model, or empty for the default'),
  first_at: z.iso.datetime(),
  last_at: z.iso.datetime(),
}).meta({ id: 'RunAgent' })
export type RunAgent = z.infer<typeof RunAgent>

/** Facts about a run, written at its beginning to its row and its manifest. */
export const RunFacts = z.object({
  svc_version: z.string(),
  node: z.string(),
  platform: z.string(),
  pid: z.int(),
  place: z
    .string()
    .optional()
    .describe('Machine and project where the process can be checked, if several share the database'),
  seed: z.number().nullable(),
  heartbeat: z.number().nullable(),
  model_config: z.record(z.string(), z.unknown()).describe('The configuration of models in force, without secrets'),
  default_model: z.string(),
  profiles: z.array(z.string()),
  plugins: z.array(z.object({ name: z.string(), version: z.string(), origin: z.string(), state: z.string() })),
  tools: z.array(z.string()),
  agent_id: z.string().nullable(),
  task_id: z.string().nullable(),
  session_id: z.string().nullable(),
})
export type RunFacts = z.infer<typeof RunFacts>

export const RunDetail = Run.extend({
  agent_ids: z.array(z.string()),
  agents_seen: z
    .array(RunAgent)
    .describe('Agents that were active in the run, in the order of their first activity, including deleted agents'),
  ...RunFacts.pick({ svc_version: true, node: true, seed: true, model_config: true, profiles: true }).shape,
  ...RunFacts.pick({ plugins: true, tools: true }).shape,
  agent_id: z.string().nullable().describe('Agent of the task; null for other runs'),
  task_id: z.string().nullable(),
  session_id: z.string().nullable(),
}).meta({ id: 'RunDetail' })
export type RunDetail = z.infer<typeof RunDetail>

/** One span of a trace: a run, an agent in it, a goal of the agent, and below it model decisions and tool calls. */
export interface Span {
  span_id: string
  parent_id: string | null
  name: string
  kind: 'run' | 'agent' | 'goal' | 'decision' | 'tool'
  start_time: string
  end_time: string | null
  status: (typeof SPAN_STATUSES)[number]
  tokens: number
  cost_usd: number
  attributes: Record<string, unknown>
  children: Span[]
}

export const SPAN_STATUSES = [...RUN_STATUSES, 'active', 'completed', 'abandoned', 'ok', 'error'] as const

export const Span: z.ZodType<Span> = z
  .object({
    span_id: z.string(),
    parent_id: z.string().nullable(),
    name: z.string(),
    kind: z.enum(['run', 'agent', 'goal', 'decision', 'tool']),
    start_time: z.iso.datetime(),
    end_time: z.iso.datetime().nullable().describe('End of the span; null while it is in progress'),
    status: z.enum(SPAN_STATUSES),
    tokens: z.int().describe('Number of tokens: for a run or an agent, in the whole run; for a goal, in this answer'),
    cost_usd: z.number(),
    attributes: z.record(z.string(), z.unknown()),
    get children() {
      return z.array(Span)
    },
  })
  .meta({ id: 'Span' })

export const Trace = z
  .object({
    run_id: z.string(),
    total_spans: z.int().describe('Number of spans in this answer'),
    complete: z.boolean().describe('Whether this answer covers the whole log'),
    next_after: z.int().nullable().describe('Value of `after` for the next newer part; null when there is none'),
    next_before: z.int().nullable().describe('Value of `before` for the next older part; null when there is none'),
    left_out: z.int().describe('Decisions and tool calls that are not in this answer'),
    broken_lines: z.int().describe('Lines of the log that could not be read and were skipped'),
    root: Span,
  })
  .meta({ id: 'Trace' })
export type Trace = z.infer<typeof Trace>

/** Details that a module reports when it begins a run. */
export interface RunBeginning {
  agent_id?: string
  task_id?: string
  session_id?: string
  /** `provider:model`. Default: the default model. */
  model?: string
}

export interface Runs {
  /**
   * Begins a run in this process: its row, its folder, its manifest. Events belong to the project's open daemon run
   * unless they name another (`appendEvent({ …, run_id })`).
   * @returns the run's id, `run-YYYYMMDD-HHMMSS-<6 hex>`
   */
  begin(kind: string, about?: RunBeginning): Promise<string>
  /**
   * Returns the writes that begin a run, for a larger commit. If the commit is refused because the id is taken, call
   * this again. Call `recordStart` after the commit.
   */
  startEffects(kind: string, about?: RunBeginning): Promise<{ run_id: string; effects: Effect[] }>
  /** @deprecated Use `startEffects`. */
  begins?: Runs['startEffects']
  /** Completes the start of a run after the commit with the writes of `startEffects`. */
  recordStart(run_id: string, kind: string): void
  /** Ends a run; the rest of its log is written in the background. No effect on a run that has ended. */
  end(run_id: string, exit: string): Promise<void>
  /** Returns the write that ends a run, for a larger commit. Call `recordEnd` after the commit. */
  endEffect(run_id: string, exit: string): Effect
  /** @deprecated Use `endEffect`. */
  ends?: Runs['endEffect']
  /** Completes the end of a run after the commit with the write of `endEffect`. */
  recordEnd(run_id: string): void
  /** @deprecated Use `recordStart`. */
  begun?: Runs['recordStart']
  /** @deprecated Use `recordEnd`. */
  ended?: Runs['recordEnd']
  /**
   * Removes ended runs except the newest `keep`, rows and files; 0 keeps all.
   * @returns the number of removed runs
   */
  prune(keep: number): Promise<number>
}
export const Runs = token<Runs>('runs')

/** A run with its newest events and their trace. */
export interface RunRecord {
  run: RunDetail
  /** The newest events of its log, oldest first, without the values of secrets. */
  events: LoggedEvent[]
  /** Trace of these events. */
  trace: Trace
}
/** A line of a run's log. */
export type LoggedEvent = Pick<EventEnvelope, 'seq' | 'type' | 'at' | 'agent_id' | 'cycle_num' | 'data'>

export interface RunRecords {
  /**
   * Reads from the end of the log, so that the cost does not depend on its length.
   * @param limit maximum number of events
   * @throws RunNotFoundError
   */
  read(run_id: string, limit: number, signal: AbortSignal): Promise<RunRecord>
}
export const RunRecords = token<RunRecords>('run_records')

export const CycleDone = z
  .object({
    agent_id: z.string(),
    cycle_num: z.int(),
    result: z.string(),
    duration_ms: z.number(),
    error: z.string().optional(),
  })
  .describe('A cycle in which something happened has ended')
declare module '#kernel' {
  interface Events {
    cycle_done: z.infer<typeof CycleDone>
  }
}

/** There is no run with this id, or there are no runs yet. */
export const RunNotFoundError = defineError({
  code: 'run_not_found',
  status: 404,
  title: 'Run not found',
  message: (p: { run_id: string | null }) =>
    p.run_id === null
      ? 'There are no runs yet; a daemon or a task makes one.'
      : `There is no run "${p.run_id}"; list them with: svc runs`,
})
