import { resolve } from 'node:path'
import { ModelNameError } from '#core/models/contract'
import { InvalidInputError, operation, z } from '#kernel'
import { Page, pageOf } from '#lib/list'
import { pluralize } from '#lib/pluralize'
import { RunNotFoundError, RunRef } from '#observability/runs/contract'
import { FileExistsError } from '#platform/store/contract'
import {
  NotReplayableError,
  RecordedStep,
  Recording,
  RecordingNotFoundError,
  ReplayVerdict,
  RunDiff,
} from './contract.ts'
import { OwnRecordings, type RecordingService } from './recording-service.ts'
import { renderDiff, renderRecording, renderVerdict } from './render.ts'
import { ForkError } from './replay/fork.ts'

const MISSING = [RecordingNotFoundError, RunNotFoundError, NotReplayableError]

const ForkInput = {
  from: z.int().min(1).describe('Number of the first model answer to request again, from 1'),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Model to call from that step on, instead of the models of the agents'),
  cycles: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('Number of cycles to run after the fork; default: as many as the run had left, at most 50'),
}

/** A recording as it is shown; the configuration is only in the file. */
const PublicRecording = Recording.omit({ config: true, secrets: true })

const Replayed = z.object({
  verdict: ReplayVerdict.nullable().describe('Result of the replay; null for a fork'),
  fork: PublicRecording.nullable().describe('Recording of the fork; null for a replay'),
  diff: RunDiff.nullable().describe('Comparison of the fork with the original run; null for a replay'),
})

/** Returns what is known of a recording without reading its log. */
function sizeOf({ within, ended_at, cycles, steps }: z.infer<typeof PublicRecording>): string {
  if (within !== null) return `in ${within}`
  return ended_at === null ? 'still running' : `${pluralize(cycles, 'cycle')}, ${pluralize(steps, 'step')}`
}

export const recordingsList = operation({
  name: 'recordings.list',
  summary: 'List recorded runs and forks, newest first',
  description: 'A recording has everything that a replay needs. Runs on PostgreSQL are not recorded.',
  input: Page,
  output: z.array(PublicRecording),
  http: { method: 'GET', path: '/recordings' },
  cli: { usage: 'recordings', short: { limit: 'n' } },
  mcp: true,
  run: async (page, { svc }) => pageOf(await svc.use(OwnRecordings).list(), page),
  count: async (_, { svc }) => (await svc.use(OwnRecordings).list()).length,
  render: all =>
    all
      .map(about => `${about.run_id}  ${about.kind}  ${sizeOf(about)}${about.cut ? `  incomplete: ${about.cut}` : ''}`)
      .join('\n') || 'no recordings',
})

export const recordingsGet = operation({
  name: 'recordings.get',
  summary: 'Show a recording and its model answers',
  description: 'The model answers are numbered; use such a number as the step at which to fork the run.',
  input: z.object({ id: RunRef }),
  output: PublicRecording.extend({ steps_taken: z.array(RecordedStep) }),
  http: { method: 'GET', path: '/runs/{id}/recording' },
  cli: { usage: 'recordings show <id>' },
  mcp: true,
  errors: [RecordingNotFoundError, NotReplayableError],
  run: async ({ id }, { svc }) => ({
    ...(await svc.use(OwnRecordings).get(id)),
    steps_taken: await svc.use(OwnRecordings).steps(id),
  }),
  render: shown => renderRecording(shown),
})

export const recordingsReplay = operation({
  name: 'recordings.replay',
  summary: 'Replay a run, or fork it at a step',
  description:
    'Replays the run offline and compares the event logs; with `from`, the run continues differently from that step. Nothing outside a temporary project is changed. A fork calls real models, which cost money. Its tools work on the temporary project only: starting a program and reaching the network are refused, unless the code of a plugin bypasses svc.',
  input: z.object({
    id: RunRef,
    ...ForkInput,
    from: ForkInput.from.optional(),
  }),
  output: Replayed,
  http: { method: 'POST', path: '/runs/{id}/replay' },
  mcp: true,
  errors: [...MISSING, ForkError, ModelNameError, InvalidInputError],
  run: ({ id, ...how }, call) => replayRun(call.svc.use(OwnRecordings), id, how, call),
  render: renderReplayed,
})

export const recordingsReplayFile = operation({
  name: 'recordings.replay_file',
  summary: 'Replay a run or a saved file, or fork it at a step',
  description:
    'Replays the run offline and compares the event logs. Prints whether the logs are identical, and where they first differ. With --from, the run continues from that step in a temporary project, with real models; --model and --plugin set what is different. --save writes the recording to one file, for tests.',
  input: z.object({
    run: z.string().min(1).max(4096).describe('Id of a run, or a file written with --save'),
    ...ForkInput,
    from: ForkInput.from.optional(),
    plugin: z.string().min(1).max(4096).optional().describe('File of a plugin to load from that step on'),
    save: z.string().min(1).max(4096).optional().describe('Write the recording to this file'),
  }),
  output: Replayed,
  cli: { usage: 'replay <run>', example: 'replay run-20260102-030405-1a2b3c --from 3 --model sim' },
  errors: [...MISSING, ForkError, ModelNameError, FileExistsError, InvalidInputError],
  async run({ run, save, plugin, ...how }, call) {
    const { svc } = call
    if (save) await svc.use(OwnRecordings).save(run, resolve(save))
    return replayRun(svc.use(OwnRecordings), run, { ...how, plugin: plugin && resolve(plugin) }, call)
  },
  render: renderReplayed,
  exit: ({ verdict }) => (verdict?.same === false ? 1 : 0),
})

export const recordingsDiff = operation({
  name: 'recordings.diff',
  summary: 'Compare two runs',
  description: 'Shows the first difference, and what each run did and cost, in total and after the difference.',
  input: z.object({ a: RunRef, b: RunRef }),
  output: RunDiff,
  http: { method: 'GET', path: '/runs/{a}/diff/{b}' },
  cli: { usage: 'runs diff <a> <b>' },
  mcp: true,
  errors: MISSING,
  run: ({ a, b }, { svc }) => svc.use(OwnRecordings).diff(a, b),
  render: renderDiff,
})

export const recordingOperations = [
  recordingsList,
  recordingsGet,
  recordingsReplay,
  recordingsReplayFile,
  recordingsDiff,
]

interface How {
  from?: number | undefined
  model?: string | undefined
  plugin?: string | undefined
  cycles?: number | undefined
}

async function replayRun(
  service: RecordingService,
  run: string,
  { from, ...how }: How,
  { signal, progress }: { signal: AbortSignal; progress(sentence: string): void },
): Promise<z.input<typeof Replayed>> {
  if (from === undefined) {
    const useless = Object.entries(how).filter(([, value]) => value !== undefined)
    const issues = useless.map(([path]) => ({ path, message: 'needs `from`: the step at which to fork the run' }))
    if (issues.length > 0) throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
    return { verdict: await service.replay(run, { signal, progress }), fork: null, diff: null }
  }
  const fork = await service.fork(run, { ...how, from, signal, progress })
  return { verdict: null, fork, diff: await service.diff(run, fork.run_id) }
}

function renderReplayed({ verdict, fork, diff }: z.output<typeof Replayed>): string {
  if (verdict) return renderVerdict(verdict)
  return `forked as ${fork!.run_id}\n${renderDiff(diff!)}`
}
