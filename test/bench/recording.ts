import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cycle, definePlugin, Kernel, type PluginHandle, type Tape, TapeToken } from '#kernel'
import { BUILTINS } from '../../builtins/index.ts'
import { type ModelEvent, ModelProviders, type ModelRequest } from '../../builtins/models/contract.ts'
import { beginRecording, type LiveRecording } from '../../builtins/recordings/recording.ts'
import { RecordingShelf } from '../../builtins/recordings/shelf.ts'
import { Runs } from '../../builtins/runs/contract.ts'
import runs from '../../builtins/runs/index.ts'
import { drive, house, prepare } from './cycles.ts'
import { costOf, inTurn, percentile } from './measures.ts'
import { type Row, row } from './row.ts'

const AGENTS = 20
const PAIRS = 16

/** Pairs that lie further apart than this say nothing about a twentieth. */
const UNSURE = 0.15

const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`

/** A recorder that can be taken off its hook between two cycles: with and without it the same process does the same work. */
class Switch {
  on = false
  live!: LiveRecording
  readonly plugin = definePlugin({
    name: 'recording-switch',
    needs: ['store', 'runs'],
    setup: svc => {
      this.#svc = svc
      const tape = () => (this.on ? this.live.tape : undefined)
      svc.provide(TapeToken, {
        begin: (...cycle) => tape()?.begin(...cycle),
        wrote: (...transaction) => tape()?.wrote(...transaction),
        pretends: false,
      } satisfies Tape)
    },
  })
  #svc!: PluginHandle

  async begin(kernel: Kernel): Promise<void> {
    const run = { run_id: await kernel.use(Runs).begin('daemon'), kind: 'daemon' }
    const config = { enabled: true, max_mb: 64, max_state_mb: 64 }
    this.live = (await beginRecording(this.#svc, new RecordingShelf(this.#svc), config, run, () => {}))!
  }
}

/** Chooses a goal, takes a note, ends. */
function answer({ purpose: { kind, agent_id, cycle_num }, messages }: ModelRequest, id: string): ModelEvent {
  if (kind === 'goal_generation') {
    const goal = `Note ${cycle_num} ${cycle_num * 3} ${cycle_num * 7}: ${agent_id}`
    return { type: 'text', text: JSON.stringify({ goal, reasoning: 'it is due' }) }
  }
  const call = { type: 'tool_call', id } as const
  return messages.at(-1)?.role === 'tool'
    ? { ...call, name: 'finish_goal', arguments: '{"summary":"noted"}' }
    : { ...call, name: 'notepad_write', arguments: '{"text":"a note"}' }
}

/** A model in this process, and agents that are always due. */
const company = definePlugin({
  name: 'company',
  needs: ['models'],
  setup(svc) {
    svc.tap('cleanup', 'at-once', (cycle: Cycle) => {
      cycle.run_at = svc.clock.ms()
    })
    let calls = 0
    svc.add(ModelProviders, {
      ...{ name: 'instant', free: true, tool_calls: 'native' },
      availability: async () => ({ available: true, reason: null }),
      defaultModel: async () => '1',
      async *stream(request): AsyncGenerator<ModelEvent> {
        const said = answer(request, `call-${++calls}`)
        yield said
        yield { type: 'usage', usage: { input_tokens: 100, output_tokens: 10 } }
        yield { type: 'done', finish_reason: said.type === 'text' ? 'stop' : 'tool_calls' }
      },
    })
  },
})

/** The program with all its rooms, as people run it, but for its recording. */
async function whole(hook: Switch): Promise<{ root: string; kernel: Kernel }> {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  await mkdir(join(root, 'profiles'))
  await mkdir(join(root, '.svc'))
  const config = { model: { default_model: 'instant:1' }, recordings: { enabled: false }, daemon: { min_rest: 0 } }
  await writeFile(join(root, '.svc', 'config.yaml'), JSON.stringify({ ...config, plugins: { enabled: false } }))
  const worker = { name: 'worker', role: 'takes notes', toolkits: ['notepad', 'file', 'memory'] }
  await writeFile(join(root, 'profiles', 'worker.yaml'), JSON.stringify(worker))
  const builtins = [...BUILTINS, company, hook.plugin]
  const kernel = await Kernel.open({ root, roles: ['daemon'], builtins, ports: { env: {} }, log: { level: 'error' } })
  for (let n = 0; n < AGENTS; n++) await kernel.invoke('agents.spawn', { preset: 'worker' })
  return { root, kernel }
}

async function stripped(hook: Switch): Promise<{ root: string; kernel: Kernel }> {
  const root = await prepare(AGENTS)
  return { root, kernel: await house(root, [runs, hook.plugin]) }
}

/**
 * What recording costs, in processor time a cycle: pieces of the same work with and without it, one after the other, many
 * and short ones, so that what else happens on the machine falls on both. What is recorded is packed and written within them,
 * once in about so much work as the program does between two writings.
 */
export async function recording(): Promise<Row[]> {
  const aim = { of: 'ratio', atMost: 1.05 } as const
  return [
    ...(await paired('a cycle of the whole program that is recorded', { open: whole, cycles: 30, aim })),
    ...(await paired('a cycle of a house with nothing in it, recorded', { open: stripped, cycles: 200 })),
  ]
}

interface Paired {
  open(hook: Switch): Promise<{ root: string; kernel: Kernel }>
  /** Of one piece. */
  cycles: number
  aim?: { of: 'ratio'; atMost: number }
}

async function paired(what: string, { open, cycles, aim }: Paired): Promise<Row[]> {
  const hook = new Switch()
  const { root, kernel } = await open(hook)
  try {
    await hook.begin(kernel)
    const piece = async (isRecorded: boolean): Promise<number> => {
      hook.on = isRecorded
      const cost = await costOf(async () => {
        await drive(kernel, cycles)
        if (isRecorded) await hook.live.write()
      })
      return cost / cycles
    }
    // The first ones warm up.
    await inTurn(
      2,
      () => piece(true),
      () => piece(false),
    )
    const { a, b, ratio, ratios } = await inTurn(
      PAIRS,
      () => piece(true),
      () => piece(false),
    )
    await hook.live.end()
    const folder = join(root, '.svc', 'recordings')
    const [run] = (await readdir(folder)).filter(name => name.startsWith('run-'))
    const { size } = await stat(join(folder, run!, 'tape.gz'))
    const [low, high] = [percentile(ratios, 0.25), percentile(ratios, 0.75)]
    return [
      row({
        what: `${what}, processor time, beside the same without`,
        ...{ figure: a, unit: 'ms', baseline: b, ratio, ...(aim ? { aim } : {}) },
        // Of so many pairs the middle one is only as sure as this.
        unclear: high - low > UNSURE ? 'other work on this machine moves it by more than is to be seen' : undefined,
        note: `half of the ${PAIRS} pairs from ${percent(low)} to ${percent(high)}`,
      }),
      row({ what: `${what}, on the disk`, figure: size / cycles / (PAIRS + 2), unit: 'bytes' }),
    ]
  } finally {
    await kernel.close()
    await rm(root, { recursive: true, force: true })
  }
}
