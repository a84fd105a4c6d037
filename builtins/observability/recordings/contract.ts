import { defineError, point, token, z } from '#kernel'

const ForkPoint = z.object({
  run_id: z.string(),
  step: z.int().describe('Number of the first model answer that was requested again'),
  at: z.iso
    .datetime()
    .nullable()
    .default(null)
    .describe('Time when the fork was created; the clock of the fork itself begins with the time of the run'),
  model: z.string().nullable(),
  plugin: z.string().nullable(),
})

/** Description of a recording, in `recording.json`. */
export const Recording = z
  .object({
    run_id: z.string(),
    kind: z
      .string()
      .describe('daemon, task or fork; a fork repeats another recording up to a step and continues differently'),
    within: z
      .string()
      .nullable()
      .default(null)
      .describe('For a task, the recording of its process, which contains the task; null for other recordings'),
    v: z.int().describe('Version of the recording format'),
    svc_version: z.string(),
    started_at: z.iso.datetime(),
    ended_at: z.iso
      .datetime()
      .nullable()
      .describe('End of the recording; null while it continues, or if its process was killed'),
    seed: z.number(),
    pid: z.int(),
    owner: z.string(),
    state: z.string().nullable().describe('SHA-256 of the initial database; null if the database was too large'),
    state_bytes: z.int(),
    bytes: z.int().describe('Compressed size of the recording without the initial database, in bytes'),
    cycles: z
      .int()
      .describe('Number of cycles; for running recordings and tasks, final only when requested alone, not in lists'),
    steps: z.int().describe('Number of model answers; same limits as for `cycles`'),
    cut: z.string().nullable().describe('Reason why the recording ends before the run; null if it does not'),
    inexact: z.array(z.string()).describe('Notes about what the recording lacks; a replay may end there'),
    events_of: z.string().describe('Run id in the recorded events; for a fork, the id of the original run'),
    last_seq: z
      .int()
      .nullable()
      .describe(
        'Seq of the last recorded event; null while the recording continues, if it was cut, or if its process was killed',
      ),
    secrets: z.array(z.string()).describe('Names of environment variables whose values are hidden'),
    forked_from: ForkPoint.nullable(),
    plugins: z
      .array(z.string())
      .nullable()
      .default(null)
      .describe('Names of the plugins from files at the beginning; null if not known'),
    config: z.record(z.string(), z.unknown()).describe('Configuration in force at the beginning, without secrets'),
  })
  .meta({ id: 'Recording' })
export type Recording = z.infer<typeof Recording>

/** One answer of a model in a recording. */
export const RecordedStep = z
  .object({
    step: z.int().describe('Number of the model answer in the run, from 1'),
    agent_id: z.string(),
    cycle_num: z.int(),
    says: z
      .string()
      .describe('Tools that the answer calls, the beginning of its text, or the reason why there is no answer'),
  })
  .meta({ id: 'RecordedStep' })
export type RecordedStep = z.infer<typeof RecordedStep>

/** Where a replay first differs from what was recorded. */
export const Divergence = z
  .object({
    agent_id: z.string().nullable(),
    cycle_num: z.int().nullable(),
    step: z.int().describe('Number of model answers before the divergence, in the whole run'),
    seq: z.int().nullable().describe('Seq of the first event that differs'),
    what: z.string().describe('Description of the difference, in one sentence'),
    expected: z.string(),
    got: z.string(),
  })
  .meta({ id: 'Divergence' })
export type Divergence = z.infer<typeof Divergence>

export const ReplayVerdict = z
  .object({
    run_id: z.string(),
    same: z.boolean().describe('Whether the replayed event log is identical to the recorded one, byte for byte'),
    events: z.int().describe('Number of compared events'),
    cycles: z.int(),
    steps: z.int(),
    hash: z.string().describe('SHA-256 of the recorded event log'),
    replayed_hash: z.string().describe('SHA-256 of the replayed event log'),
    duration_ms: z.int(),
    divergence: Divergence.nullable(),
    notes: z.array(z.string()).describe('Notes about what the recording or the replay lacks'),
  })
  .meta({ id: 'ReplayVerdict' })
export type ReplayVerdict = z.infer<typeof ReplayVerdict>

/** What one side of a comparison did, and its cost. */
const Side = z.object({
  run_id: z.string(),
  events: z.int(),
  cycles: z.int(),
  steps: z.int(),
  tool_calls: z.int(),
  goals_completed: z.int(),
  tokens: z.int(),
  cost_usd: z.number(),
})
export const RunDiff = z
  .object({
    same: z.boolean(),
    common: z.int().describe('Number of events at the beginning that both runs have in common'),
    divergence: z
      .object({
        agent_id: z.string().nullable(),
        cycle_num: z.int().nullable(),
        a: z.string().describe('First event of this run that differs from the other run'),
        b: z.string(),
      })
      .nullable(),
    a: Side.extend({ after: Side.omit({ run_id: true }).describe('Totals after the first divergence') }),
    b: Side.extend({ after: Side.omit({ run_id: true }).describe('Totals after the first divergence') }),
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
  title: 'Recording not replayable',
  message: (p: { run_id: string; why: string }) => `The run ${p.run_id} cannot be replayed: ${p.why}.`,
})

/** Runs a task that is already held, for replays. Resolves when the task has begun. */
export interface TaskDriver {
  drive(task_id: string): Promise<{ ended: Promise<void> }>
}
export const TaskDriver = token<TaskDriver>('task-driver')
