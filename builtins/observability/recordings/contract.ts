import { defineError, point, token, z } from '#kernel'

const ForkPoint = z.object({
  run_id: z.string(),
  step: z.number().int().describe('The first that is its own'),
  at: z.iso.datetime().nullable().default(null).describe('When it was made: its own clock begins with that of the run'),
  model: z.string().nullable(),
  plugin: z.string().nullable(),
})

/** What a recording says of itself, in `recording.json`. */
export const Recording = z
  .object({
    run_id: z.string(),
    kind: z.string().describe('daemon, task, or fork: one that left another recording and went on by itself'),
    within: z.string().nullable().default(null).describe('Of a task: the recording of its process, which holds it'),
    v: z.number().int().describe('Of the form of the recording'),
    svc_version: z.string(),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable().describe('null while it goes on, or when its process was killed'),
    seed: z.number(),
    pid: z.number().int(),
    owner: z.string(),
    state: z.string().nullable().describe('SHA-256 of the database with which it began; null when that was too large'),
    state_bytes: z.number().int(),
    bytes: z.number().int().describe('Of what was recorded since, compressed'),
    cycles: z.number().int().describe('At its end; before that, and of a task, only where it is asked for alone'),
    steps: z.number().int().describe('Answers of models; known as `cycles` is'),
    cut: z.string().nullable().describe('Why it ends before the run did, where it does'),
    inexact: z.array(z.string()).describe('What happened that is not in it: a replay may end there'),
    events_of: z.string().describe('The run that its events name: of a fork, the one that it left'),
    last_seq: z
      .number()
      .int()
      .nullable()
      .describe('Of the events in it; null while it goes on, or when its process was killed'),
    secrets: z.array(z.string()).describe('Names of variables whose values are hidden'),
    forked_from: ForkPoint.nullable(),
    plugins: z.array(z.string()).nullable().default(null).describe('Of files, at its beginning; null if not known'),
    config: z.record(z.string(), z.unknown()).describe('In force at its beginning, without secrets'),
  })
  .meta({ id: 'Recording' })
export type Recording = z.infer<typeof Recording>

/** One answer of a model in a recording. */
export const RecordedStep = z
  .object({
    step: z.number().int().describe('Counts the answers of models in the run, from 1'),
    agent_id: z.string(),
    cycle_num: z.number().int(),
    says: z.string().describe('The tools that it calls, the beginning of its text, or why it gave no answer'),
  })
  .meta({ id: 'RecordedStep' })
export type RecordedStep = z.infer<typeof RecordedStep>

/** Where a replay first differs from what was recorded. */
export const Divergence = z
  .object({
    agent_id: z.string().nullable(),
    cycle_num: z.number().int().nullable(),
    step: z.number().int().describe('How many answers of models had been given by then, in the whole run'),
    seq: z.number().int().nullable().describe('The first event that differs'),
    what: z.string().describe('In a sentence'),
    expected: z.string(),
    got: z.string(),
  })
  .meta({ id: 'Divergence' })
export type Divergence = z.infer<typeof Divergence>

export const ReplayVerdict = z
  .object({
    run_id: z.string(),
    same: z.boolean().describe('The event log came out again, byte for byte'),
    events: z.number().int().describe('Compared'),
    cycles: z.number().int(),
    steps: z.number().int(),
    hash: z.string().describe('SHA-256 of the event log as it was recorded'),
    replayed_hash: z.string().describe('SHA-256 of the event log as it came out'),
    duration_ms: z.number().int(),
    divergence: Divergence.nullable(),
    notes: z.array(z.string()).describe('What the recording lacks'),
  })
  .meta({ id: 'ReplayVerdict' })
export type ReplayVerdict = z.infer<typeof ReplayVerdict>

/** What one side of a comparison did, and what it cost. */
const Side = z.object({
  run_id: z.string(),
  events: z.number().int(),
  cycles: z.number().int(),
  steps: z.number().int(),
  tool_calls: z.number().int(),
  goals_completed: z.number().int(),
  tokens: z.number().int(),
  cost_usd: z.number(),
})
export const RunDiff = z
  .object({
    same: z.boolean(),
    common: z.number().int().describe('Events that both have alike, from the beginning'),
    divergence: z
      .object({
        agent_id: z.string().nullable(),
        cycle_num: z.number().int().nullable(),
        a: z.string().describe('The first event that only this side has'),
        b: z.string(),
      })
      .nullable(),
    a: Side.extend({ after: Side.omit({ run_id: true }).describe('Since the first divergence') }),
    b: Side.extend({ after: Side.omit({ run_id: true }).describe('Since the first divergence') }),
  })
  .meta({ id: 'RunDiff' })
export type RunDiff = z.infer<typeof RunDiff>

export interface ReplayOptions {
  signal: AbortSignal
  progress?: (sentence: string) => void
}

export interface ForkOptions extends ReplayOptions {
  /** The first answer that is asked anew, counted from 1. */
  from: number
  /** Asked from there on in place of the agents' own; as people write it. */
  model?: string | undefined
  /** A plugin's file that is there from then on. */
  plugin?: string | undefined
  /** Maximum number of cycles. Default: as many as the recording has left. */
  cycles?: number | undefined
}

export interface Recordings {
  /** Records what this process does from now on, where it does not yet; undefined where nothing is to be waited for. */
  follow(): Promise<void> | undefined
  /** A task has begun its run in this process: it can be had by that name, in other processes within a second. */
  addTaskRun(run_id: string): void
  /** @throws RecordingNotFoundError */
  get(run_id: string): Promise<Recording>
  /** Those that can be repeated, newest first. */
  list(): Promise<Recording[]>
  /** Repeats a recording, or a file that `save` made, offline. @throws RecordingNotFoundError, NotReplayableError */
  replay(run: string, options: ReplayOptions): Promise<ReplayVerdict>
  /** Leaves a recording at a step, and lives on. @returns the recording of the fork */
  fork(run: string, options: ForkOptions): Promise<Recording>
  /** Writes a recording as one file without secrets, to be kept with tests. @throws FileExistsError */
  save(run_id: string, file: string): Promise<void>
  diff(a: string, b: string): Promise<RunDiff>
}
export const Recordings = token<Recordings>('recordings')

/**
 * State that a module keeps in memory of rows that its process writes outside of cycles. In a replay, the recording
 * writes those rows.
 */
export interface Mirror {
  /** Of what, as in `mcp-servers`. */
  name: string
  /** Takes in what stands in the rows now. */
  look(): Promise<void>
}
export const Mirrors = point<Mirror>('mirrors', {
  key: mirror => mirror.name,
  has: { name: 'text', look: 'function' },
})

export const RecordingNotFoundError = defineError({
  code: 'recording_not_found',
  status: 404,
  title: 'Recording not found',
  message: (p: { run_id: string }) =>
    `There is no recording of the run "${p.run_id}"; recordings.enabled may have been off, or it was pruned. List them with: svc recordings`,
})
export const NotReplayableError = defineError({
  code: 'not_replayable',
  status: 409,
  title: 'Not replayable',
  message: (p: { run_id: string; why: string }) => `The run ${p.run_id} cannot be repeated: ${p.why}.`,
})

/** Works on a task that is held already: for replays. Resolves when it has begun. */
export interface TaskDriver {
  drive(task_id: string): Promise<{ ended: Promise<void> }>
}
export const TaskDriver = token<TaskDriver>('task-driver')
