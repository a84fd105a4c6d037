import { Images, imagesOf } from '#core/images/contract'
import type { Message } from '#core/models/contract'
import type { PluginHandle } from '#kernel'
import { jsonOrText } from '#lib/tree'
import { type LoggedEvent, type RunDetail, RunRecords, type Span, type Trace } from '#observability/runs/contract'
import { isoTime, Store } from '#platform/store/contract'
import { redactor } from './redact.ts'
import {
  callsOf,
  findTask,
  type GoalRow,
  goalsOf,
  goalTalk,
  LONGEST_TEXT,
  mailOf,
  type SaidRow,
  type TaskRow,
  taskTalk,
} from './repository.ts'

/** Maximum number of transcript messages, and of messages between agents, in one report. */
const MOST_SAID = 400
const MOST_MAIL = 300
/** Maximum number of images in one report; others are only named. */
const MOST_IMAGES = 20
/** Maximum number of tool calls that are shown in more detail than the log has. */
const MOST_CALLS = 500

export interface TranscriptMessage
  extends Pick<Message, 'role' | 'content' | 'tool_calls' | 'name' | 'is_error' | 'images'> {
  at: string
}

interface Mail {
  type: string
  from: string
  to: string
  subject: string
  body: string
  at: string
}

/** The content of a report, without secrets. */
export interface Report {
  run: RunDetail
  trace: Trace
  events: LoggedEvent[]
  goals: Map<string, GoalRow>
  task: TaskRow | undefined
  /** Transcripts by goal or task. */
  talks: Map<string, TranscriptMessage[]>
  /** Base64 of the newest images in the transcripts, by hash. */
  pictures: ReadonlyMap<string, string>
  mail: Mail[]
  made_at: string
}

/**
 * Collects the content of a report.
 * @throws RunNotFoundError
 */
export async function gather(svc: PluginHandle, run_id: string, limit: number, signal: AbortSignal): Promise<Report> {
  const redacted = redactor(svc)
  const store = svc.use(Store)
  const { run, trace, events } = redacted(await svc.use(RunRecords).read(run_id, limit, signal))
  const [from, to] = [Date.parse(run.started_at), run.ended_at === null ? svc.clock.ms() : Date.parse(run.ended_at)]
  const all = spansOf(trace.root)
  const ids = all.filter(({ kind }) => kind === 'goal').map(({ span_id }) => span_id)
  const { task_id } = run
  const messages = task_id ? await taskTalk(store, task_id, MOST_SAID) : await goalTalk(store, ids, from, to, MOST_SAID)
  const mail = task_id ? [] : await mailOf(store, run.agent_ids, from, to, MOST_MAIL)
  await lengthen(store, all, redacted)
  const spoken = redacted(messages.map(toTranscriptMessage))
  const hashes = spoken.flatMap(({ images = [] }) => images.map(({ sha256 }) => sha256)).slice(-MOST_IMAGES)
  return {
    run,
    trace,
    events,
    goals: new Map(redacted(await goalsOf(store, ids)).map(goal => [goal.goal_id, goal])),
    task: task_id ? (redacted(await findTask(store, task_id)) ?? undefined) : undefined,
    talks: talksOf(spoken),
    pictures: svc.has(Images) ? await svc.use(Images).load(hashes) : new Map(),
    mail: redacted(
      mail.map(({ from_agent, to_agent, at, ...rest }) => ({
        ...rest,
        from: from_agent,
        to: to_agent ?? 'operator',
        at: isoTime(at),
      })),
    ),
    made_at: svc.clock.now().toISOString(),
  }
}

export function spansOf(span: Span): Span[] {
  return [span, ...span.children.flatMap(spansOf)]
}

/** Replaces the truncated arguments and results in the log by those of the journal, for the newest tool calls. */
async function lengthen(store: Store, all: readonly Span[], redact: <T>(value: T) => T): Promise<void> {
  const tools = all.filter(({ kind }) => kind === 'tool').slice(-MOST_CALLS)
  const rows = await callsOf(
    store,
    tools.map(({ span_id }) => span_id),
  )
  const known = new Map(rows.map(row => [row.call_id, row]))
  for (const { span_id, status, attributes } of tools) {
    const row = known.get(span_id)
    if (!row) continue
    attributes.params = redact(jsonOrText(row.arguments))
    if (row.outcome !== null) attributes[status === 'error' ? 'error' : 'output'] = redact(row.outcome)
  }
}

function toTranscriptMessage({ about, message, at }: SaidRow): TranscriptMessage & { about: string } {
  const { role, content, tool_calls, name, is_error, images = [] } = JSON.parse(message) as Message
  const rest = {
    ...(tool_calls && { tool_calls }),
    ...(name && { name }),
    ...(is_error && { is_error }),
    ...imagesOf(images),
  }
  return { about, role, content: clip(content), at: isoTime(at), ...rest }
}

function talksOf(messages: readonly (TranscriptMessage & { about: string })[]): Map<string, TranscriptMessage[]> {
  const talks = new Map<string, TranscriptMessage[]>()
  for (const { about, ...each } of messages) talks.set(about, [...(talks.get(about) ?? []), each])
  return talks
}

function clip(text: string): string {
  const more = text.length - LONGEST_TEXT
  return more > 0 ? `${text.slice(0, LONGEST_TEXT)}\n… ${more} more characters` : text
}
