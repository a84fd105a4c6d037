import { AmbiguousAgentError } from '#core/agents/contract'
import { ModelProviders } from '#core/models/contract'
import { type PluginHandle, z } from '#kernel'
import { Store, usdOf } from '#platform/store/contract'
import { type LoggedEvent, type RunRecord, RunRef, type Trace } from '../contract.ts'
import { ACTION_EVENTS } from '../counts.ts'
import { readLog, readNewest } from '../logs/reader.ts'
import { factsIn } from '../manifest.ts'
import type { Recorder } from '../recorder.ts'
import { findRunAgents, listRunAgents, objectivesOf, type RunAgentRow, type RunRow } from '../repository.ts'
import type { RunDirectory } from '../runs.ts'
import { TraceBuilder } from './trace.ts'

export const TraceQuery = z.object({
  run_id: RunRef,
  agent_id: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Only spans of this agent, by id or name; it may be a deleted agent'),
  limit: z.int().min(1).max(1000).default(500).describe('Maximum number of events with a span (1 to 1000)'),
  after: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('Seq of the event after which to start: `next_after` of the previous part'),
  before: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Seq of the event before which to end: `next_before` of the next part'),
  newest: z.boolean().default(false).describe('Begin with the newest part'),
})

/**
 * Returns a part of a run's trace, read from its log. Details that the log lacks come from the database, if they still
 * exist.
 * @throws RunNotFoundError, AmbiguousAgentError
 */
export async function traceOf(
  svc: PluginHandle,
  runs: RunDirectory,
  recorder: Recorder,
  { run_id, agent_id: ref, limit, after, before, newest }: z.output<typeof TraceQuery>,
  signal: AbortSignal,
): Promise<Trace> {
  await runs.refresh(run_id)
  const run = await runs.row(run_id)
  const agent_id = ref === undefined ? undefined : await agentIn(svc.use(Store), run_id, ref)
  const builder = new TraceBuilder(run, factsIn(run), await runs.statusOf(run), limit)
  const folder = recorder.folderOf(run_id)
  const reading = { files: svc.ports.files, signal, agent_id }
  if (newest || before !== undefined) {
    const isWanted = (event: LoggedEvent) => ACTION_EVENTS.has(event.type) && event.agent_id !== null
    const { events, complete, broken } = await readNewest(folder, { ...reading, limit, before, isWanted })
    for (const event of events) builder.take(event)
    const trace = await finishTrace(svc, run, builder, agent_id)
    return {
      ...trace,
      complete: complete && before === undefined,
      next_after: before === undefined ? null : (events.at(-1)?.seq ?? before - 1),
      next_before: complete ? null : events[0]!.seq,
      broken_lines: broken,
    }
  }
  const read = await readLog(folder, { ...reading, after, take: builder.take.bind(builder) })
  const trace = await finishTrace(svc, run, builder, agent_id)
  return {
    ...trace,
    complete: read.complete && after === 0,
    next_after: read.complete ? null : builder.last,
    next_before: after === 0 ? null : after + 1,
    broken_lines: read.broken,
  }
}

/**
 * Returns a run with its newest events and their trace.
 * @throws RunNotFoundError
 */
export async function recordOf(
  svc: PluginHandle,
  runs: RunDirectory,
  recorder: Recorder,
  run_id: string,
  limit: number,
  signal: AbortSignal,
): Promise<RunRecord> {
  const detail = await runs.detail(run_id)
  const run = await runs.row(run_id)
  const builder = new TraceBuilder(run, factsIn(run), detail.status, limit)
  const read = await readNewest(recorder.folderOf(run_id), { files: svc.ports.files, signal, limit })
  for (const event of read.events) builder.take(event)
  const trace = await finishTrace(svc, run, builder, undefined)
  const { complete, broken: broken_lines } = read
  const next_before = complete ? null : (read.events[0]?.seq ?? null)
  return {
    run: detail,
    events: read.events,
    trace: { ...trace, complete, next_after: null, next_before, broken_lines },
  }
}

/** Completes a trace with details from the database that the log lacks. */
async function finishTrace(svc: PluginHandle, run: RunRow, builder: TraceBuilder, agent_id: string | undefined) {
  const agents = await agentsOf(svc.use(Store), run.run_id, agent_id)
  nameAgents(builder, agents)
  await nameGoals(builder, svc.use(Store))
  builder.root.attributes.notice = noticeOf(svc, [factsIn(run).default_model, ...builder.models])
  return {
    run_id: run.run_id,
    total_spans: builder.spans,
    left_out: Math.max(0, countLeaves(agent_id === undefined ? [run] : agents) - builder.leaves),
    root: builder.root,
  }
}

async function agentsOf(store: Store, run_id: string, agent_id: string | undefined): Promise<RunAgentRow[]> {
  if (agent_id === undefined) return listRunAgents(store, run_id)
  return (await findRunAgents(store, run_id, agent_id)).filter(each => each.agent_id === agent_id)
}

/**
 * Returns the id of the agent that a reference means. An agent unknown to the run has no spans in it.
 * @throws AmbiguousAgentError
 */
async function agentIn(store: Store, run_id: string, ref: string): Promise<string> {
  const ids = (await findRunAgents(store, run_id, ref)).map(({ agent_id }) => agent_id)
  if (ids.includes(ref)) return ref
  if (ids.length > 1) throw new AmbiguousAgentError({ ref, ids })
  return ids[0] ?? ref
}

function countLeaves(rows: readonly (RunRow | RunAgentRow)[]): number {
  return rows.reduce((sum, { model_calls, tool_calls }) => sum + model_calls + tool_calls, 0)
}

function nameAgents(builder: TraceBuilder, rows: readonly RunAgentRow[]): void {
  for (const { agent_id, name, model, input_tokens, output_tokens, cost_micros } of rows) {
    const span = builder.agents.get(agent_id)
    if (!span) continue
    span.tokens = input_tokens + output_tokens
    span.cost_usd = usdOf(cost_micros)
    Object.assign(span.attributes, { name, model })
  }
}

/** Adds names of goals that began in an earlier run, or in an earlier part of this one. */
async function nameGoals(builder: TraceBuilder, store: Store): Promise<void> {
  const nameless = [...builder.goals.values()].filter(({ attributes }) => attributes.objective === null)
  const ids = nameless.map(({ span_id }) => span_id)
  const objectives = await objectivesOf(store, ids)
  for (const goal of nameless) {
    goal.name = objectives.get(goal.span_id) ?? goal.name
    goal.attributes.objective = objectives.get(goal.span_id) ?? null
  }
}

/** Returns the notices of these models' providers, such as that a model is simulated; null if there are none. */
function noticeOf(svc: PluginHandle, models: readonly string[]): string | null {
  const names = new Set(models.map(model => model.split(/[:/]/)[0]))
  const notices = svc.list(ModelProviders).flatMap(({ name, notice }) => (notice && names.has(name) ? [notice] : []))
  return notices.join('; ') || null
}
