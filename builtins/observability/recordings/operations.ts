import { resolve } from 'node:path'
import { ModelNameError } from '#core/models/contract'
import { InvalidInputError, operation, z } from '#kernel'
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
  from: z.number().int().min(1).describe('The first answer of a model that is asked anew, counted from 1'),
  model: z.string().min(1).max(200).optional().describe('Asked from there on in place of the agents’ own'),
  cycles: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('How many cycles it lives on; as many as the run had left'),
}

/** A recording as it is shown; the configuration is only in the file. */
const PublicRecording = Recording.omit({ config: true, secrets: true })

const Replayed = z.object({
  verdict: ReplayVerdict.nullable().describe('Of a replay'),
  fork: PublicRecording.nullable().describe('The run of its own that left this one'),
  diff: RunDiff.nullable().describe('Of a fork, compared with the run that it left'),
})

/** Returns what is known of a recording without reading its log. */
function sizeOf({ within, ended_at, cycles, steps }: z.infer<typeof PublicRecording>): string {
  if (within !== null) return `in ${within}`
  return ended_at === null ? 'still running' : `${pluralize(cycles, 'cycle')}, ${pluralize(steps, 'step')}`
}

export const recordingsList = operation({
  name: 'recordings.list',
  summary: 'List recorded runs and forks, newest first',
  description: 'A recording holds all that a replay needs. Runs on PostgreSQL have none.',
  input: z.object({}),
  output: z.array(PublicRecording),
  http: { method: 'GET', path: '/recordings' },
  cli: { usage: 'recordings' },
  mcp: true,
  run: (_, { svc }) => svc.use(OwnRecordings).list(),
  render: all =>
    all
      .map(about => `${about.run_id}  ${about.kind}  ${sizeOf(about)}${about.cut ? `  cut: ${about.cut}` : ''}`)
      .join('\n') || 'nothing is recorded',
})

export const recordingsGet = operation({
  name: 'recordings.get',
  summary: 'Show a recording and its model answers',
  description: 'The answers are numbered; a fork begins at such a number.',
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
    'Repeats it offline and compares the event logs; with `from` it continues differently from that step. Nothing outside a temporary project is touched. A fork asks real models, which cost, and its tools work on the temporary project only: what would start a program or reach the network is refused, unless code of a plugin goes its own way.',
  input: z.object({
    id: RunRef,
    ...{ ...ForkInput, from: ForkInput.from.optional() },
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
    'Repeats it offline and compares the event logs; with --from it continues differently from that step. Prints whether the same event log came out, and where not. With --from it lives on in a temporary project, with real models; --model and --plugin say what is to be different. --save writes the recording as one file, for tests.',
  input: z.object({
    run: z.string().min(1).max(4096).describe("A run's id, or a file that --save wrote"),
    ...{ ...ForkInput, from: ForkInput.from.optional() },
    plugin: z.string().min(1).max(4096).optional().describe("A plugin's file that is there from that step on"),
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
  description: 'Shows the first difference, and what each run did and cost, in all and from there on.',
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
    const issues = useless.map(([path]) => ({ path, message: 'needs `from`: the step at which the run is left' }))
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
