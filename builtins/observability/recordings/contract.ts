import { defineError, point, token, z } from '#kernel'

const ForkPoint = z.object({
  run_id: z.string(),
  step: z.number().int().describe('The first that is its own'),
  at: z.iso.datetime().nullable().default(null).describe('When it was made: its own clock begins with that of the run'),
  model: z.string().nullable(),
  plugin: z.string().nullable(),
})

/** Description of a recording, in `recording.json`. */
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

/** What one side of a comparison did, and its cost. */
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
  /** First model answer that is requested again, counted from 1. */
  from: number
  /** Model that is called from there on instead of the agents' own, by the name that users write. */
  model?: string | undefined
  /** File of a plugin that is loaded from there on. */
  plugin?: string | undefined
  /** Maximum number of cycles. Default: as many as the recording has left. */
  cycles?: number | undefined
}

export interface Recordings {
  /** Starts recording this process if it is not recorded yet. Returns undefined if there is nothing to wait for. */
  follow(): Promise<void> | undefined
  /**
   * Records that a task began its run in this process. The run's recording is found by its id, in other processes
   * within a second.
   */
  addTaskRun(run_id: string): void
  /** @throws RecordingNotFoundError */
  get(run_id: string): Promise<Recording>
  /** Returns the recordings that can be replayed, newest first. */
  list(): Promise<Recording[]>
  /**
   * Replays a recording, or a file that `save` wrote, offline.
   * @throws RecordingNotFoundError, NotReplayableError
   */
  replay(run: string, options: ReplayOptions): Promise<ReplayVerdict>
  /**
   * Replays a recording up to a step and continues from there with real models.
   * @returns the recording of the fork
   */
  fork(run: string, options: ForkOptions): Promise<Recording>
  /**
   * Writes a recording without secrets to one file, to be kept with tests.
   * @throws FileExistsError
   */
  save(run_id: string, file: string): Promise<void>
  diff(a: string, b: string): Promise<RunDiff>
}
export const Recordings = token<Recordings>('recordings')

/**
 * State that a module keeps in memory of rows that its process writes outside of cycles. In a replay, the recording
 * writes those rows.
 */
export interface Mirror {
  /** Name of the state, such as `mcp-servers`. */
  name: string
  /** Updates the state from the rows. */
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

/** Runs a task that is already held, for replays. Resolves when the task has begun. */
export interface TaskDriver {
  drive(task_id: string): Promise<{ ended: Promise<void> }>
}
export const TaskDriver = token<TaskDriver>('task-driver')
